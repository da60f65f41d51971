"""From an OpenAI chat completion, streamed or whole, to a `ModelResponse`; the way out is ``openai_wire``.

A message and the pieces of a streamed one have the same fields, so both are read by the same code. Fields that
we do not know are kept as they came and go back with the next request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lovia_cli.models.base import Delta, ModelResponse, ReasoningDelta, TextDelta
from lovia_cli.models.pieces import joined, merge
from lovia_cli.models.wire import (
    BadAnswer,
    ErrorBody,
    Halves,
    Turn,
    check_answer,
    count,
    usage_of,
    whole_arguments,
)
from stores.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from stores.records import Usage

_REASONING_FIELDS = ("reasoning_content", "reasoning")
_OFTEN_EMPTY = frozenset({*_REASONING_FIELDS, "reasoning_details", "annotations"})
_CALL_FIELDS = frozenset({"id", "type", "index", "function"})


class OpenAIReader:
    """Reads one answer. ``finish_optional`` accepts one without a finish reason, which some servers never send."""

    def __init__(self, provider: str, model: str, *, finish_optional: bool = False) -> None:
        self._provider, self._model, self._finish_optional = provider, model, finish_optional
        self._text: list[str] = []
        self._parts: list[dict[str, Any]] = []
        self._fields: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._finish: str | None = None
        self._usage: Any = None
        self._about: dict[str, Any] = {}
        self._begun = False
        self._shown, self._thought = Halves(), Halves()

    def feed(self, event: Any) -> Iterator[Delta]:
        """Take a chunk of a stream, or the whole completion."""
        if not isinstance(event, dict):
            raise BadAnswer("an answer came that is no JSON object")
        if event.get("error"):
            raise ErrorBody(event["error"])
        for name in ("id", "model"):
            if event.get(name):
                self._about.setdefault(name, event[name])
        self._usage = event.get("usage") or self._usage
        for choice in event.get("choices") or []:
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)

    def response(self) -> ModelResponse:
        """The turn. Raises `BadAnswer` when the end of it never came, or came too early."""
        if not self._begun:
            raise BadAnswer("the answer holds no choice")
        finish = self._finish
        if finish is None and not self._finish_optional:
            raise BadAnswer("the answer broke off before its end: it has no finish reason")
        calls = [self._call(item) for item in self._calls]
        entries: list[Turn] = [*self._reasoning(), *self._said(), *calls]
        check_answer(finish, entries, refusal=self._refusal)
        return ModelResponse(
            entries=entries,
            finish_reason="tool_calls" if calls and finish in {None, "stop", "function_call"} else finish or "stop",
            usage=self._used(),
            model=self._model_id,
            extra=self._about | ({"usage": self._usage} if self._usage else {}),
        )

    @property
    def _model_id(self) -> str:
        return f"{self._provider}:{self._model}"

    @property
    def _refusal(self) -> str:
        """What the model says in place of an answer."""
        refusal = joined(self._fields).get("refusal")
        return refusal.strip() if isinstance(refusal, str) else ""

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        self._begun = True
        if finish := choice.get("finish_reason"):
            self._finish = str(finish)
        message = choice.get("delta") or choice.get("message")
        if not isinstance(message, dict):
            return
        for name, value in message.items():
            if value is None or name == "role":
                continue
            if name == "content":
                yield from self._content(value)
            elif name == "tool_calls":
                self._take_calls(value)
            else:
                merge(self._fields, {name: value})
        reasoning = next((message[name] for name in _REASONING_FIELDS if message.get(name)), None)
        if isinstance(reasoning, str) and (shown := self._thought.feed(reasoning)):
            yield ReasoningDelta(shown)

    def _content(self, content: Any) -> Iterator[Delta]:
        if isinstance(content, str):
            self._text.append(content)
            if shown := self._shown.feed(content):
                yield TextDelta(shown)
            return
        for part in content if isinstance(content, list) else [content]:
            part = part if isinstance(part, dict) else {"type": "text", "text": str(part)}
            last = self._parts[-1] if self._parts else None
            if last is not None and last.get("type") == part.get("type"):
                merge(last, part)
            else:
                self._parts.append(dict(part))
            if part.get("type") == "text" and (shown := self._shown.feed(str(part.get("text") or ""))):
                yield TextDelta(shown)

    def _take_calls(self, items: Any) -> None:
        for item in items if isinstance(items, list) else []:
            if not isinstance(item, dict):
                continue
            call = self._call_of(item)
            function = _object(item.get("function"))
            call["id"] = call["id"] or str(item.get("id") or "")
            if (name := str(function.get("name") or "")) != call["name"]:
                call["name"] += name
            if text := _argument_text(function.get("arguments")):
                call["arguments"].append(text)
            merge(call["call"], {key: value for key, value in item.items() if key not in _CALL_FIELDS})
            extra = {key: value for key, value in function.items() if key not in {"name", "arguments"}}
            merge(call["function"], extra)

    def _call_of(self, item: dict[str, Any]) -> dict[str, Any]:
        """The call that a piece belongs to.

        Pieces of one call share its number. Some servers give every call the number 0, and some give none:
        there a new id, or a name, begins a new call.
        """
        index, call_id = item.get("index"), item.get("id")
        named = bool(_object(item.get("function")).get("name"))
        if index is None:
            same = self._calls[-1:] if not named else []
        else:
            same = [call for call in self._calls if call["index"] == index][-1:]
            if same and named and (call_id != same[0]["id"] or _is_another(item, same[0])):
                same = []
        if same:
            return same[0]
        self._calls.append({"index": index, "id": "", "name": "", "arguments": [], "call": {}, "function": {}})
        return self._calls[-1]

    def _reasoning(self) -> Iterator[ReasoningEntry]:
        """The reasoning and all other fields we do not know, as one entry."""
        fields = {name: value for name, value in joined(self._fields).items() if value or name not in _OFTEN_EMPTY}
        fields.pop("refusal", None)
        if not fields:
            return
        own: dict[str, Any] = {"name": self._provider}
        text = ""
        for name in _REASONING_FIELDS:
            if isinstance(fields.get(name), str):
                text = fields.pop(name)
                own["text_field"] = name
                break
        if fields:
            own["fields"] = fields
        yield ReasoningEntry(text=text, provider=own)

    def _said(self) -> Iterator[Turn]:
        """The content: one text, or parts of which some may be of a kind that we do not know."""
        if text := "".join(self._text):
            yield AssistantTextEntry(text=text)
        for part in map(joined, self._parts):
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                extra = {name: value for name, value in part.items() if name not in {"type", "text"}}
                own = {"name": self._provider, "part": extra} if extra else None
                yield AssistantTextEntry(text=part["text"], provider=own)
            else:
                yield ReasoningEntry(text="", provider={"name": self._provider, "part": part})

    def _call(self, call: dict[str, Any]) -> ToolCallEntry:
        extra = {name: joined(call[name]) for name in ("call", "function") if call[name]}
        own = {"name": self._provider, **extra} if extra else None
        return ToolCallEntry(id=call["id"], name=call["name"], arguments="".join(call["arguments"]), provider=own)

    def _used(self) -> Usage:
        usage = self._usage
        return usage_of(
            count(usage, "prompt_tokens"),
            count(usage, "completion_tokens"),
            count(usage, "prompt_tokens_details", "cached_tokens"),
            count(usage, "prompt_tokens_details", "cache_write_tokens"),
        )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_another(item: dict[str, Any], call: dict[str, Any]) -> bool:
    """True when the piece cannot be of the call, whose arguments are whole.

    Some servers repeat id and name with each piece. They are taken for whole, and read for it, only where one object
    can end and the next begin.
    """
    begun = _argument_text(_object(item.get("function")).get("arguments")).lstrip()
    last = next((piece for piece in reversed(call["arguments"]) if piece.strip()), "")
    if begun[:1] not in {"", "{"} or not last.rstrip().endswith("}"):
        return False
    return whole_arguments("".join(call["arguments"]))


def _argument_text(value: Any) -> str:
    """Arguments as text; some servers send the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
