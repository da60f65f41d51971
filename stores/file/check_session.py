"""What may be wrong with a session, and how it is put right from the segments that are left."""

from __future__ import annotations

from functools import partial
from typing import Any

from stores import codec
from stores.codec import Lines
from stores.entries import UnknownEntryError
from stores.errors import StoreDamagedError, StoreError, StoreVersionError
from stores.file.disk import TEMP, Folder
from stores.file.markers import read_marker
from stores.file.names import name_of, parse_segment_name, segment_name
from stores.file.quarantine import Problem, set_aside
from stores.file.refs import read_ref
from stores.file.root import Root
from stores.file.segments import SESSION, Log, Place, documents, fresh_session, parse_session, read_log, read_segment


def problems_of_session(root: Root, name: str) -> list[Problem]:
    """Everything that is wrong with the session in the folder of that name."""
    with root.open_folder("sessions", name) as folder:
        if folder is None:
            return []
        names = folder.names()
        places = sorted(Place(*found, folder.path) for entry in names if (found := parse_segment_name(entry)))
        strange = [entry for entry in names if entry not in (SESSION, "open") and not parse_segment_name(entry)]
        problems = [Problem(folder.where(entry), "not a file of this store; it is left alone") for entry in strange]
        problems += _problems_of_markers(root, name)
        file = folder.where(SESSION)
        try:
            data = folder.read(SESSION)
            fields = None if data is None else parse_session(data, file)
            if fields and name_of(fields["id"]) != name:
                raise StoreDamagedError("the file holds another session than its folder's name says", where=file)
        except StoreVersionError as error:
            return [*problems, Problem(file, error.message)]
        except StoreError as error:
            return [*problems, Problem(file, error.message, partial(_rebuild, root, name, places))]
    if fields is None and (len(places) > 1 or any(place.epoch for place in places)):
        return [*problems, Problem(file, f"{SESSION} is missing", partial(_rebuild, root, name, places))]
    session_id = fields["id"] if fields else _id_in(places)
    return [*problems, *_problems_of_segments(root, session_id, places)] if session_id else problems


def _problems_of_segments(root: Root, session_id: str, places: list[Place]) -> list[Problem]:
    folder = root.part("sessions", name_of(session_id))
    problems = []
    try:
        log = read_log(root, session_id)
        for document, where in documents(log):
            codec.decode_entries(document["entries"], where=where, run_id=document["run"])
    except (StoreVersionError, UnknownEntryError) as error:
        return [Problem(error.where or folder, error.message)]
    except StoreError as error:
        where = error.where if error.where and "/" in error.where else f"{folder}/{error.where}"
        what = f"{error.message}; the session can be kept without it"
        return [Problem(where, what, partial(_without_damaged, root, session_id, places))]
    for place in places:
        if place.epoch > log.fields["epoch"]:
            what = "a rewind that was cut off before it took effect"
            problems.append(Problem(f"{folder}/{place.file}", what, partial(_aside, root, place), is_leftover=True))
    return problems


def _aside(root: Root, place: Place) -> None:
    set_aside(root, "sessions", place.folder.rpartition("/")[2], place.file)


def _readable(place: Place) -> dict[str, Any] | None:
    try:
        return read_segment(place, None)
    except StoreError:
        return None


def _id_in(places: list[Place]) -> str | None:
    """The session's id, from the first segment that can be read."""
    return next((document["id"] for place in places if (document := _readable(place))), None)


def _rebuild(root: Root, name: str, places: list[Place]) -> None:
    """session.json is made again: what its segments say, of each number the one of the newest epoch."""
    set_aside(root, "sessions", name, SESSION)
    session_id = _id_in(places)
    if session_id is None:
        return
    epoch = max(place.epoch for place in places)
    newest = {place.n: place for place in sorted(places)}
    first_of_epoch = min(n for n, place in newest.items() if place.epoch == epoch)
    log = Log(session_id, fresh_session(session_id) | {"epoch": epoch, "limit": first_of_epoch - 1}, [], [])
    for n in range(1, len(newest) + 1):
        document = _readable(newest[n]) if n in newest else None
        if document is None:
            break
        log.count(newest[n].file, len(document["entries"]), document["sum"], document.get("at"))
    with root.make_folder("sessions", name) as folder, root.make_folder("sessions", name, "open") as temps:
        folder.write(SESSION, codec.encode(log.fields), by=temps)


def _without_damaged(root: Root, session_id: str, places: list[Place]) -> None:
    """Keep every segment that can be read. Those behind a damaged one are written again under a new epoch.

    Nobody reads a segment of an epoch to come, so session.json commits all of it at once.
    """
    name = name_of(session_id)
    with root.make_folder("sessions", name) as folder, root.make_folder("sessions", name, "open") as temps:
        fields = parse_session(folder.read(SESSION) or codec.encode(fresh_session(session_id)), folder.where(SESSION))
        newest = {place.n: place for place in sorted(places) if place.epoch <= fields["epoch"]}
        log = Log(session_id, fresh_session(session_id) | {"base": fields.get("base")}, [], [])
        log.fields["epoch"], kept = fields["epoch"] + 1, True
        replaced = []
        for n in sorted(newest):
            document = _readable(newest[n])
            kept = kept and document is not None and n == log.fields["count"] + 1
            if kept and document:
                log.fields["limit"] = n
                log.count(newest[n].file, len(document["entries"]), document["sum"], document.get("at"))
                continue
            replaced.append(newest[n])
            if document:
                _write_again(folder, temps, log, document)
        folder.write(SESSION, codec.encode(log.fields), by=temps)
    for place in replaced:
        _aside(root, place)


def _write_again(folder: Folder, temps: Folder, log: Log, document: dict[str, Any]) -> None:
    """One segment behind the last of ``log``, its entries and all else as they were."""
    n, epoch = log.fields["count"] + 1, log.fields["epoch"]
    entries = document.pop("entries")
    place = {"n": n, "epoch": epoch, "after": log.fields["last"], "first": log.fields["entries"]}
    lines = Lines({key: value for key, value in (document | place).items() if key not in ("v", "sum")}, "entries")
    for entry in entries:
        lines.add(codec.dumps(entry))
    name = segment_name(n, epoch, document["run"])
    folder.write(name, lines.bytes(), by=temps)
    log.count(name, len(entries), lines.sum, document.get("at"))


def _problems_of_markers(root: Root, name: str) -> list[Problem]:
    """Markers that cannot be read or that lead nowhere, and unfinished writes beside them."""
    problems = []
    with root.open_folder("sessions", name, "open") as folder, root.open_folder("runs") as runs:
        for entry in folder.names() if folder else ():
            if folder is None:
                break
            if entry.endswith(TEMP):
                what = "an unfinished write of a process that was killed"
                mend = partial(_unlink, root, name, entry)
                problems.append(Problem(folder.where(entry), what, mend, is_leftover=True))
                continue
            try:
                marker = read_marker(folder, entry.removesuffix(".json"))
                if marker and read_ref(runs, entry.removesuffix(".json")) is None:
                    what = "a marker of a run that is gone"
                    mend = partial(_unlink, root, name, entry)
                    problems.append(Problem(folder.where(entry), what, mend, is_leftover=True))
            except StoreVersionError as error:
                problems.append(Problem(folder.where(entry), error.message))
            except StoreError as error:
                if error.where == folder.where(entry):
                    mend = partial(set_aside, root, "sessions", name, "open", entry)
                    problems.append(Problem(error.where, error.message, mend))
    return problems


def _unlink(root: Root, name: str, entry: str) -> None:
    with root.make_folder("sessions", name, "open") as folder:
        folder.unlink(entry)
