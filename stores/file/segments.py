"""A session's folder as it stands at one moment: which of its files are live, and what is in them.

``session.json`` says how far the session goes; segment files are never edited. A rewind begins a new epoch:
live is a segment of the current epoch, or an older one up to the ``limit`` that the rewind left. A whole
segment right behind the last one counts too: its append was cut off before ``session.json`` was written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any

from stores import codec
from stores.codec import Lines
from stores.entries import JSON, Entry
from stores.errors import StoreDamagedError
from stores.file.disk import Folder
from stores.file.names import FORKS, digest, name_of, parse_segment_name, segment_name
from stores.file.places import (
    Place,
    as_forked,
    digest_in,
    is_later,
    newest_places,
    places_in,
    read_segment,
    session_folder,
)
from stores.file.readers import has_history, is_marked
from stores.file.root import Root
from stores.file.session_json import SESSION, base_parts, check_name, fresh_session, read_session
from stores.records import Segment


@dataclass(slots=True)
class Log:
    """What is live in one session: ``fields`` is session.json as it is or would be, ``places`` its own segments."""

    session_id: str
    fields: dict[str, Any]
    places: list[Place]
    shared: list[Place]

    @property
    def is_there(self) -> bool:
        """False for a session that nothing was appended to, or that was cleared."""
        return bool(self.places or self.shared or "updated_at" in self.fields) and not self.fields.get("cleared")

    def count(self, file: str, entries: int, checksum: str, at: float | None = None) -> None:
        """One more segment, in the file of that name."""
        fields = self.fields
        fields["count"] += 1
        fields["entries"] += entries
        fields["last"], fields["last_sum"] = file, checksum
        fields["updated_at"] = time.time() if at is None else at
        fields.pop("cleared", None)

    def find(self, run_id: str) -> Place | None:
        """The live segment of that run."""
        wanted = digest(run_id)
        return next((place for place in (*self.shared, *self.places) if place.digest == wanted), None)


def read_log(root: Root, session_id: str) -> Log:
    """The session as it is on disk; an unknown one is empty."""
    with root.open_folder(*session_folder(session_id)) as folder:
        if folder is None:
            return Log(session_id, fresh_session(session_id), [], [])
        fields = read_session(folder, session_id)
        places = places_in(folder)
        is_lost = fields is None and (
            is_lost_beside(folder, places) if places else _is_lost_alone(root, folder, session_id)
        )
    if fields is None:
        fields = fresh_session(session_id)
        if is_lost:
            raise StoreDamagedError(f"{SESSION} is missing", where=root.part(*session_folder(session_id), SESSION))
    if is_outdated(fields, places):
        raise StoreDamagedError(OUTDATED, where=root.part(*session_folder(session_id), SESSION))
    if fields.get("prepared"):
        fields = fresh_session(session_id) | {"epoch": fields["epoch"]}  # nobody has begun it yet
    live = _live(places, fields, root.part(*session_folder(session_id)))
    shared = shared_places(root, fields["base"]) if fields.get("base") else []
    return Log(session_id, fields, live, shared)


OUTDATED = "an older copy of the file: segments were written since in an epoch that it does not know"


def is_outdated(fields: dict[str, Any], places: Sequence[Place]) -> bool:
    """True when a segment that was appended says that an epoch has begun which session.json, the ``fields``, has not.

    In an epoch to come a rewind or a trim writes only again what counts, and an import all of a cleared session. The
    doctor gives notice of one that is ``coming``.
    """
    return any(later_segments(fields, places))


def later_segments(fields: dict[str, Any], places: Sequence[Place]) -> Iterator[Place]:
    """Those that say so."""
    if fields.get("cleared"):
        return
    counted = {place.digest for place in newest_places(places, fields).values()}
    known = max(fields["epoch"], fields.get("coming", 0))
    later = [place for place in places if place.epoch > known and place.digest not in counted]
    yield from (place for place in later if _is_of(place, fields["id"]))


def _is_of(place: Place, session_id: str) -> bool:
    """True for a whole segment of that session, which no foreign or unfinished one is."""
    try:
        return bool(read_segment(place, session_id))
    except StoreDamagedError:
        return False


def is_lost_beside(folder: Folder, places: list[Place]) -> bool:
    """True when session.json was there beside those segments: without it stands a first append that was cut off."""
    found = Folder.open(folder.where(FORKS))
    with found or nullcontext():
        if any(place.n != 1 or place.epoch for place in places) or (found is not None and any(found.records())):
            return True
    return any(_goes_on(place) for place in places)


def _goes_on(place: Place) -> bool:
    """True for a first segment of its own that a fork has: entries stand before it."""
    try:
        document = read_segment(place, None)
    except StoreDamagedError:
        return False
    return bool(document and document["first"])


def _is_lost_alone(root: Root, folder: Folder, session_id: str) -> bool:
    """True when session.json was there, of a fork that has no segment of its own yet.

    A run that began with a history tells. A mark alone may be left of a fork that a crash kept from being made, or from
    being removed whole.
    """
    is_used = session_id not in root.unused_sessions
    return is_used and has_history(root, folder) and is_marked(root, name_of(session_id))


def _live(places: Sequence[Place], fields: dict[str, Any], folder: str) -> list[Place]:
    """The live segments in order, 1 to ``count`` and what was cut off right behind; all must be in ``folder``."""
    newest = newest_places(places, fields)
    live: list[Place] = []
    for n in range(1, fields["count"] + 1):
        if n not in newest:
            raise _missing(n, newest, fields, folder)
        live.append(newest[n])
    return [*live, *_uncounted(newest, fields)]


def _uncounted(newest: dict[int, Place], fields: dict[str, Any]) -> Iterator[Place]:
    """The segments right behind the last one whose appends were cut off: each goes on from the one before it."""
    after, first = digest_in(fields.get("last")), fields["entries"]
    for n in count(fields["count"] + 1):
        place = newest.get(n)
        if place is None or place.epoch != fields["epoch"]:
            return
        try:
            document = read_segment(place, fields["id"])
        except StoreDamagedError:
            yield place  # whoever reads it is told
            return
        if (digest_in(document.get("after")), document.get("first")) != (after, first):
            return
        yield place
        after, first = place.digest, first + len(document["entries"])


def _missing(n: int, newest: dict[int, Place], fields: dict[str, Any], folder: str) -> StoreDamagedError:
    """The error for segment ``n``, with the file name that its neighbour knows."""
    name = f"{n:06d}"
    if n == fields["count"]:
        name = fields.get("last") or name
    elif after := newest.get(n + 1):
        name = read_segment(after, None)["after"] or name
    return StoreDamagedError(f"segment {n} of session {fields['id']!r} is missing", where=f"{folder}/{name}")


def shared_places(root: Root, base: dict[str, Any]) -> list[Place]:
    """The segments that a forked session begins with: its source as it was at that epoch and count."""
    shared: list[Place] = []
    for part in base_parts(base):
        where = root.part(*session_folder(part["session"]))
        with root.open_folder(*session_folder(part["session"])) as folder:
            if folder is None:
                raise StoreDamagedError("the fork's source is missing", where=where)
            places = places_in(folder)
        then = fresh_session(part["session"]) | as_forked(part) | {"count": part["count"]}
        shared += _live([place for place in places if place.n <= part["count"]], then, where)
        if shared and "run" in part and shared[-1].digest != digest(str(part["run"])):
            what = "this is not the segment that stood here when it was forked"
            raise StoreDamagedError(what, where=shared[-1].path)
    return shared


def documents(log: Log) -> Iterator[tuple[dict[str, Any], str]]:
    """Every live segment's document with its file, oldest first; gaps in the flat numbering are damage."""
    flat, before = 0, None
    for number, place in enumerate((*log.shared, *log.places)):
        where = f"{place.folder}/{place.file}"
        is_own = number >= len(log.shared)
        document = read_segment(place, log.session_id if is_own else None)
        if not is_own:
            check_name(str(document.get("id")), os.path.basename(place.folder), f"{place.folder}/{place.file}")
        if document.get("first") != flat:
            raise _misfit(before, document, flat, where)
        if before and digest_in(document.get("after")) not in (None, before.digest):
            raise StoreDamagedError("the segment does not follow the one before it", where=where)
        before = place
        flat += len(document["entries"])
        is_last = is_own and place.n == log.fields["count"]
        if is_last and (flat != log.fields["entries"] or log.fields["last_sum"] not in (None, document["sum"])):
            raise StoreDamagedError("this is not the segment that was appended last", where=where)
        yield document, where


def _misfit(before: Place | None, document: dict[str, Any], flat: int, where: str) -> StoreDamagedError:
    """The error for a segment that does not begin where the one ``before`` it ends."""
    if before is None or is_later(before, document.get("after")):
        return StoreDamagedError(f"the segment begins at {document.get('first')}, not at {flat}", where=where)
    what = f"the segment ends at {flat}, and the one behind it begins at {document.get('first')}"
    return StoreDamagedError(what, where=before.path)


def read_segments(root: Root, session_id: str) -> list[Segment]:
    """Every segment, oldest first."""
    return [segment_of(document, where) for document, where in documents(read_log(root, session_id))]


def segment_of(document: dict[str, Any], where: str) -> Segment:
    """The segment in a document."""
    return Segment(
        run_id=document["run"],
        entries=codec.decode_entries(document["entries"], where=where, run_id=document["run"]),
        meta=document.get("meta") or {},
        truncated=bool(document.get("truncated")),
    )


def roll_forward(log: Log) -> None:
    """Count what an append that was cut off has left behind the last segment."""
    for place in log.places[log.fields["count"] :]:
        document = read_segment(place, log.session_id)
        log.count(place.file, len(document["entries"]), document["sum"])


def uncounted(root: Root, name: str) -> dict[str, Any] | None:
    """What session.json in the folder of that name would say, where the first append was cut off before it was written.

    None when there is no segment either.
    """
    with root.open_folder("sessions", name) as folder:
        first = next((entry for entry in folder.names() if parse_segment_name(entry)), None) if folder else None
        if folder is None or first is None:
            return None
        segment = codec.decode(folder.read(first) or b"", "segment", where=folder.where(first))
        check_name(str(segment.get("id")), name, folder.where(first))
    log = read_log(root, segment["id"])
    roll_forward(log)
    return log.fields


def encode_segment(
    log: Log, run_id: str, entries: Sequence[Entry], meta: dict[str, JSON], checksum: str, *, truncated: bool = False
) -> tuple[str, Lines]:
    """File name and content of the segment that goes behind the last one of ``log``."""
    n, epoch = log.fields["count"] + 1, log.fields["epoch"]
    header: dict[str, JSON] = {"kind": "segment", "id": log.session_id, "run": run_id, "n": n, "epoch": epoch}
    header |= {"after": log.fields["last"], "first": log.fields["entries"], "at": time.time()}
    header |= {"checksum": checksum, "meta": meta}
    if truncated:
        header["truncated"] = True
    lines = Lines(header, "entries")
    for entry in entries:
        lines.add(codec.encode_entry(entry))
    return segment_name(n, epoch, run_id), lines


def encode_again(document: dict[str, Any], entries: Sequence[Entry], **changes: JSON) -> Lines:
    """The content of a segment's file with these entries and changes; what we do not know of it stays (D1)."""
    header = {name: value for name, value in (document | changes).items() if name not in ("v", "sum", "entries")}
    lines = Lines(header, "entries")
    for entry in entries:
        lines.add(codec.encode_entry(entry))
    return lines
