"""What there is to say of two runs and their steps in plain words, for a terminal as for a page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lovia_cli.comparing.comparison import RowKind
from lovia_cli.comparing.marks import Difference
from lovia_cli.comparing.values import written
from lovia_cli.render.marked import Side
from lovia_cli.render.words import counted

if TYPE_CHECKING:
    from lovia_cli.comparing import Comparison, Drift, Row, Step, Trajectory
    from lovia_cli.comparing.drift import ArgumentDrift
    from lovia_cli.comparing.parts import Part

_HOW: tuple[tuple[RowKind, str], ...] = (("changed", "changed"), ("removed", "only in A"), ("added", "only in B"))


def verdict(found: Comparison) -> str:
    """What came out, in a sentence."""
    if found.same:
        return f"the same: {counted(len(found.b), 'step')}"
    if found.diverged_at is None:
        return f"the same {counted(len(found.b), 'step')}, but they drift"
    counts = [(found.count(kind), what) for kind, what in _HOW]
    told = ", ".join(f"{counted(number, 'step')} {what}" for number, what in counts if number)
    where = f"step {found.diverged_at}" if found.diverged_at else "the input"
    return f"they differ from {where} on" + (f": {told}" if told else "")


def facts(side: Trajectory) -> Iterator[str]:
    """How much work the steps were, and how they ended."""
    yield counted(len(side.steps), "step")
    yield counted(sum(1 for _ in side.acts()), "tool call")
    if side.usage and side.usage.total_tokens:
        yield f"{'at least ' if side.usage.unknown else ''}{counted(side.usage.total_tokens, 'token')}"
    if side.cost_usd is not None:
        yield f"${side.cost_usd:.4f}"
    if side.upto is None and side.status:
        yield side.status + (f" ({side.finish_reason})" if side.finish_reason else "")


def patch_facts(side: Trajectory) -> Iterator[str]:
    """Where a fork comes from, and a line for each change that was made to it."""
    fork = side.fork
    if fork is None:
        return
    yield f"forked from {fork.source}" + (f" at step {fork.step}" if fork.step is not None else "")
    if fork.patch is None:
        yield "what was changed in it is not kept any more"
    for one in fork.patch or ():
        yield _patch_fact(one)


def _patch_fact(one: dict[str, Any]) -> str:
    if one["kind"] == "tool_result":
        was = "nothing" if one["was"] is None else written(one["was"])
        return f"patched: result of {one['call']} {one['tool']}: {was} -> {written(one['now'])}"
    if one["kind"] == "input":
        return f"patched: input added: {written(one['now'])}"
    if one["kind"] == "state":
        return f"patched: state: {written(one['was'])} -> {written(one['now'])}"
    return f"patched: transcript rewritten: {counted(one['was'], 'entry', 'entries')} -> {one['now']}"


def row_title(row: Row) -> str:
    """``step 2``, or ``step 2, only in A``; where the two have other numbers, both."""
    return step_title(row) if row.a and row.b else f"{step_title(row)}, {how(row)}"


def step_title(row: Row) -> str:
    """The same without what became of the step."""
    if row.a and row.b and row.a.number != row.b.number:
        return f"{_step(row.a)} of A, {_step(row.b)} of B"
    step = row.a or row.b
    return _step(step) if step else ""


def how(row: Row) -> str:
    """``same``, ``changed``, ``only in A`` or ``only in B``."""
    return dict(_HOW).get(row.kind, row.kind)


def _step(step: Step) -> str:
    return f"step {step.number}" if step.number else "input"


def brief(step: Step) -> str:
    """A step in a few words: what was said, and which tools were called."""
    said = [step.text or "", _times(act.call.name for act in step.acts), *(entry.text for entry in step.inputs)]
    return "  ".join(one for one in said if one)


def _times(names: Iterator[str]) -> str:
    """Names in a row; one that is there several times running has how often."""
    runs = [(name, sum(1 for _ in group)) for name, group in groupby(names)]
    return ", ".join(name if number == 1 else f"{name} x{number}" for name, number in runs)


def label(part: Part, side: Side) -> str:
    """What stands before a part."""
    told = part.a_label if side == "a" else part.b_label
    if part.kind == "input":
        return f"{told}: "
    if part.kind in ("text", "reasoning"):
        return "assistant: " if part.kind == "text" else "reasoning: "
    return f"{part.kind} {told} "


def drift_facts(drift: Drift) -> Iterator[tuple[str, list[str]]]:
    """Each kind of drift that there is, with what drifted."""
    if drift.tool_order:
        a, b = (_times(iter(names)) or "no tools" for names in drift.tool_order)
        yield "tool order", [f"{a} -> {b}"]
    if drift.arguments:
        yield "arguments", [line for one in drift.arguments for line in _argument_lines(one)]
    if drift.step_count:
        yield "step count", [f"{drift.step_count[0]:,} -> {drift.step_count[1]:,}"]
    if drift.finish_reason:
        a, b = (reason or "none yet" for reason in drift.finish_reason)
        yield "finish reason", [f"{a} -> {b}"]


def _argument_lines(one: ArgumentDrift) -> Iterator[str]:
    place = one.a.place if one.a.place == one.b.place else f"{one.a.place} / {one.b.place}"
    told = [_told(difference) for difference in one.differences]
    for line in told or [f"{one.a.call.arguments} -> {one.b.call.arguments}"]:
        yield f"{place} {one.tool} {line}"


def _told(one: Difference) -> str:
    a = "nothing" if one.kind == "added" else written(one.a)
    b = "nothing" if one.kind == "removed" else written(one.b)
    return f"{one.path}: {a} -> {b}"
