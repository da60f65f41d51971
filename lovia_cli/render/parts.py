"""What a run or a session is made of, as pages for people show it: parts, and in them one block an entry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from lovia_cli.render.attached import attached
from lovia_cli.render.terminal import safe
from lovia_cli.render.times import when
from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entry_from_json,
)
from stores.exchange import Exported
from stores.records import RunSnapshot, Segment, Usage

Kind = Literal["system", "user", "assistant", "reasoning", "call", "result", "error"]


@dataclass(slots=True, frozen=True)
class Block:
    """One entry. Both texts are `safe`; ``label`` is one line, ``text`` stands as it is."""

    kind: Kind
    label: str
    text: str


@dataclass(slots=True, frozen=True)
class Part:
    """One run: what is told of it as a whole, its entries, and input that waits for it to go on."""

    title: str
    facts: list[tuple[str, str]]
    entries: list[Entry]
    queued: list[Entry] = field(default_factory=list)

    def sections(self) -> Iterator[tuple[str, list[Block]]]:
        """The input, each step, and what is queued: a heading with its blocks."""
        steps: dict[int, list[Block]] = {}
        for entry in self.entries:
            steps.setdefault(entry.step, []).append(block_of(entry))
        for step, blocks in steps.items():
            yield f"Step {step}" if step else "Input", blocks
        if self.queued:
            yield "Queued: sent when the run goes on", [block_of(entry) for entry in self.queued]


def title_of(record: Exported) -> str:
    """``run ID`` or ``session ID``."""
    if isinstance(record, RunSnapshot):
        return f"run {safe(record.run_id, lines=False)}"
    return f"session {safe(record.session_id, lines=False)}"


def parts_of(record: Exported) -> list[Part]:
    """The run, or the finished runs of the session."""
    if isinstance(record, RunSnapshot):
        queued = [entry_from_json(data) for data in record.head.queued_input]
        return [Part("", list(_run_facts(record)), record.entries, queued)]
    return [_part_of_segment(segment) for segment in record.segments]


def _run_facts(run: RunSnapshot) -> Iterator[tuple[str, str]]:
    head = run.head
    yield "status", head.status
    yield "agent", safe(head.agent or "-", lines=False)
    if head.session_id is not None:
        yield "session", safe(head.session_id, lines=False)
    if head.parent:
        yield "forked from", safe(f"{head.parent.get('run_id')}, save {head.parent.get('save')}", lines=False)
    yield from _numbers(head.steps, head.tool_calls, head.usage)
    for name, at in (("started", head.started_at), ("updated", head.updated_at)):
        if at is not None:
            yield name, when(at)
    if head.error:
        yield "error", safe(str(head.error.get("message")), lines=False)


def _part_of_segment(segment: Segment) -> Part:
    told = segment.told
    facts = list(_numbers(told.get("steps", "-"), told.get("tool_calls", "-"), told.get("usage")))
    if segment.truncated:
        facts.append(("end", "cut off by a rewind"))
    return Part(f"run {safe(segment.run_id, lines=False)}", facts, segment.entries)


def _numbers(steps: Any, tool_calls: Any, usage: Any) -> Iterator[tuple[str, str]]:
    yield "steps", safe(str(steps), lines=False)
    yield "tool calls", safe(str(tool_calls), lines=False)
    if tokens := Usage.from_json(usage).total_tokens:
        yield "tokens", str(tokens)


def block_of(entry: Entry) -> Block:
    """One entry as a block."""
    match entry:
        case InputEntry():
            return Block(entry.role, entry.role, safe(entry.text + attached(entry.parts)))
        case AssistantTextEntry():
            return Block("assistant", "assistant", safe(entry.text))
        case ReasoningEntry():
            return Block("reasoning", "reasoning", safe(entry.text or _provided(entry)))
        case ToolCallEntry():
            return Block("call", f"call {_place(entry)} {safe(entry.name, lines=False)}", safe(entry.arguments))
        case ToolResultEntry():
            kind = "" if entry.kind == "ok" else f" ({entry.kind})"
            return Block("error" if entry.is_error else "result", f"result {_place(entry)}{kind}", safe(entry.output))


def _provided(entry: ReasoningEntry) -> str:
    """A block of a kind that we do not know, as it is."""
    return json.dumps(entry.provider, ensure_ascii=False, indent=2) if entry.provider else ""


def _place(entry: ToolCallEntry | ToolResultEntry) -> str:
    name = entry.id if isinstance(entry, ToolCallEntry) else entry.call_id
    return f"{entry.step}.{entry.position}" if entry.position else safe(name, lines=False)
