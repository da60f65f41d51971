"""What a turn of a script says: its entries, the pieces that they are streamed in, its usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from lovia_cli.models.base import Delta, ModelResponse, ReasoningDelta, TextDelta
from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entries_from_json,
)
from stores.records import Usage

if TYPE_CHECKING:
    from lovia_cli.models.script import TokenCounts, Turn


def response_of(turn: Turn, number: int, model: str) -> ModelResponse:
    """The whole of response ``number``, as ``model`` gives it."""
    entries = said_by(turn, number)
    finish_reason = turn.finish_reason or usual_finish(entries)
    return ModelResponse(entries=entries, finish_reason=finish_reason, usage=_usage(turn.usage), model=model)


def said_by(turn: Turn, number: int) -> list[AssistantTextEntry | ReasoningEntry | ToolCallEntry]:
    """The entries of a turn that answers response ``number``."""
    if turn.entries:
        return cast("list[Any]", entries_from_json(deepcopy(turn.entries)))
    entries: list[AssistantTextEntry | ReasoningEntry | ToolCallEntry] = []
    if isinstance(turn.reasoning, dict):
        provider = {"name": "scripted", "block": turn.reasoning}
        entries.append(ReasoningEntry(text=turn.reasoning.get("text", ""), provider=provider))
    elif turn.reasoning is not None:
        entries.append(ReasoningEntry(text=turn.reasoning, provider={"name": "scripted"}))
    if turn.text is not None:
        entries.append(AssistantTextEntry(text=turn.text))
    for position, call in enumerate(turn.tool_calls, 1):
        call_id = f"call_{number}_{position}" if call.id is None else call.id
        entries.append(ToolCallEntry(id=call_id, name=call.name, arguments=call.arguments))
    return entries


def usual_finish(entries: Sequence[Entry]) -> str:
    """The finish reason of a turn that states none."""
    return "tool_calls" if any(isinstance(entry, ToolCallEntry) for entry in entries) else "stop"


def pieces_of(turn: Turn) -> list[list[Delta]]:
    """Reasoning and text cut into ``chunks`` pieces of nearly the same size; a short text leaves some empty."""
    entries = said_by(turn, 1)
    reasoning = "".join(entry.text for entry in entries if isinstance(entry, ReasoningEntry))
    whole = reasoning + "".join(entry.text for entry in entries if isinstance(entry, AssistantTextEntry))
    edges = [len(whole) * number // turn.chunks for number in range(turn.chunks + 1)]
    return [list(_deltas(whole, len(reasoning), start, end)) for start, end in pairwise(edges)]


def _deltas(whole: str, border: int, start: int, end: int) -> Iterator[Delta]:
    """The piece from ``start`` to ``end``; what stands before ``border`` is reasoning."""
    if thought := whole[start : min(end, border)]:
        yield ReasoningDelta(thought)
    if said := whole[max(start, border) : end]:
        yield TextDelta(said)


def _usage(counts: TokenCounts | None) -> Usage:
    """One request; unknown unless both directions were counted, so that no sum looks more exact than it is."""
    if counts is None:
        return Usage(requests=1, unknown=1)
    known = counts.input_tokens is not None and counts.output_tokens is not None
    return Usage(**dict(counts), requests=1, unknown=0 if known else 1)


def unanswered(entries: Sequence[Entry]) -> str:
    """Inputs and results that the model has not answered yet, a line break between them."""
    texts: list[str] = []
    for entry in reversed(entries):
        if isinstance(entry, InputEntry):
            texts.append(entry.text)
        elif isinstance(entry, ToolResultEntry):
            texts.append(entry.output)
        else:
            break
    return "\n".join(reversed(texts))
