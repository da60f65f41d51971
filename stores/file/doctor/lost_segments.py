"""A session's lost segments, made again in their place from the checkpoints of their runs (R7).

A completed run's checkpoint holds all that its segment did, and the segment's file name names the run. What stands
around the segment says where its entries belong, and proves that the checkpoint's are as many as it held. The history
that was kept of a run that is gone does as well, where session.json counts the segment and its neighbours prove that it
was not cut since; of the last one, where something is left of it, since nothing else proves that it was not undone.
Where they prove that it was cut, an older copy of its file is cut again as the rewind had cut it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from stores.closing import segment_meta
from stores.codec import Lines
from stores.entries import Entry, ToolResultEntry
from stores.errors import StoreError
from stores.file.doctor.known_runs import KnownRuns
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.names import parse_segment_name, segment_name
from stores.file.places import Place, as_forked, digest_in, is_later, newest_places, read_segment, session_folder
from stores.file.readers import Part
from stores.file.root import Root
from stores.file.segments import Log, encode_again, encode_segment, segment_of
from stores.file.session_json import beginning, fresh_session, read_session
from stores.file.session_writing import writing
from stores.ids import as_words
from stores.records import RunSnapshot
from stores.surgery import cut_to, entries_checksum


@dataclass(frozen=True, slots=True)
class Lost:
    """A segment that cannot be read, and the ``held`` that holds the same; it goes behind ``after``."""

    session_id: str
    place: Place
    what: str
    held: _Held
    after: str | None
    first: int


@dataclass(frozen=True, slots=True)
class _Held:
    """Entries that a lost segment held, where they are found, and how it is made of them behind the last of a log."""

    source: str
    entries: Sequence[Entry]
    encode: Callable[[Log], tuple[str, Lines]]


def restorable(root: Root, session_id: str, places: list[Place], part: Part | None = None) -> list[Lost]:
    """The lost segments that a checkpoint can make whole again, in an order in which each fits what is there then.

    Of those that count, or that a fork reads who has forked that ``part`` of the session.
    """
    fields = fields_of(root, session_id)
    if part:
        fields |= as_it_was(part)
        places = [place for place in places if place.n <= part["count"]]
    newest = newest_places(places, fields, chained=True)
    spans = spans_of(newest, fields)
    numbers = range(1, max(fields["count"], *newest, 0) + 1)
    runs, found, seen = KnownRuns(root), list[Lost](), -1
    while len(found) > seen:  # one made again tells where its neighbours belong
        seen = len(found)
        for n in (*numbers, *reversed(numbers)):
            place = None if n in spans else _place(root, fields, n, newest.get(n), spans.get(n + 1))
            if not place:
                continue
            begin, end = _bounds(fields, n, spans)
            size = None if begin is None or end is None else end - begin
            is_sure = place in places or n + 1 in spans  # session.json alone may be from before it was undone
            for held in _held(runs, session_id, place, places, size, is_sure=is_sure):
                first = _first(begin, end, len(held.entries))
                if first is not None:
                    after = newest[n - 1].file if n - 1 in newest else None
                    found.append(Lost(session_id, place, _reason(place), held, after, first))
                    newest[n], spans[n] = place, _Span(first, first + len(held.entries), after)
                    break
    return found


def _held(
    runs: KnownRuns, session_id: str, place: Place, places: list[Place], size: int | None, *, is_sure: bool
) -> Iterator[_Held]:
    """What may hold the segment: of what may have been cut just so many entries, where its neighbours tell ``size``.

    Of a run that was deleted only if it ``is_sure`` that the segment was not undone.
    """
    if run := runs.completed(place.digest, session_id):
        yield _of_run("checkpoint", run)
    if is_sure and size and (kept := runs.kept(place.digest, session_id)) and len(kept.entries) == size:
        yield _of_run("history kept", kept)
    if size:
        yield from _cut_again(place, places, size)


def _of_run(what: str, run: RunSnapshot) -> _Held:
    return _Held(f"the {what} of run {run.run_id!r}", run.entries, partial(segment_of_run, run=run))


def _cut_again(place: Place, places: list[Place], size: int) -> Iterator[_Held]:
    """What a rewind has left of the segment, of so many entries, from copies of an earlier epoch."""
    for copy in reversed(places):
        is_older = (copy.n, copy.digest) == (place.n, place.digest) and copy.epoch < place.epoch
        document = readable(copy) if is_older else None
        with suppress(StoreError):
            left = cut_to(segment_of(document, copy.path).entries, size) if document else None
            if document and left:
                source = f"{copy.file}, an older copy, cut to {size} entr{'y' if size == 1 else 'ies'} as by a rewind"
                yield _Held(source, left, partial(_encode_cut, document=document, left=left))


def undone_or_lost(root: Root, session_id: str, places: list[Place]) -> str:
    """What to say of the last segment where it is gone, and a history was kept of its run, as the end of a sentence."""
    last = digest_in(fields_of(root, session_id)["last"])
    kept = KnownRuns(root).kept(last, session_id) if last else None
    if kept is None or any(place.digest == last for place in places):
        return ""
    return f"; that of run {kept.run_id!r}, whose history was kept, may have been undone"


def as_it_was(part: Part) -> dict[str, Any]:
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


def spans_of(newest: dict[int, Place], fields: dict[str, Any]) -> dict[int, _Span]:
    """Those of the segments that can be read and fit each other.

    A segment says where the one before it ended when it was appended, and session.json where the last one ends. Where
    that ends elsewhere now, one of the two is an older copy that was put back: the one before, unless it is of a later
    epoch than the other knew. What does not fit behind the last one is no append that was cut off.
    """
    read = {n: _Span.of(document) for n, place in newest.items() if (document := readable(place))}
    last = _Span(fields["entries"], fields["entries"], fields["last"]) if fields["last"] else None
    spans = dict(read)
    for n in sorted(read, reverse=True):
        behind = last if n == fields["count"] else spans.get(n + 1)
        if behind and behind.first not in (None, read[n].end):
            is_behind = n > fields["count"] or is_later(newest[n], behind.after)
            spans.pop(n + 1 if is_behind else n, None)
    return spans


def _bounds(fields: dict[str, Any], n: int, spans: dict[int, _Span]) -> tuple[int | None, int | None]:
    """The flat indexes that segment ``n`` begins and ends at, as far as its neighbours tell."""
    before, behind = spans.get(n - 1), spans.get(n + 1)
    begin = before.end if before else None
    if n == 1:
        begin = beginning(fields["base"])["entries"]
    return begin, behind.first if behind else fields["entries"] if n == fields["count"] else None


def _first(begin: int | None, end: int | None, size: int) -> int | None:
    """Where a segment of so many entries begins; None where it does not fit, or nothing tells."""
    if begin is None:
        return None if end is None else end - size
    return begin if end in (None, begin + size) else None


def _place(root: Root, fields: dict[str, Any], n: int, stands: Place | None, behind: _Span | None) -> Place | None:
    """The place of a segment that cannot be read, or of which an older copy ``stands`` there."""
    found = [place for place in (stands, _named(root, fields, n, behind)) if place]
    return max(found, key=lambda place: place.epoch, default=None)


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
    return "the segment does not end where the one behind it begins"


def problem_of(root: Root, lost: Lost) -> Problem:
    """The finding of a segment that can be made again."""
    outlook = f"it can be made again from {lost.held.source}"
    file = f"{lost.place.folder}/{lost.place.file}"
    return Problem(file, lost.what, partial(restore, root, lost), outlook=outlook, is_batch=True)


def restore(root: Root, lost: Lost) -> str:
    """Write the segment again over what is left of it, which goes aside too, and say so.

    Until then its name tells where it stands. session.json knows the checksum of the last segment, so it forgets it
    before, and notes the new one after.
    """
    session_id = lost.session_id
    aside = set_aside(root, *session_folder(session_id), lost.place.file, keep=True)
    with writing(root, session_id) as session:
        fields = read_session(session.folder, session_id)
        before = {"count": lost.place.n - 1, "epoch": lost.place.epoch, "last": lost.after, "entries": lost.first}
        log = Log(session_id, fresh_session(session_id) | before, [], [])
        name, lines = lost.held.encode(log)
        is_last = fields and fields["last"] == name
        if fields and is_last:
            session.write_session(fields | {"last_sum": None})
        session.write(name, lines)
        if fields and is_last:
            session.write_session(fields | {"last_sum": lines.sum})
    return f"made again from {lost.held.source}{moved(aside)}{untrimmed(session_id, [lost.held])}"


def segment_of_run(log: Log, run: RunSnapshot) -> tuple[str, Lines]:
    """File name and content of the segment that the completed run appends behind the last one of ``log`` (S5, S7)."""
    meta = segment_meta(run.head, run.head.updated_at)
    return encode_segment(log, run.run_id, run.entries, meta, entries_checksum(run.entries))


def _encode_cut(log: Log, document: dict[str, Any], left: list[Entry]) -> tuple[str, Lines]:
    """The same of what a rewind has left of the segment."""
    place = {"epoch": log.fields["epoch"], "after": log.fields["last"], "first": log.fields["entries"]}
    lines = encode_again(document, left, **place, meta={}, truncated=True)
    return segment_name(document["n"], place["epoch"], document["run"]), lines


def untrimmed(session_id: str, runs: Iterable[RunSnapshot | _Held]) -> str:
    """What to say of segments made of checkpoints, which know of no trim (M1), as the end of a sentence."""
    if not any(isinstance(entry, ToolResultEntry) for run in runs for entry in run.entries):
        return ""
    return f"; its tool outputs are whole: where it was trimmed, trim it again with: lovia trim {as_words(session_id)}"
