"""The last lines of a run: what came out, or what went wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lovia_cli.errors import Stopped
from lovia_cli.render.terminal import Paint, safe, width
from lovia_cli.render.words import counted

if TYPE_CHECKING:
    from lovia_cli.cli.answers import RunAnswer
    from lovia_cli.engine.options import RunResult
    from stores.errors import LoviaError


def error_lines(answer: RunAnswer, problem: LoviaError, paint: Paint) -> Iterator[str]:
    """One line of what, one of where, one of what to do, unless the command that goes on says that."""
    result = answer.result
    interrupted = isinstance(answer.error, Stopped) or (result is not None and result.status == "interrupted")
    yield from _what(problem, paint.yellow("interrupted:") if interrupted else paint.red("error:"))
    if where := problem.where or _place(answer):
        yield f"  where: {safe(where, lines=False)}"
    if problem.hint and not answer.go_on:
        yield f"  hint: {safe(problem.hint, lines=False)}"


def _what(problem: LoviaError, label: str) -> list[str]:
    """What happened in one line; an agent file with several mistakes has one more line for each."""
    several = getattr(problem, "problems", ())
    if len(several) < 2:
        return [f"{label} {safe(problem.message, lines=False)}"]
    head = problem.message.partition("\n")[0].removesuffix(":")
    return [f"{label} {safe(head, lines=False)}", *(f"  {safe(str(one), lines=False)}" for one in several)]


def _place(answer: RunAnswer) -> str:
    """Which run, and in which store."""
    run_id = answer.result.run_id if answer.result else answer.run_id
    parts = [f"run {run_id}"] if run_id else []
    return " in ".join([*parts, *([answer.store] if answer.store else [])])


def summary(result: RunResult, then: str | None, paint: Paint, columns: int | None) -> str:
    """What came out, in one line: how much work it was, and the command for what comes next."""
    line = ("replayed: " if result.replayed else "completed: ") + ", ".join(_numbers(result))
    if then is None:
        return paint.dim(line)
    fits = columns is None or width(line) + 2 + width(then) <= columns
    return paint.dim(line) + ("  " if fits else "\n") + then


def _numbers(result: RunResult) -> Iterator[str]:
    yield counted(result.steps, "step")
    yield counted(result.tool_calls, "tool call")
    if tokens := result.usage.total_tokens:
        yield f"{'at least ' if result.usage.unknown else ''}{counted(tokens, 'token')}"
    if result.cost_usd:
        yield f"${result.cost_usd:.4f}"
    if result.snapshot and not result.replayed:
        yield duration(result.snapshot.head.active_seconds)


def duration(seconds: float) -> str:
    """``0.4 s``, ``75 s`` as ``1 min 15 s``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
