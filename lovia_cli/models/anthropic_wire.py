"""From a `ModelRequest` to the body of an Anthropic message; the way back is ``anthropic_reader``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lovia_cli.errors import ProviderError
from lovia_cli.models.anthropic_reader import AnthropicReader
from lovia_cli.models.base import ModelRequest, ToolSpec
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

Block = dict[str, Any]

DEFAULT_MAX_TOKENS = 32_000
"""Anthropic wants a number, and reasoning counts towards it; this is one that all current models take."""

_RESERVED = frozenset({"model", "messages", "system", "tools", "stream"})
_CACHE = {"cache_control": {"type": "ephemeral"}}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_OUT_OF_PLACE = ("bound to a different conversation", "invalid `signature` in `thinking` block")


@dataclass(slots=True, frozen=True, kw_only=True)
class AnthropicWire:
    """Messages as Anthropic speaks them.

    ``provider`` marks what is this provider's own in an entry. ``prompt_cache`` marks the end of the system
    prompt and of the last two inputs, so that each request reads what the one before it wrote. ``native_schema``:
    an output schema goes into ``output_config``, which not every model has, else into the system prompt.
    """

    model: str
    provider: str = "anthropic"
    settings: dict[str, JSON] = field(default_factory=dict)
    prompt_cache: bool = True
    native_schema: bool = False
    path: str = "/v1/messages"
    refused: set[str] = field(default_factory=set, repr=False)
    """The reasoning that the provider would not have back, by its signature; it is left out from then on."""

    def reader(self) -> AnthropicReader:
        return AnthropicReader(self.provider, self.model)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, JSON]:
        body: dict[str, JSON] = {"model": self.model, "max_tokens": DEFAULT_MAX_TOKENS}
        if system := self._system(request):
            body["system"] = system
        if request.tools:
            body["tools"] = [_tool(spec) for spec in request.tools]
        body["messages"] = self._messages(request.entries)
        if self.prompt_cache:
            _mark_for_cache(body)
        if stream:
            body["stream"] = True
        if request.output_schema is not None and self.native_schema:
            body["output_config"] = {"format": {"type": "json_schema", "schema": request.output_schema}}
        return body | checked_settings(self.settings | request.settings, _RESERVED)

    def give_way(self, error: ProviderError, body: dict[str, JSON]) -> bool:
        """Leave out all reasoning that ``body`` holds, when the provider refused it as out of its place.

        Newer models take reasoning back only behind the very text it was made for. Instructions that were
        rendered again, a trimmed session or a changed tool make it useless, all of it and for good.
        """
        if error.status != 400 or not any(words in error.message.lower() for words in _OUT_OF_PLACE):
            return False
        blocks = [block for message in body["messages"] for block in message["content"]]
        new = {_mark(block) for block in blocks if block.get("type") in _THINKING} - self.refused
        self.refused.update(new)
        return bool(new)

    def _system(self, request: ModelRequest) -> list[Block]:
        texts = [system_text(request)]
        if request.output_schema is not None and not self.native_schema:
            texts.append(schema_request(request.output_schema))
        return [{"type": "text", "text": text} for text in texts if text]

    def _messages(self, entries: Sequence[Entry]) -> list[Block]:
        """Messages whose roles alternate: what one side says in a row is one message."""
        messages: list[Block] = []
        for entry in entries:
            role, blocks = self._said(entry)
            if not blocks:
                continue
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"].extend(blocks)
            else:
                messages.append({"role": role, "content": blocks})
        for message in messages:
            # Reasoning that leads to nothing cannot end a message; it can stand where no answer came of it.
            while (
                message["role"] == "assistant"
                and message["content"]
                and message["content"][-1].get("type") in _THINKING
            ):
                message["content"].pop()
        return _joined([message for message in messages if message["content"]])

    def _said(self, entry: Entry) -> tuple[str, list[Block]]:
        if isinstance(entry, InputEntry):
            return "user", _input(entry) if entry.role == "user" else []
        if isinstance(entry, ToolResultEntry):
            output = entry.output if entry.output.strip() else NO_OUTPUT
            block: Block = {"type": "tool_result", "tool_use_id": entry.call_id, "content": output}
            return "user", [block | ({"is_error": True} if entry.is_error else {})]
        block = self._answer(entry)
        return "assistant", [block] if block else []

    def _answer(self, entry: AssistantTextEntry | ReasoningEntry | ToolCallEntry) -> Block:
        """One block of an earlier answer as it came; empty when this provider could not read it."""
        own: Block = own_part(entry, self.provider).get("block") or {}
        if own.get("type") in _THINKING and _mark(own) in self.refused:
            return {}
        if isinstance(entry, AssistantTextEntry):
            return {"type": "text", "text": entry.text} | own if entry.text.strip() else {}
        if isinstance(entry, ToolCallEntry):
            arguments = json.loads(entry.arguments)
            return {"type": "tool_use", "id": entry.id, "name": entry.name, "input": arguments} | own
        if own.get("type") == "thinking":
            return {"type": "thinking", "thinking": entry.text} | own
        return own


def _mark(block: Block) -> str:
    """What tells one piece of reasoning from another."""
    return str(block.get("signature") or block.get("data") or "")


def _joined(messages: list[Block]) -> list[Block]:
    """Messages of one role that have become neighbours as one."""
    out: list[Block] = []
    for message in messages:
        if out and out[-1]["role"] == message["role"]:
            out[-1]["content"].extend(message["content"])
        else:
            out.append(message)
    return out


def _mark_for_cache(body: dict[str, Any]) -> None:
    """Mark the ends of what the next request will begin with; four marks are allowed, three are made."""
    fixed = body.get("system") or body.get("tools")
    if fixed:
        fixed[-1] = fixed[-1] | _CACHE
    inputs = [message["content"] for message in body["messages"] if message["role"] == "user"]
    for content in inputs[-2:]:
        content[-1] = content[-1] | _CACHE


def _input(entry: InputEntry) -> list[Block]:
    files = [_file(part) for part in entry.parts]
    if entry.text.strip():
        return [*files, {"type": "text", "text": entry.text}]
    return files or [{"type": "text", "text": EMPTY_INPUT}]


def _file(part: dict[str, JSON]) -> Block:
    file = attachment(part)
    if file.kind == "text":
        source = {"type": "text", "media_type": "text/plain", "data": file.text or NO_OUTPUT}
        return {"type": "document", "source": source, "title": file.name}
    source = {"type": "base64", "media_type": file.media_type, "data": file.data}
    if file.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": file.name}


def _tool(spec: ToolSpec) -> Block:
    return {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
