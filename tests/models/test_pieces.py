"""What comes in pieces is put together once: no text is copied at each of its pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lovia_cli.models.anthropic_reader import AnthropicReader
from lovia_cli.models.openai_reader import OpenAIReader
from lovia_cli.models.wire import Reader
from stores.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from tests.models.test_anthropic_reader import block, own, start, stop
from tests.models.test_openai_reader import chunk, piece


class Piece(str):
    """A piece of text that notes what was copied to put it behind another one."""

    copied: int = 0

    def __radd__(self, before: str) -> str:
        Piece.copied = max(Piece.copied, len(before))
        return str.__add__(before, self)

    def __str__(self) -> str:
        return self


PIECES = [Piece("abcd") for _ in range(50)]
WHOLE = "abcd" * 50
KNOWN = {"type": "tool_use", "id": "t", "name": "sh", "input": {}}


def openai(event: Callable[[Piece], dict[str, Any]], finish: str = "stop") -> tuple[Reader, list[Any]]:
    return OpenAIReader("openai", "m"), [*(chunk(**event(one)) for one in PIECES), chunk(finish)]


def anthropic(content: dict[str, Any], kind: str, field: str, finish: str = "end_turn") -> tuple[Reader, list[Any]]:
    deltas = [{"type": kind, field: one} for one in PIECES]
    return AnthropicReader("anthropic", "m"), [start(), *block(0, content, *deltas), stop(finish)]


@pytest.mark.parametrize(
    ("streamed", "entry"),
    [
        (openai(lambda one: {"content": one}), AssistantTextEntry(text=WHOLE)),
        (openai(lambda one: {"reasoning_content": one}),
         ReasoningEntry(text=WHOLE, provider={"name": "openai", "text_field": "reasoning_content"})),
        (openai(lambda one: {"details": [{"index": 0, "text": one}]}),
         ReasoningEntry(text="", provider={"name": "openai", "fields": {"details": [{"index": 0, "text": WHOLE}]}})),
        (openai(lambda one: {"tool_calls": [piece(0, "t", "sh", one)]}, "tool_calls"),
         ToolCallEntry(id="t", name="sh", arguments=WHOLE)),
        (anthropic({"type": "text", "text": ""}, "text_delta", "text"), AssistantTextEntry(text=WHOLE)),
        (anthropic({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking"),
         ReasoningEntry(text=WHOLE, provider=own(type="thinking"))),
        (anthropic(KNOWN, "input_json_delta", "partial_json", "tool_use"),
         ToolCallEntry(id="t", name="sh", arguments=WHOLE)),
        (anthropic({"type": "zap", "data": ""}, "zap_delta", "data"),
         ReasoningEntry(text="", provider=own(type="zap", data=WHOLE))),
    ],
)  # fmt: skip
def test_a_text_is_joined_once_however_many_pieces_it_has(streamed: tuple[Reader, list[Any]], entry: Any) -> None:
    (reader, events), Piece.copied = streamed, 0
    for event in events:
        list(reader.feed(event))
    assert reader.response().entries == [entry]
    assert Piece.copied == 0
