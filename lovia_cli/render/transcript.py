"""``lovia show``: a transcript to read, a run by steps, a session numbered from 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lovia_cli.cli.listed import Transcript, run_row
from lovia_cli.render.attached import attached
from lovia_cli.render.json import dumps
from lovia_cli.render.terminal import Paint, safe
from lovia_cli.render.words import counted
from lovia_cli.render.wrap import INDENT, wrapped
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry

SHOWN_CHARS = 2000
"""How much of one entry a terminal is shown, unless that part was asked for, or ``-v`` was given."""
MOST_COLUMNS = 120
"""Longer lines than these are hard to read, however wide the terminal is."""


def transcript(answer: Transcript, paint: Paint, verbose: int, columns: int | None) -> Iterator[str]:
    """The lines of a transcript. ``raw`` gives each entry as it is stored.

    At a terminal (``columns``) lines are broken between words, and long entries are cut; elsewhere nothing is.
    """
    if answer.raw:
        yield from (dumps(item.as_json()).decode("utf-8") for item in answer.items)
        return
    limit = SHOWN_CHARS if columns is not None and answer.whole and not verbose else None
    page = _Page(paint, limit, min(columns, MOST_COLUMNS) if columns is not None else None)
    if answer.run is not None:
        yield from _run(answer, page)
    else:
        yield from _session(answer, page)


class _Page(NamedTuple):
    """How entries are shown; ``limit`` is the most characters of one, ``columns`` the most of a line."""

    paint: Paint
    limit: int | None
    columns: int | None


def _run(answer: Transcript, page: _Page) -> Iterator[str]:
    paint = page.paint
    assert answer.run is not None
    row = run_row(answer.run)
    if answer.whole:
        session = f", session {safe(row['session_id'], lines=False)}" if row["session_id"] is not None else ""
        name, agent = (safe(row[key] or "-", lines=False) for key in ("run_id", "agent"))
        yield f"run {paint.bold(name)}: {row['status']}, agent {agent}{session}"
    step = -1
    for item in answer.items:
        if item.entry.step != step:
            step = item.entry.step
            yield paint.dim(f"--- step {step} ---" if step else "--- input ---")
        yield from _entry(item.entry, "", page)
    if answer.queued:
        yield paint.dim("--- queued: sent when the run goes on ---")
    for entry in answer.queued:
        yield from _entry(entry, "", page)
    if answer.whole and answer.error:
        yield f"{paint.red('error:')} {safe(str(answer.error.get('message')), lines=False)}"


def _session(answer: Transcript, page: _Page) -> Iterator[str]:
    if not answer.items:
        yield f"session {page.paint.bold(safe(str(answer.session_id), lines=False))} has no entries"
        return
    digits, run_id = len(str(answer.items[-1].n)), None
    for item in answer.items:
        if item.run_id != run_id:
            run_id = item.run_id
            yield page.paint.dim(f"--- run {safe(run_id, lines=False)} ---")
        yield from _entry(item.entry, f"{item.n:>{digits}}  ", page)


def _entry(entry: Entry, number: str, page: _Page) -> Iterator[str]:
    """One entry: what it is on the first line, its text below where it has more than one line."""
    head, text = _head(entry, page.paint), _text(entry)
    cut = None if page.limit is None or len(text) <= page.limit else len(text) - page.limit
    body = safe(text if cut is None else text[: page.limit]).removesuffix("\n")
    indent = " " * len(number) + INDENT
    if "\n" in body:
        yield f"{number}{head}".rstrip()
        yield from wrapped(body, indent, indent, page.columns)
    else:
        plain = number + _head(entry, Paint(False))
        first, *rest = wrapped(body, plain, indent, page.columns)
        yield (number + head + first[len(plain) :]).rstrip()
        yield from rest
    if cut is not None:
        place = f"--call {entry.step}.{entry.position}" if isinstance(entry, ToolResultEntry | ToolCallEntry) else "-v"
        yield page.paint.dim(f"{indent}... {counted(cut, 'more character')}, shown with {place}")


def _head(entry: Entry, paint: Paint) -> str:
    match entry:
        case InputEntry():
            return paint.bold(f"{entry.role}: ")
        case AssistantTextEntry():
            return paint.bold("assistant: ")
        case ReasoningEntry():
            return paint.dim("reasoning: ")
        case ToolCallEntry():
            return f"call {_place(entry)} {paint.bold(safe(entry.name, lines=False))} "
        case ToolResultEntry():
            kind = "" if entry.kind == "ok" and not entry.is_error else paint.red(entry.kind + " ")
            return f"result {_place(entry)} {kind}"


def _place(entry: ToolCallEntry | ToolResultEntry) -> str:
    name = entry.id if isinstance(entry, ToolCallEntry) else entry.call_id
    return f"{entry.step}.{entry.position}" if entry.position else safe(name, lines=False)


def _text(entry: Entry) -> str:
    match entry:
        case ToolCallEntry():
            return entry.arguments
        case ToolResultEntry():
            return entry.output
        case InputEntry() if entry.parts:
            return entry.text + attached(entry.parts)
        case _:
            return entry.text
