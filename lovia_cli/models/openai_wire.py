"""From a `ModelRequest` to the body of an OpenAI chat completion; the way back is ``openai_reader``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from lovia_cli.models.base import ModelRequest, ToolSpec
from lovia_cli.models.openai_reader import OpenAIReader
from lovia_cli.models.parts import attachment
from lovia_cli.models.wire import EMPTY_INPUT, NO_OUTPUT, checked_settings, own_part, schema_request, system_text
from stores.entries import (
    JSON,
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
)

Message = dict[str, Any]

_RESERVED = frozenset({"model", "messages", "tools", "stream", "stream_options", "n"})


@dataclass(slots=True, frozen=True, kw_only=True)
class OpenAIWire:
    """Chat completions as OpenAI speaks them, and the ways in which others differ.

    ``provider`` marks what is this provider's own in an entry. ``finish_optional``: the server sends no finish
    reason. ``max_tokens_field``: the name it has for that setting. ``native_schema``: an output schema goes into
    ``response_format``, else into the system prompt. ``stream_usage``: ask for usage in a stream. ``replay_extra``:
    send back the fields of an answer that we do not know, reasoning among them.
    """

    model: str
    provider: str = "openai"
    settings: dict[str, JSON] = field(default_factory=dict)
    finish_optional: bool = False
    max_tokens_field: str = "max_tokens"
    native_schema: bool = True
    stream_usage: bool = True
    replay_extra: bool = True
    path: str = "/chat/completions"

    def reader(self) -> OpenAIReader:
        return OpenAIReader(self.provider, self.model, finish_optional=self.finish_optional)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, JSON]:
        body: dict[str, JSON] = {"model": self.model, "messages": list(self._messages(request))}
        if request.tools:
            body["tools"] = [_tool(spec) for spec in request.tools]
        if request.output_schema is not None and self.native_schema:
            schema = {"name": "output", "schema": request.output_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if stream:
            body["stream"] = True
            if self.stream_usage:
                body["stream_options"] = {"include_usage": True}
        for name, value in checked_settings(self.settings | request.settings, _RESERVED).items():
            body[self.max_tokens_field if name == "max_tokens" else name] = value
        return body

    def _messages(self, request: ModelRequest) -> Iterator[Message]:
        system = system_text(request)
        if request.output_schema is not None and not self.native_schema:
            system = f"{system}\n\n{schema_request(request.output_schema)}".strip()
        if system:
            yield {"role": "system", "content": system}
        for (kind, _), group in groupby(request.entries, key=_speaker):
            if kind == "assistant":
                if message := self._assistant(list(group)):
                    yield message
                continue
            for entry in group:
                if isinstance(entry, ToolResultEntry):
                    output = entry.output if entry.output.strip() else NO_OUTPUT
                    yield {"role": "tool", "tool_call_id": entry.call_id, "content": output}
                elif isinstance(entry, InputEntry) and entry.role == "user":
                    yield {"role": "user", "content": _user_content(entry)}

    def _assistant(self, turn: Sequence[Entry]) -> Message | None:
        """One turn as one message, or None when nothing of it can be sent."""
        content = self._content(turn)
        calls = [self._call(entry) for entry in turn if isinstance(entry, ToolCallEntry)]
        if not content and not calls:
            return None
        message: Message = {"role": "assistant", "content": content or None}
        if calls:
            message["tool_calls"] = calls
        for entry in turn:
            if isinstance(entry, ReasoningEntry):
                message |= self._fields(entry)
        return message

    def _fields(self, entry: ReasoningEntry) -> Message:
        """The fields of an earlier answer that only this provider understands, as they came."""
        own = own_part(entry, self.provider) if self.replay_extra else {}
        text = {own["text_field"]: entry.text} if own.get("text_field") else {}
        return text | (own.get("fields") or {})

    def _content(self, turn: Sequence[Entry]) -> str | list[Message]:
        """Text, or a list of parts where the provider's answer was one."""
        texts: list[str] = []
        parts: list[Message] = []
        listed = False
        for entry in turn:
            part = own_part(entry, self.provider).get("part") if self.replay_extra else None
            listed = listed or part is not None
            if isinstance(entry, AssistantTextEntry) and entry.text.strip():
                texts.append(entry.text)
                parts.append({"type": "text", "text": entry.text} | (part or {}))
            elif isinstance(entry, ReasoningEntry) and part is not None:
                parts.append(part)
        return parts if listed else "\n\n".join(texts)

    def _call(self, entry: ToolCallEntry) -> Message:
        own = own_part(entry, self.provider) if self.replay_extra else {}
        function = {"name": entry.name, "arguments": entry.arguments} | (own.get("function") or {})
        return {"id": entry.id, "type": "function", "function": function} | (own.get("call") or {})


def _speaker(entry: Entry) -> tuple[str, int]:
    """Neighbours with the same answer stand in one message: the entries of one response."""
    if isinstance(entry, AssistantTextEntry | ReasoningEntry | ToolCallEntry):
        return "assistant", entry.step
    return "other", 0


def _user_content(entry: InputEntry) -> str | list[Message]:
    text = entry.text if entry.text.strip() else ""
    if not entry.parts:
        return text or EMPTY_INPUT
    parts = [_part(part) for part in entry.parts]
    return [{"type": "text", "text": text}, *parts] if text else parts


def _part(part: dict[str, JSON]) -> Message:
    file = attachment(part)
    if file.kind == "image":
        return {"type": "image_url", "image_url": {"url": file.data_url}}
    if file.kind == "pdf":
        return {"type": "file", "file": {"filename": file.name, "file_data": file.data_url}}
    return {"type": "text", "text": file.labelled_text}


def _tool(spec: ToolSpec) -> Message:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}
