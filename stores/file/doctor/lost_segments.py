"""A session's lost segments, made again in their place from the checkpoints of their runs (R7).

A completed run's checkpoint holds all that its segment did, and the segment's file name names the run. What stands
around the segment says where its entries belong, and proves that the checkpoint's are as many as it held. The history
that was kept of a run that is gone does as well, where session.json counts the segment and its neighbours prove that it
was not cut since.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from stores.closing import segment_meta
from stores.codec import Lines
from stores.entries import ToolResultEntry
from stores.errors import StoreError
from stores.file.doctor.known_runs import KnownRuns
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.names import parse_segment_name, segment_name
from stores.file.places import Place, as_forked, newest_places, read_segment, session_folder
from stores.file.readers import Part
from stores.file.root import Root
from stores.file.segments import Log, encode_segment
from stores.file.session_json import beginning, fresh_session, read_session
from stores.file.session_writing import writing
from stores.ids import as_words
from stores.records import RunSnapshot
from stores.surgery import entries_checksum


@dataclass(frozen=True, slots=True)
class Lost:
    """A segment that cannot be read, and the run that holds the same, or its history; it goes behind ``after``."""

    place: Place
    what: str
    run: RunSnapshot
    after: str | None
    first: int
    is_kept: bool

    @property
    def source(self) -> str:
        """What it is made of."""
        return f"the {'history kept' if self.is_kept else 'checkpoint'} of run {self.run.run_id!r}"


def restorable(root: Root, session_id: str, places: list[Place], part: Part | None = None) -> list[Lost]:
    """The lost segments that a checkpoint can make whole again, in an order in which each fits what is there then.

    Of those that count, or that a fork reads who has forked that ``part`` of the session.
    """
    fields = fields_of(root, session_id)
    if part:
        fields |= _as_forked(part)
    newest = newest_places(places, fields, chained=True)
    spans = {n: _Span.of(document) for n, place in newest.items() if (document := readable(place))}
    numbers = range(1, max(fields["count"], *newest, 0) + 1)
    runs, found, seen = KnownRuns(root), list[Lost](), -1
    while len(found) > seen:  # one made again tells where its neighbours belong
        seen = len(found)
        for n in (*numbers, *reversed(numbers)):
            place = None if n in spans else newest.get(n) or _named(root, fields, n, spans.get(n + 1))
            run = runs.completed(place.digest, session_id) if place else None
            kept = runs.kept(place.digest, session_id) if place and n <= fields["count"] else None
            if not place or not (held := run or kept):
                continue
            first = _first(fields, n, spans, len(held.entries), is_proven=run is None)
            if first is not None:
                after = newest[n - 1].file if n - 1 in newest else None
                found.append(Lost(place, _reason(place), held, after, first, run is None))
                newest[n], spans[n] = place, _Span(first, first + len(held.entries), after)
    return found


def _as_forked(part: Part) -> dict[str, Any]:
    """What session.json said when that part of it was forked, as far as that can be told."""
    last = segment_name(part["count"], part["epoch"], part["run"]) if "run" in part else None
    return {**as_forked(part), "count": part["count"], "entries": None, "last": last}


@dataclass(frozen=True, slots=True)
class _Span:
    """Where the entries of a segment begin and end in the session, and the file before it."""

    first: int
    end: int
    after: str | None

    @staticmethod
    def of(document: dict[str, Any]) -> _Span:
        return _Span(document["first"], document["first"] + len(document["entries"]), document["after"])


def _first(fields: dict[str, Any], n: int, spans: dict[int, _Span], size: int, *, is_proven: bool) -> int | None:
    """The flat index that segment ``n`` of so many entries begins at; None where it does not fit its neighbours.

    One neighbour is enough, unless that index is to be ``is_proven`` by both.
    """
    before, behind = spans.get(n - 1), spans.get(n + 1)
    begin = before.end if before else None
    if n == 1:
        begin = beginning(fields["base"])["entries"]
    end = behind.first if behind else fields["entries"] if n == fields["count"] else None
    if is_proven and None in (begin, end):
        return None
    if begin is None:
        return None if end is None else int(end) - size
    return int(begin) if end in (None, begin + size) else None


def _named(root: Root, fields: dict[str, Any], n: int, behind: _Span | None) -> Place | None:
    """The place of a segment whose file is gone: the one behind it, or session.json, knows its name."""
    name = behind.after if behind else fields["last"] if n == fields["count"] else None
    found = parse_segment_name(name) if name else None
    return Place(*found, root.part(*session_folder(fields["id"]))) if found else None


def fields_of(root: Root, session_id: str) -> dict[str, Any]:
    """What session.json says; that of a new session where there is none."""
    with root.open_folder(*session_folder(session_id)) as folder:
        return (read_session(folder, session_id) if folder else None) or fresh_session(session_id)


def readable(place: Place) -> dict[str, Any] | None:
    """The document of the segment there; None for one that cannot be read."""
    try:
        return read_segment(place, None)
    except StoreError:
        return None


def _reason(place: Place) -> str:
    try:
        read_segment(place, None)
    except StoreError as error:
        return error.message
    return ""


def problem_of(root: Root, lost: Lost) -> Problem:
    """The finding of a segment that can be made again."""
    outlook = f"it can be made again from {lost.source}"
    file = f"{lost.place.folder}/{lost.place.file}"
    return Problem(file, lost.what, partial(restore, root, lost), outlook=outlook, is_batch=True)


def restore(root: Root, lost: Lost) -> str:
    """Write the segment again over what is left of it, which goes aside too, and say so.

    Until then its name tells where it stands. session.json knows the checksum of the last segment, so it forgets it
    before, and notes the new one after.
    """
    session_id = str(lost.run.head.session_id)
    aside = set_aside(root, *session_folder(session_id), lost.place.file, keep=True)
    with writing(root, session_id) as session:
        fields = read_session(session.folder, session_id)
        before = {"count": lost.place.n - 1, "epoch": lost.place.epoch, "last": lost.after, "entries": lost.first}
        log = Log(session_id, fresh_session(session_id) | before, [], [])
        name, lines = segment_of_run(log, lost.run)
        is_last = fields and fields["last"] == name
        if fields and is_last:
            session.write_session(fields | {"last_sum": None})
        session.write(name, lines)
        if fields and is_last:
            session.write_session(fields | {"last_sum": lines.sum})
    return f"made again from {lost.source}{moved(aside)}{untrimmed(session_id, [lost.run])}"


def segment_of_run(log: Log, run: RunSnapshot) -> tuple[str, Lines]:
    """File name and content of the segment that the completed run appends behind the last one of ``log`` (S5, S7)."""
    meta = segment_meta(run.head, run.head.updated_at)
    return encode_segment(log, run.run_id, run.entries, meta, entries_checksum(run.entries))


def untrimmed(session_id: str, runs: Iterable[RunSnapshot]) -> str:
    """What to say of segments made of checkpoints, which know of no trim (M1), as the end of a sentence."""
    if not any(isinstance(entry, ToolResultEntry) for run in runs for entry in run.entries):
        return ""
    return f"; its tool outputs are whole: where it was trimmed, trim it again with: lovia trim {as_words(session_id)}"
