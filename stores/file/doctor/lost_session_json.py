"""A session.json that is lost, made again from the segments that are left, and from what a fork began with.

What a rewind, a clear or a trim undoes is removed, but for what forks read. So a segment that no fork reads counts, and
so do all before it. Of one behind those, which only forks surely read, may tell

    the segment before    when it was cut short, or is another run's, and was written later: then this one was undone
    the run's checkpoint  when it is a completed one: ``lovia rewind`` and ``rm`` would have deleted it, and a replay
                          would append the segment again (R7): then this one counts

Where neither does it is left out, since nothing may come back that was undone, and the finding says so: the forks go on
with it, and it stands in quarantine too. All is in a new epoch, so that none that a fork knows comes again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from stores.file.disk import Folder
from stores.file.doctor.check_marks import read_parts
from stores.file.doctor.forked_sessions import fork_id, found_base
from stores.file.doctor.known_runs import KnownRuns
from stores.file.doctor.lost_segments import readable
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.names import name_of, parse_segment_name
from stores.file.places import Place, digest_in
from stores.file.readers import files_of, read_by_forks
from stores.file.root import Root
from stores.file.segments import later_segments
from stores.file.session_json import SESSION, beginning, fresh_session
from stores.file.session_writing import writing


@dataclass(slots=True)
class Remade:
    """What session.json is to say. Of ``doubtful`` segments nothing tells whether they were undone.

    ``unread`` are damaged ones at the end, which no checkpoint holds.
    """

    session_id: str
    base: dict[str, Any] | None
    fields: dict[str, Any]
    doubtful: list[Place] = field(default_factory=list)
    unread: list[Place] = field(default_factory=list)

    @property
    def outlook(self) -> str:
        """What mending can do."""
        return f"it can be made again{self._doubt('would be')}"

    def done(self, aside: str | None, marked: str) -> str:
        """What mending has done."""
        source = "the session's segments" + (" and the marks of what it began with" if self.base else "")
        lost = ", ".join(str(place.n) for place in self.unread)
        damaged = f"; segment {lost} cannot be read, and went aside too" if lost else ""
        return f"made again from {source}{moved(aside)}{damaged}{self._doubt('was')}{marked}"

    def _doubt(self, verb: str) -> str:
        if not self.doubtful:
            return ""
        what = ", ".join(_run_in(place) for place in self.doubtful)
        return f"; what may have been undone {verb} left out, and kept for its forks and in quarantine: {what}"


def _run_in(place: Place) -> str:
    document = readable(place)
    return f"run {document['run']!r}" if document else f"segment {place.n}"


def remade(root: Root, name: str, places: list[Place]) -> Remade | None:
    """What the session.json in the folder of that name is to say; None where there is no session.

    Raises where what it began with, or what its forks read, cannot be told.
    """
    base, runs = found_base(root, name, places), KnownRuns(root)
    session_id = id_in(root, name, places) or (fork_id(root, name) if base else None)
    if session_id is None or not (places or base):
        return None
    with root.open_folder("sessions", name) as folder:
        parts = read_parts(root, folder, name) if folder else []
        read = files_of(folder, parts) if folder else set()
    newest = {place.n: place for place in sorted(places)}
    last, doubtful = _last_that_counts(runs, session_id, newest, read)
    epoch = 1 + max((*(place.epoch for place in places), *(part["epoch"] for part in parts)), default=-1)
    found = Remade(session_id, base, fresh_session(session_id) | beginning(base) | {"epoch": epoch}, doubtful)
    _count(runs, found, {n: place for n, place in newest.items() if n <= last})
    if not base and not found.fields["count"]:
        found.fields["cleared"] = True
    return found


def _last_that_counts(
    runs: KnownRuns, session_id: str, newest: dict[int, Place], read: set[str]
) -> tuple[int, list[Place]]:
    """The number of the last segment that surely counts, and those behind it that may."""
    last, maybe = 0, list[Place]()
    for n in sorted(newest):
        place = newest[n]
        if maybe and _is_undone(maybe[-1], place):
            break
        maybe.append(place)
        if place.file not in read or runs.completed(place.digest, session_id):
            last = n
    return last, [place for place in maybe if place.n > last]


def _is_undone(before: Place, place: Place) -> bool:
    """True when the segment stood behind another one than that, or behind more of it."""
    if place.epoch >= before.epoch:
        return False
    earlier, document = readable(before), readable(place)
    is_cut = earlier is not None and bool(earlier.get("truncated"))
    after = document and document.get("after")
    return is_cut or bool(after and before.digest not in str(after))


def _count(runs: KnownRuns, found: Remade, counted: dict[int, Place]) -> None:
    """Bring the fields to the last of the segments that can be read, or made again from a checkpoint."""
    fields = found.fields
    fields["updated_at"] = time.time()
    for n, place in sorted(counted.items()):
        document = readable(place)
        run = None if document else runs.completed(place.digest, found.session_id)
        if document:
            fields |= {"entries": document["first"] + len(document["entries"]), "last_sum": document["sum"]}
            fields["updated_at"] = document.get("at") or fields["updated_at"]
        elif run:
            fields |= {"entries": fields["entries"] + len(run.entries), "last_sum": None}
        else:
            found.unread.append(place)
            continue
        fields |= {"count": n, "limit": n, "last": place.file}
        found.unread.clear()


REPLACED = "an older copy of the file: where the last segment that it counts stood, a completed run has another"


def is_replaced(root: Root, fields: dict[str, Any], places: list[Place]) -> bool:
    """True when the last segment that session.json counts is gone with its run, and a completed run's is in its place.

    Of a completed run ``lovia rewind`` and ``rm`` would have deleted the checkpoint. So may the one behind it tell.
    """
    found = parse_segment_name(fields["last"] or "")
    if found is None or any((place.n, place.digest) == (found[0], found[2]) for place in places):
        return False
    (n, epoch, last), runs = found, KnownRuns(root)
    since = [place for place in places if epoch <= place.epoch <= fields["epoch"]]
    others = [place for place in since if _stood_at(n, place) not in (None, last)]
    return not runs.completed(last, fields["id"]) and any(runs.completed(one.digest, fields["id"]) for one in others)


def strays(root: Root, folder: Folder, fields: dict[str, Any], places: list[Place]) -> list[Place]:
    """The segments of later epochs with which the last one that session.json counts would have been undone.

    None where it was: it is gone with its checkpoint then, unless forks read it. So these are what was put back.
    """
    found, session_id = parse_segment_name(fields["last"] or ""), fields["id"]
    stands = next((readable(place) for place in places if place.file == fields["last"]), None)
    if not found or not stands or stands["sum"] != fields["last_sum"] or fields["last"] in read_by_forks(folder):
        return []
    (n, _, last), runs = found, KnownRuns(root)
    others = [one for one in later_segments(fields, places) if one.n <= n or _stood_at(n, one) not in (None, last)]
    is_any_completed = any(runs.completed(one.digest, session_id) for one in others)
    return others if runs.completed(last, session_id) and not is_any_completed else []


def _stood_at(n: int, place: Place) -> str | None:
    """The hash of the run whose segment stood there, as far as that segment, or the one behind it, tells."""
    if place.n not in (n, n + 1) or not (document := readable(place)):
        return None
    return place.digest if place.n == n else digest_in(document["after"])


def write(root: Root, name: str, places: list[Place]) -> str | None:
    """Make session.json again, over what is left of it, and say so. Runs that nothing shows a place of are marked."""
    found = remade(root, name, places)
    aside = set_aside(root, "sessions", name, SESSION, keep=found is not None)
    if found is None:
        return None
    marked = KnownRuns(root).mark(found.session_id, _placed(places))
    for place in found.doubtful:
        set_aside(root, "sessions", name, place.file, keep=True)
    with writing(root, found.session_id) as session:
        session.write_session(found.fields)
    for place in found.unread:
        set_aside(root, "sessions", name, place.file)
    return found.done(aside, marked)


def _placed(places: list[Place]) -> set[str]:
    """The hashes of the runs whose segments are there, or are missing right before one that names them."""
    before = [parse_segment_name(str(document["after"])) for place in places if (document := readable(place))]
    return {place.digest for place in places} | {found[2] for found in before if found}


def id_in(root: Root, name: str, places: list[Place]) -> str | None:
    """The session's id, from the first segment that can be read, or else from the run of one that cannot."""
    for place in places:
        document = readable(place)
        if document and name_of(str(document.get("id"))) == name:
            return str(document["id"])
    runs = KnownRuns(root)
    named = [ref.session_id for place in places if (ref := runs.ref(place.digest)) and ref.session_id]
    return next((session_id for session_id in named if name_of(session_id) == name), None)
