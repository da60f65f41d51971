"""Listings for people: of runs and sessions, of the saves of a run, of the runs of a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lovia_cli.cli.listed import Overview, RunHistory, SessionHistory, run_row
from lovia_cli.cli.trees import RunTrees
from lovia_cli.render.table import Column, table
from lovia_cli.render.terminal import Paint, safe, width
from lovia_cli.render.times import clock, when
from lovia_cli.render.words import counted
from stores.records import Usage

Listing = Overview | RunTrees | RunHistory | SessionHistory


def listing(answer: Listing, paint: Paint, columns: int | None) -> Iterator[str]:
    """The lines of a listing."""
    if isinstance(answer, Overview):
        return _overview(answer, paint, columns)
    if isinstance(answer, RunTrees):
        return _run_trees(answer, paint, columns)
    if isinstance(answer, RunHistory):
        return _run_history(answer, paint, columns)
    return _session_history(answer, paint, columns)


_OVERVIEW = (
    Column("", 3, 7),
    Column("ID", 0, 36, is_id=True),
    Column("STATUS", 0, 11),
    Column("STEPS", 4, 5),
    Column("UPDATED", 2, 10),
    Column("SESSION", 5, 12, is_id=True),
    Column("AGENT", 6, 8),
)
_TREES = (
    Column("RUN", 0, 36),
    Column("STATUS", 0, 11),
    Column("FROM", 3, 8),
    Column("STEPS", 4, 5),
    Column("UPDATED", 2, 10),
    Column("AGENT", 6, 8),
)
_SAVES = (
    Column("SAVE"),
    Column("STEP", 4),
    Column("TIME", 3, 8),
    Column("STATUS", 2, 11),
    Column("WHAT"),
    Column("ENTRIES", 6, 7),
    Column("TOKENS", 5, 6),
)
_SEGMENTS = (
    Column("N"),
    Column("RUN", 0, 36, is_id=True),
    Column("FINISHED", 1, 10),
    Column("STEPS", 3, 5),
    Column("ENTRIES", 6, 7),
    Column("TOKENS", 5, 6),
    Column("HOW", 4, 8),
)


def _overview(answer: Overview, paint: Paint, columns: int | None) -> Iterator[str]:
    if not answer.runs and not answer.sessions:
        none = "nothing of that kind" if answer.filtered else "no runs or sessions"
        yield f"{none} in {safe(answer.store, lines=False)}"
        return
    rows, damage = [], []
    for row in answer.rows():
        if row["damage"]:
            damage.append(f"{row['kind']} {_id(row)} is damaged: {row['damage']}")
        rows.append(_overview_row(row, columns))
    yield from table(_OVERVIEW, rows, paint, columns)
    for note in damage:
        yield f"{paint.red('damaged:')} {safe(note, lines=False)}"
    if damage:
        yield "look closer with: lovia doctor"


def _overview_row(row: dict[str, Any], columns: int | None) -> list[str]:
    updated = when(row["updated_at"], short=columns is not None)
    if row["kind"] == "session":
        status = "damaged" if row["damage"] else counted(row["segments"], "run")
        return ["session", _id(row), status, "", updated, "", ""]
    session = row["session_id"]
    return ["run", _id(row), _status(row), _steps(row), updated, _or_dash(session), row["agent"] or "-"]


def _run_trees(answer: RunTrees, paint: Paint, columns: int | None) -> Iterator[str]:
    if not answer.runs:
        yield f"{'no run of that kind' if answer.filtered else 'no runs'} in {safe(answer.store, lines=False)}"
        return
    rows = []
    for row in answer.rows():
        indent = "  " * (row["depth"] - 1) + "└ " if row["depth"] else ""
        origin = row["forked_from"] or {}
        place = f"step {origin['step']}" if "step" in origin else "-"
        if origin and not row["depth"]:
            place += f" of {origin.get('run_id')}"
        updated = when(row["updated_at"], short=columns is not None)
        rows.append([indent + row["run_id"], _status(row), place, _steps(row), updated, row["agent"] or "-"])
    yield from table(_TREES, rows, paint, columns)


def _steps(row: dict[str, Any]) -> str:
    """How many; of a run that cannot be read nobody knows it."""
    return "-" if row["damage"] else str(row["steps"])


def _status(row: dict[str, Any]) -> str:
    """The status, and why a run stopped or who executes it."""
    if row["damage"]:
        return "damaged"
    status = str(row["status"])
    if row["owner"]:
        return f"{status} (pid {row['owner']['pid']})"
    reason = (row["stop"] or {}).get("reason") if status == "interrupted" else None
    return f"{status} ({(row['stop'] or {}).get('name') or reason})" if reason else status


def _run_history(answer: RunHistory, paint: Paint, columns: int | None) -> Iterator[str]:
    row = run_row(answer.run)
    facts = [_status(row), f"agent {safe(row['agent'] or '-', lines=False)}"]
    facts += [f"session {safe(row['session_id'], lines=False)}"] if row["session_id"] is not None else []
    fits = columns is None or width(f"run {_id(row)}: {', '.join(facts)}") <= columns
    yield f"run {paint.bold(_id(row))}: " + (", " if fits else "\n  ").join(facts)
    rows = []
    for save in answer.saves:
        where = save.info.get("position")
        what = save.event + (f" {save.step}.{where}" if where else "")
        at = clock(save.at, short=columns is not None)
        tokens = _tokens(save.info.get("usage"))
        rows.append([str(save.number), str(save.step), at, str(save.status), what, str(save.entries), tokens])
    yield from table(_SAVES, rows, paint, columns)


def _session_history(answer: SessionHistory, paint: Paint, columns: int | None) -> Iterator[str]:
    yield f"session {paint.bold(safe(answer.session_id, lines=False))}: {counted(len(answer.segments), 'finished run')}"
    rows = []
    for number, segment in enumerate(answer.segments, answer.first):
        run = segment.told
        rows.append(
            [
                str(number),
                segment.run_id,
                when(segment.finished_at, short=columns is not None),
                str(run.get("steps", "-")),
                str(len(segment.entries)),
                _tokens(run.get("usage")),
                "cut by a rewind" if segment.truncated else str(run.get("finish_reason") or "-"),
            ]
        )
    if rows:
        yield from table(_SEGMENTS, rows, paint, columns)
    beside = [("unfinished", answer.unfinished), ("not in the session", answer.outside)]
    for what, info in ((what, info) for what, infos in beside for info in infos):
        row = run_row(info)
        at = when(info.updated_at, short=columns is not None)
        yield f"{what}: run {_id(row)}, {_status(row)}" + (
            "" if info.damage else f", {counted(info.steps, 'step')}, {at}"
        )


def _id(row: dict[str, Any]) -> str:
    return safe(row["run_id"] if "run_id" in row else row["session_id"], lines=False)


def _tokens(usage: Any) -> str:
    known = Usage.from_json(usage)
    return "-" if known.input_tokens is known.output_tokens is None else str(known.total_tokens)


def _or_dash(value: str | None) -> str:
    return "-" if value is None else value
