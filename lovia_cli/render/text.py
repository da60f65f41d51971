"""Listings for people: plain columns that stay one record a line, cut to the terminal and never wrapped."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lovia_cli.cli import answers
from lovia_cli.render.terminal import Paint, safe, shortened, width

if TYPE_CHECKING:
    from lovia_cli.render.streams import Out
    from lovia_cli.settings import Settings

_COLORS = {"completed": "green", "running": "bold", "interrupted": "yellow", "failed": "red", "damaged": "red"}


def lines(answer: answers.Answer, settings: Settings, out: Out) -> Iterator[str]:
    """The lines of any answer but a run's."""
    paint = Paint(settings.color and out.is_terminal)
    if isinstance(answer, answers.Overview):
        yield from _overview(answer, paint, out.columns)
    elif isinstance(answer, answers.RunHistory):
        yield from _run_history(answer, paint, out.columns)
    elif isinstance(answer, answers.SessionHistory):
        yield from _session_history(answer, paint, out.columns)
    elif isinstance(answer, answers.Transcript):
        from lovia_cli.render.transcript import transcript

        yield from transcript(answer, paint, settings.verbose)
    elif isinstance(answer, answers.Checked):
        yield from _checked(answer, paint)
    elif isinstance(answer, answers.Document):
        yield safe(answer.text)
    elif isinstance(answer, answers.Told) and answer.message and not (settings.quiet and answer.to_stderr):
        yield safe(answer.message)


def _overview(answer: answers.Overview, paint: Paint, columns: int | None) -> Iterator[str]:
    if not answer.runs and not answer.sessions:
        yield f"no runs or sessions in {safe(answer.store, lines=False)}"
        return
    table = [["", "ID", "STATUS", "STEPS", "UPDATED", "SESSION", "AGENT"]]
    damage = []
    for row in answer.rows():
        if row["damage"]:
            damage.append(f"{row['kind']} {_id(row)} is damaged: {row['damage']}")
        table.append(_overview_row(row))
    yield from _table(table, paint, columns)
    for note in damage:
        yield f"{paint.red('damaged:')} {safe(note, lines=False)}"
    if damage:
        yield "look closer with: lovia doctor"


def _overview_row(row: dict[str, Any]) -> list[str]:
    if row["kind"] == "session":
        status = "damaged" if row["damage"] else _count(row["segments"], "run")
        return ["session", _id(row), status, "", when(row["updated_at"]), "", ""]
    status = "damaged" if row["damage"] else _status(row)
    session = row["session_id"]
    return ["run", _id(row), status, str(row["steps"]), when(row["updated_at"]), _or_dash(session), row["agent"] or "-"]


def _status(row: dict[str, Any]) -> str:
    """The status, and why a run stopped or who executes it."""
    status = str(row["status"])
    if row["owner"]:
        return f"{status} (pid {row['owner']['pid']})"
    reason = (row["stop"] or {}).get("reason") if status == "interrupted" else None
    return f"{status} ({(row['stop'] or {}).get('name') or reason})" if reason else status


def _run_history(answer: answers.RunHistory, paint: Paint, columns: int | None) -> Iterator[str]:
    row = answers.run_row(answer.run)
    session = f", session {safe(row['session_id'], lines=False)}" if row["session_id"] is not None else ""
    yield f"run {paint.bold(_id(row))}: {_status(row)}, agent {safe(row['agent'] or '-', lines=False)}{session}"
    table = [["SAVE", "STEP", "TIME", "STATUS", "WHAT", "ENTRIES", "TOKENS"]]
    for save in answer.saves:
        tokens = _tokens(save.info.get("usage"))
        where = save.info.get("position")
        what = save.event + (f" {save.step}.{where}" if where else "")
        table.append(
            [str(save.number), str(save.step), when(save.at), str(save.status), what, str(save.entries), tokens]
        )
    yield from _table(table, paint, columns)


def _session_history(answer: answers.SessionHistory, paint: Paint, columns: int | None) -> Iterator[str]:
    yield f"session {paint.bold(safe(answer.session_id, lines=False))}: {_count(len(answer.segments), 'finished run')}"
    table = [["N", "RUN", "FINISHED", "STEPS", "ENTRIES", "TOKENS", "HOW"]]
    for number, segment in enumerate(answer.segments, answer.first):
        run, timing = _dict(segment.meta.get("run")), _dict(segment.meta.get("timing"))
        table.append(
            [
                str(number),
                segment.run_id,
                when(timing.get("finished_at")),
                str(run.get("steps", "-")),
                str(len(segment.entries)),
                _tokens(run.get("usage")),
                "cut by a rewind" if segment.truncated else str(run.get("finish_reason") or "-"),
            ]
        )
    if answer.segments:
        yield from _table(table, paint, columns)
    for info in answer.unfinished:
        row = answers.run_row(info)
        yield f"unfinished: run {_id(row)}, {_status(row)}, {_count(info.steps, 'step')}, {when(info.updated_at)}"


def _checked(answer: answers.Checked, paint: Paint) -> Iterator[str]:
    for finding in answer.findings:
        where, message = str(finding.get("where") or ""), str(finding.get("message") or "")
        yield f"{safe(where, lines=False)}: {safe(message, lines=False)}" if where else safe(message, lines=False)
        if hint := finding.get("hint"):
            yield f"  hint: {safe(str(hint), lines=False)}"
        if done := finding.get("done"):
            yield f"  {paint.green('done:')} {safe(str(done), lines=False)}"
    if answer.summary:
        yield safe(answer.summary, lines=False)


# --- columns ----------------------------------------------------------------------------------------------------------


def _table(rows: Sequence[Sequence[str]], paint: Paint, columns: int | None) -> Iterator[str]:
    """Left-aligned columns, the first row their heads. Cells are made safe here; the widest is cut to the terminal."""
    cells = [[safe(cell, lines=False) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    spare = (columns or 0) - sum(widths) - 2 * (len(widths) - 1)
    if columns and spare < 0:
        widest = widths.index(max(widths))
        widths[widest] = max(8, widths[widest] + spare)
        for row in cells:
            if width(row[widest]) > widths[widest]:
                row[widest] = shortened(row[widest], widths[widest])
    for index, row in enumerate(cells):
        padded = [cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)]
        if index:
            yield "  ".join(_colored(cell, paint) for cell in padded).rstrip()
        else:
            yield paint.dim("  ".join(padded).rstrip())


def _colored(cell: str, paint: Paint) -> str:
    words = cell.split()
    color = _COLORS.get(words[0]) if words else None
    return getattr(paint, color)(cell) if color and paint.enabled else cell


def when(seconds: float | None) -> str:
    """A time as it is here, to the second."""
    if seconds is None:
        return "-"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _id(row: dict[str, Any]) -> str:
    return safe(row["run_id"] if "run_id" in row else row["session_id"], lines=False)


def _tokens(usage: Any) -> str:
    known = [usage.get(name) for name in ("input_tokens", "output_tokens")] if isinstance(usage, dict) else []
    numbers = [number for number in known if number is not None]
    return str(sum(numbers)) if numbers else "-"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _or_dash(value: str | None) -> str:
    return "-" if value is None else value


def indented(text: str, by: str) -> Iterable[str]:
    """Each line of a text with ``by`` before it; an empty text is one empty line."""
    return (by + line for line in text.split("\n"))
