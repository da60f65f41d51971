"""``lovia show``: a transcript to read, a run by steps, a session numbered from 1."""

from __future__ import annotations

from collections.abc import Iterator

from lovia_cli.cli.answers import Transcript, run_row
from lovia_cli.render.json import dumps
from lovia_cli.render.terminal import Paint, safe
from lovia_cli.render.text import indented
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry

SHOWN_CHARS = 2000
"""How much of one tool output is shown, unless that call was asked for, or ``-v`` was given."""


def transcript(answer: Transcript, paint: Paint, verbose: int) -> Iterator[str]:
    """The lines of a transcript. ``raw`` gives each entry as it is stored."""
    if answer.raw:
        yield from (dumps(item.as_json()).decode("utf-8") for item in answer.items)
        return
    limit = SHOWN_CHARS if answer.whole and not verbose else None
    if answer.run is not None:
        yield from _run(answer, paint, limit)
    else:
        yield from _session(answer, paint, limit)


def _run(answer: Transcript, paint: Paint, limit: int | None) -> Iterator[str]:
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
        yield from _entry(item.entry, "", paint, limit)
    if answer.whole and answer.error:
        yield f"{paint.red('error:')} {safe(str(answer.error.get('message')), lines=False)}"


def _session(answer: Transcript, paint: Paint, limit: int | None) -> Iterator[str]:
    digits = len(str(answer.items[-1].n)) if answer.items else 1
    run_id = None
    for item in answer.items:
        if item.run_id != run_id:
            run_id = item.run_id
            yield paint.dim(f"--- run {safe(run_id, lines=False)} ---")
        yield from _entry(item.entry, f"{item.n:>{digits}}  ", paint, limit)


def _entry(entry: Entry, number: str, paint: Paint, limit: int | None) -> Iterator[str]:
    """One entry: what it is on the first line, its text below where it has more than one line."""
    head, text = _head(entry, paint), _text(entry)
    cut = None if limit is None or len(text) <= limit else len(text) - limit
    body = safe(text if cut is None else text[:limit]).removesuffix("\n").split("\n")
    if len(body) == 1:
        yield f"{number}{head}{body[0]}".rstrip()
    else:
        yield f"{number}{head}".rstrip()
        yield from indented("\n".join(body), " " * len(number) + "    ")
    if cut is not None:
        place = f" --call {entry.step}.{entry.position}" if isinstance(entry, ToolResultEntry) else " -v"
        yield paint.dim(f"{' ' * len(number)}    ... {cut:,} more characters, shown with{place}")


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
            return entry.text + "".join(f"\n[{part.get('type', 'attachment')}]" for part in entry.parts)
        case _:
            return entry.text
