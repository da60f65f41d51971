"""From an Anthropic message, streamed or whole, to a `ModelResponse`; the way out is ``anthropic_wire``.

Blocks are put together from the raw events. What a block holds beyond what we know, and blocks of a kind that we
do not know, are kept as they came and go back in their place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lovia_cli.models.base import Delta, ModelResponse, ReasoningDelta, TextDelta
from lovia_cli.models.pieces import joined, merge
from lovia_cli.models.wire import BadAnswer, ErrorBody, Halves, Turn, check_answer, count, usage_of
from stores.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from stores.records import Usage

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicReader:
    """Reads one answer. A tool's input is kept as the text it was streamed as."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider, self._model = provider, model
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._stop: str | None = None
        self._refusal = ""
        self._usage: dict[str, Any] = {}
        self._final_usage: dict[str, Any] = {}
        self._about: dict[str, Any] = {}
        self._begun = self._streamed = False
        self._shown, self._thought = Halves(), Halves()

    def feed(self, event: Any) -> Iterator[Delta]:
        """Take an event of a stream, or the whole message."""
        if not isinstance(event, dict):
            raise BadAnswer("an answer came that is no JSON object")
        kind = event.get("type")
        if kind == "error" or event.get("error"):
            raise ErrorBody(event.get("error") or event)
        if kind == "message":
            yield from self._message(event)
        elif kind == "message_start":
            self._begin(event.get("message"))
            self._streamed = True
        elif kind == "content_block_start":
            yield from self._start(event)
        elif kind == "content_block_delta":
            yield from self._delta(event)
        elif kind == "message_delta":
            delta = event.get("delta")
            self._end(delta if isinstance(delta, dict) else {}, event.get("usage"))

    def response(self) -> ModelResponse:
        """The turn. Raises `BadAnswer` when the end of it never came, or came too early."""
        if not self._begun:
            raise BadAnswer("the answer holds no message")
        if self._stop is None:
            raise BadAnswer("the answer broke off before its end: it has no stop reason")
        entries = [self._entry(index, joined(block)) for index, block in sorted(self._blocks.items())]
        entries = [entry for entry in entries if not (isinstance(entry, AssistantTextEntry) and not entry.text)]
        finish = _FINISH.get(self._stop, self._stop)
        # A whole message holds a call's input as an object, however little of it had come.
        check_answer(finish, entries, refusal=self._refusal, last_call_shows=self._streamed)
        usage = {**self._usage, **self._final_usage}
        return ModelResponse(
            entries=entries,
            finish_reason=finish,
            usage=self._used(),
            model=f"{self._provider}:{self._model}",
            extra=self._about | ({"usage": usage} if usage else {}),
        )

    def _message(self, message: dict[str, Any]) -> Iterator[Delta]:
        self._begin(message)
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            yield from self._start({"index": index, "content_block": block})
        self._end(message, message.get("usage"))

    def _begin(self, message: Any) -> None:
        self._begun = True
        if isinstance(message, dict):
            self._about = {name: message[name] for name in ("id", "model") if message.get(name)}
            self._usage = _present(message.get("usage"))

    def _start(self, event: dict[str, Any]) -> Iterator[Delta]:
        block = event.get("content_block")
        block = deepcopy(block) if isinstance(block, dict) else {"type": "text", "text": str(block or "")}
        self._blocks[_index(event)] = block
        if block.get("type") == "text":
            yield from self._show(block.get("text"))
        elif block.get("type") == "thinking":
            yield from self._think(block.get("thinking"))

    def _delta(self, event: dict[str, Any]) -> Iterator[Delta]:
        delta, index = event.get("delta"), _index(event)
        block = self._blocks.get(index)
        if not isinstance(delta, dict) or block is None:
            return
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(str(delta.get("partial_json") or ""))
        elif kind == "citations_delta":
            if not isinstance(block.get("citations"), list):
                block["citations"] = []
            block["citations"].append(delta.get("citation"))
        else:
            merge(block, {name: value for name, value in delta.items() if name != "type"})
        yield from self._show(delta.get("text") if kind == "text_delta" else None)
        yield from self._think(delta.get("thinking") if kind == "thinking_delta" else None)

    def _end(self, delta: dict[str, Any], usage: Any) -> None:
        if delta.get("stop_reason"):
            self._stop = str(delta["stop_reason"])
            details = delta.get("stop_details") if self._stop == "refusal" else None
            self._refusal = str(details.get("explanation") or "") if isinstance(details, dict) else ""
        self._final_usage |= _present(usage)

    def _show(self, text: Any) -> Iterator[Delta]:
        if isinstance(text, str) and (shown := self._shown.feed(text)):
            yield TextDelta(shown)

    def _think(self, text: Any) -> Iterator[Delta]:
        if isinstance(text, str) and (shown := self._thought.feed(text)):
            yield ReasoningDelta(shown)

    def _entry(self, index: int, block: dict[str, Any]) -> Turn:
        kind = block.get("type")
        streamed = "".join(self._inputs.get(index, ()))
        if kind == "tool_use":
            # A stream begins each call with an empty input, which says nothing of what was to come.
            given = (block.get("input") or None) if self._streamed else block.get("input")
            arguments = streamed if streamed.strip() else _input_text(given)
            call_id, name = str(block.get("id") or ""), str(block.get("name") or "")
            return ToolCallEntry(
                id=call_id, name=name, arguments=arguments, provider=self._own(block, "id", "name", "input")
            )
        if kind == "text" and isinstance(block.get("text"), str):
            return AssistantTextEntry(text=block["text"], provider=self._own(block, "text"))
        if kind == "thinking" and isinstance(block.get("thinking"), str):
            signed = {name: value for name, value in block.items() if name != "thinking"}
            return ReasoningEntry(text=block["thinking"], provider={"name": self._provider, "block": signed})
        if streamed:
            block["input"] = _parsed(streamed)
        return ReasoningEntry(text="", provider={"name": self._provider, "block": block})

    def _own(self, block: dict[str, Any], *known: str) -> dict[str, Any] | None:
        """What a block of a known kind holds beyond the ``known`` fields; None when that is nothing."""
        extra = {name: value for name, value in block.items() if name not in {"type", *known} and value is not None}
        return {"name": self._provider, "block": extra} if extra else None

    def _used(self) -> Usage:
        """Anthropic counts cached input apart; our ``input_tokens`` is all of it.

        The output count at the start of a stream is no total, so only the one at its end counts.
        """
        usage = {**self._usage, **self._final_usage}
        fresh = count(usage, "input_tokens")
        read, written = (count(usage, name) for name in _CACHED)
        total = None if fresh is None else fresh + (read or 0) + (written or 0)
        return usage_of(total, count(self._final_usage, "output_tokens"), read, written)


def _present(usage: Any) -> dict[str, Any]:
    return {name: value for name, value in usage.items() if value is not None} if isinstance(usage, dict) else {}


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _input_text(value: Any) -> str:
    """A call's input as the text that is stored; a server that sends text meant the text."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
