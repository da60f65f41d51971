"""Runs in a few characters: a step is its text, and its calls with what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from lovia_cli import Comparison
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry


class Call(NamedTuple):
    """A call with its result; without ``result`` it is pending."""

    name: str
    arguments: Any = None
    result: str | None = "ok"


class Step(NamedTuple):
    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    then: str = ""
    """What was said to the run after the step."""


def run(*steps: Step, asked: str = "go", ids: str = "c") -> list[Entry]:
    """The entries of a run."""
    entries: list[Entry] = [InputEntry(text=asked)]
    for number, step in enumerate(steps, 1):
        if step.reasoning:
            entries.append(ReasoningEntry(text=step.reasoning, step=number))
        if step.text or not step.calls:
            entries.append(AssistantTextEntry(text=step.text, step=number))
        entries += [_call(number, position, call, ids) for position, call in enumerate(step.calls, 1)]
        for position, call in enumerate(step.calls, 1):
            if call.result is not None:
                id = f"{ids}{number}.{position}"
                entries.append(ToolResultEntry(call_id=id, output=call.result, step=number, position=position))
        if step.then:
            entries.append(InputEntry(text=step.then, step=number))
    return entries


def _call(number: int, position: int, call: Call, ids: str) -> ToolCallEntry:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments or {})
    id = f"{ids}{number}.{position}"
    return ToolCallEntry(id=id, name=call.name, arguments=arguments, step=number, position=position)


def rows(found: Comparison) -> list[str]:
    """The rows but for the input: ``= 1 1``, ``~ 2 2``, ``+ . 3``, ``- 4 .``."""
    signs = {"same": "=", "changed": "~", "removed": "-", "added": "+"}
    return [
        f"{signs[row.kind]} {row.a.number if row.a else '.'} {row.b.number if row.b else '.'}" for row in found.rows[1:]
    ]
