"""A session of which a segment is lost for good goes on without it. The others are there, and in their order.

Nobody reads a segment of an epoch to come, so what stands behind the lost one is written again in one, and session.json
commits all of it at once. A fork whose beginning is lost in part takes what is left of that for its own: it is no fork
any more then, and what it shared goes where it stood, with its mark.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from stores import codec
from stores.codec import Lines
from stores.errors import StoreDamagedError, StoreError
from stores.file.doctor.check_marks import read_parts
from stores.file.doctor.known_runs import KnownRuns
from stores.file.doctor.lost_segments import as_it_was, fields_of, readable, spans_of, undone_or_lost
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.doctor.read_by_forks import restorable_part
from stores.file.names import name_of, segment_name
from stores.file.places import Place, newest_places, places_of, read_segment, session_folder
from stores.file.readers import files_of
from stores.file.root import Root
from stores.file.segments import Log, documents, read_log
from stores.file.session_json import base_parts, beginning, check_name, fresh_session, read_session
from stores.file.session_writing import SessionWriter, writing
from stores.file.vanished import is_vanished

Document = dict[str, Any]


def go_on(root: Root, session_id: str, places: list[Place]) -> str:
    """Keep every segment of the session's own that can be read, and say so. Those behind a lost one are written again.

    What is replaced goes aside, but for what forks read.
    """
    doubt = undone_or_lost(root, session_id, places)
    rest = _written(root, session_id, places, None)
    return f"no checkpoint holds the same, so the session goes on without it{doubt}{rest}"


def source_in_need(root: Root, session_id: str) -> str | None:
    """The first session of those that the forked one begins with in which something is still to be mended, if any."""
    for part in base_parts(fields_of(root, session_id).get("base")):
        source = str(part["session"])
        try:
            for _ in documents(read_log(root, source)):
                pass
        except StoreError:
            return source
        if is_vanished(root, name_of(source)) or restorable_part(root, source, part):
            return source
    return None


def go_on_as_own(root: Root, session_id: str, places: list[Place]) -> str:
    """Write what is left of the fork's beginning as its own, and all that is its own behind it, and say so."""
    parts = base_parts(fields_of(root, session_id).get("base"))
    shared = [document for part in parts for document in _left_of(root, part)]
    kept = ", ".join(repr(document["run"]) for document in shared) or "nothing"
    rest = _written(root, session_id, places, shared)
    return f"the fork goes on without it; of what it began with it keeps, as its own: {kept}{rest}"


def _left_of(root: Root, part: dict[str, Any]) -> list[Document]:
    """The segments of that part of a fork's beginning that can be read; none where others stand there now.

    Raises where one may not be read, or only by a newer lovia: it is not lost.
    """
    name, end = name_of(str(part["session"])), part["count"]
    places = [place for place in places_of(root, name) if place.n <= end]
    fields = as_it_was(part)
    newest, left = newest_places(places, fields, chained=True), []
    if end not in newest and any((place.n, place.epoch) == (end, part["epoch"]) for place in places):
        return []
    spans = spans_of(newest, fields)
    for n, place in sorted(newest.items()):
        with suppress(StoreDamagedError):
            document = read_segment(place, None)
            check_name(str(document.get("id")), name, f"{place.folder}/{place.file}")
            left += [document] if n in spans else []
    return left


def _written(root: Root, session_id: str, places: list[Place], shared: list[Document] | None) -> str:
    """Write the session again as far as it can be read; the end of the sentence that says so.

    It keeps what it began with, or begins with what is ``shared`` as its own.
    """
    with writing(root, session_id) as session:
        fields = read_session(session.folder, session_id) or fresh_session(session_id)
        newest = newest_places(places, fields, chained=True)
        spans = spans_of(newest, fields)
        log = Log(session_id, fresh_session(session_id) | beginning(fields.get("base")), [], [])
        if shared is not None:
            log = _begun_again(session, fields, places, shared)
        log.fields["epoch"], kept = fields["epoch"] + 1, shared is None
        replaced, present = [], set()
        for n in sorted(newest):
            if document := readable(newest[n]) if n in spans else None:
                present.add(newest[n].digest)
            kept = kept and n == log.fields["count"] + 1 and n in spans and spans[n].first == log.fields["entries"]
            if kept and document:
                log.fields["limit"] = n
                log.count(newest[n].file, len(document["entries"]), document["sum"], document.get("at"))
                continue
            replaced.append(newest[n])
            if document:
                _write_again(session, log, document)
        is_lost = len(present) < max(fields["count"], len(newest))
        marked = KnownRuns(root).mark(session_id, present) if is_lost else ""
        session.write_session(log.fields)
    moves = {place.digest: moved(place_aside(root, place)) for place in unread(root, session_id, replaced)}
    aside = "".join(move for run_digest, move in moves.items() if run_digest not in present)
    return f"{aside}{marked}"


def _begun_again(session: SessionWriter, fields: Document, places: list[Place], shared: list[Document]) -> Log:
    """The session with what it shared as its own, and nothing else yet.

    What an earlier repair has left of this goes. session.json says beforehand which epoch is ``coming``: segments of
    runs that it does not count would tell of an older copy of it (`segments.is_outdated`).
    """
    log = Log(str(fields["id"]), fresh_session(str(fields["id"])) | {"epoch": fields["epoch"] + 1}, [], [])
    if "updated_at" in fields:
        log.fields["updated_at"] = fields["updated_at"]
    for place in places:
        if place.epoch > fields["epoch"]:
            session.folder.unlink(place.file)
    session.write_session(fields | {"coming": log.fields["epoch"]})
    for document in shared:
        _write_again(session, log, document)
    return log


def _write_again(session: SessionWriter, log: Log, document: Document) -> None:
    """One segment behind the last of ``log``, its entries and all else as they were."""
    n, epoch = log.fields["count"] + 1, log.fields["epoch"]
    entries = document.pop("entries")
    place = {"id": log.session_id, "n": n, "epoch": epoch, "after": log.fields["last"], "first": log.fields["entries"]}
    lines = Lines({key: value for key, value in (document | place).items() if key not in ("v", "sum")}, "entries")
    for entry in entries:
        lines.add(codec.dumps(entry))
    name = segment_name(n, epoch, document["run"])
    session.write(name, lines)
    log.count(name, len(entries), lines.sum, document.get("at"))


def place_aside(root: Root, place: Place) -> str | None:
    return set_aside(root, "sessions", place.folder.rpartition("/")[2], place.file)


def unread(root: Root, session_id: str, places: list[Place]) -> list[Place]:
    """Those of the segments that no fork reads. None where that cannot be told, which is said of the mark."""
    with suppress(StoreError), root.open_folder(*session_folder(session_id)) as folder:
        if folder and places:
            read = files_of(folder, read_parts(root, folder, name_of(session_id)))
            return [place for place in places if place.file not in read]
    return []
