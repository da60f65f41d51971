"""Trimming a session: its old segments are written again with shorter outputs, each at once (M1).

The order of writes: what is cut goes to the archive, then the segment is replaced. session.json knows the checksum
of the last segment, so it forgets it before that one is replaced, and notes the new one after. A segment that a fork
reads is left to it: the shorter one is written beside it, in the epoch to come, which nobody reads yet. One
session.json with that epoch is the commit of all of those, after all else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from stores.archiving import archive_first
from stores.entries import Entry
from stores.file.places import Place, read_segment, session_folder
from stores.file.readers import read_by_forks
from stores.file.rewinding import sweep_dead
from stores.file.root import Root
from stores.file.segments import Log, encode_again, read_log, roll_forward, segment_of
from stores.file.session_writing import SessionWriter, writing
from stores.protocols import ResultStore
from stores.surgery import Cut, apply_cuts, trim_cuts


@dataclass(slots=True)
class _Old:
    """One segment as it is, and what could be cut of it."""

    place: Place
    document: dict[str, Any]
    entries: list[Entry]
    cuts: list[Cut]


async def trim(root: Root, session_id: str, keep_chars: int, keep_runs: int, archive: ResultStore | None) -> int:
    """Under the session's lock: cut the outputs of all but the last ``keep_runs`` segments, and count the cuts.

    Segments that a fork shares with its source are the source's to trim.
    """
    call, trimmed = root.worker.call, 0
    log = await call(_read, root, session_id)
    spared = await call(_spared, root, log)
    for place in log.places[: max(len(log.places) - keep_runs, 0)]:
        old = await call(_look, log, place, keep_chars, archive is not None)
        old.cuts = await archive_first(old.cuts, archive)
        if old.cuts:
            await call(_write_beside if place.file in spared else _replace, root, log, old)
        trimmed += len(old.cuts)
    if any(place.epoch > log.fields["epoch"] for place in log.places):
        await call(_begin_epoch, root, log)
    return trimmed


def _read(root: Root, session_id: str) -> Log:
    log = read_log(root, session_id)
    roll_forward(log)
    return log


def _spared(root: Root, log: Log) -> set[str]:
    """The segments that forks read. Where there are some, dead files go: none may come to life with the next epoch."""
    with root.open_folder(*session_folder(log.session_id)) as folder:
        spared = read_by_forks(folder) if folder else set()
        if folder and spared:
            sweep_dead(folder, (place.file for place in log.places))
    return spared


def _look(log: Log, place: Place, keep_chars: int, archived: bool) -> _Old:
    document = read_segment(place, log.session_id)
    entries = segment_of(document, f"{place.folder}/{place.file}").entries
    return _Old(place, document, entries, trim_cuts(document["run"], entries, keep_chars, archived=archived))


def _replace(root: Root, log: Log, old: _Old) -> None:
    """Write the segment again, under its name."""
    lines = encode_again(old.document, apply_cuts(old.entries, old.cuts))
    is_last = old.place.n == log.fields["count"]
    with writing(root, log.session_id) as session:
        if is_last:
            _note(session, log, None)
        session.write(old.place.file, lines)
        if is_last:
            _note(session, log, lines.sum)


def _write_beside(root: Root, log: Log, old: _Old) -> None:
    """Write the segment in the epoch to come: forks go on reading it as it was."""
    fields, n = log.fields, old.place.n
    place = replace(old.place, epoch=fields["epoch"] + 1)
    lines = encode_again(old.document, apply_cuts(old.entries, old.cuts), epoch=place.epoch)
    with writing(root, log.session_id) as session:
        session.write(place.file, lines)
    if n == fields["count"]:
        fields |= {"last": place.file, "last_sum": lines.sum}
    log.places[n - 1] = place


def _begin_epoch(root: Root, log: Log) -> None:
    """What was written beside counts from now on."""
    log.fields |= {"epoch": log.fields["epoch"] + 1, "limit": log.fields["count"]}
    with writing(root, log.session_id) as session:
        session.write_session(log.fields)


def _note(session: SessionWriter, log: Log, checksum: str | None) -> None:
    log.fields["last_sum"] = checksum
    session.write_session(log.fields)
