"""What may be wrong with a session, and how it is put right from the segments that are left."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import Any

from stores import codec
from stores.errors import StoreDamagedError, StoreError
from stores.file.disk import Folder
from stores.file.doctor import lost_session_json
from stores.file.doctor.check_marks import problems_of_marks
from stores.file.doctor.foreign import folder_aside, problems_of_foreign
from stores.file.doctor.forked_sessions import is_fork
from stores.file.doctor.going_on import go_on, go_on_as_own, place_aside, source_in_need, unread
from stores.file.doctor.lost_segments import problem_of, restorable, undone_or_lost
from stores.file.doctor.problem import NO_DAMAGE, Problem, leftover, problems_of_files, stranger, told
from stores.file.doctor.read_by_forks import restorable_for_forks
from stores.file.markers import read_marker
from stores.file.names import FORKS, name_of, parse_segment_name
from stores.file.places import Place, places_in, read_segment
from stores.file.refs import read_ref
from stores.file.root import Root
from stores.file.segments import OUTDATED, Log, documents, is_lost_beside, is_outdated, read_log
from stores.file.session_json import SESSION, own_session


def problems_of_session(root: Root, name: str) -> list[Problem]:
    """Everything that is wrong with the session in the folder of that name."""
    with root.open_folder("sessions", name) as folder:
        if folder is None:
            return []
        names, places = folder.names(), sorted(places_in(folder))
        own = (SESSION, "open", FORKS)
        strange = [entry for entry in names if entry not in own and not parse_segment_name(entry)]
        problems = [stranger(folder.where(entry)) for entry in strange]
        problems += _problems_of_markers(root, name)
        problems += problems_of_marks(root, folder, name)
        try:
            fields, wrong = _read_own(root, folder, name, places)
            if fields and wrong == OUTDATED and (strays := lost_session_json.strays(root, folder, fields, places)):
                return [*problems, *(_stray(root, place) for place in strays)]
        except NO_DAMAGE as error:
            return [*problems, told(error, folder.where(SESSION))]
    if (wrong or fields is None) and (foreign := problems_of_foreign(root, name, places, is_own=bool(fields))):
        return foreign
    if wrong:
        return [*problems, _lost_session_json(root, name, places, wrong)]
    session_id = fields["id"] if fields else lost_session_json.id_in(root, name, places)
    return [*problems, *_problems_of_segments(root, session_id, places)] if session_id else problems


def _stray(root: Root, place: Place) -> Problem:
    what = "a segment that does not count: session.json ends with a completed run, which is not undone"
    return Problem(place.path, what, partial(place_aside, root, place), outlook="it can be moved aside")


def _read_own(root: Root, folder: Folder, name: str, places: list[Place]) -> tuple[dict[str, Any] | None, str]:
    """session.json as far as it can be read, and what is wrong with it. Raises what is no damage."""
    try:
        data = folder.read(SESSION)
        if data is None:
            return None, f"{SESSION} is missing" if _is_lost(root, folder, name, places) else ""
        fields = own_session(data, name, folder.where(SESSION))
        if is_outdated(fields, places):
            return fields, OUTDATED
        return fields, lost_session_json.REPLACED if lost_session_json.is_replaced(root, fields, places) else ""
    except StoreDamagedError as error:
        return None, error.message


def _is_lost(root: Root, folder: Folder, name: str, places: list[Place]) -> bool:
    """True when there is, or may be, a session.json that is not there."""
    try:
        return (bool(places) and is_lost_beside(folder, places)) or is_fork(root, name, places)
    except StoreError:
        return True


def _lost_session_json(root: Root, name: str, places: list[Place], what: str) -> Problem:
    """A session.json that is lost: it can be made again, unless nothing tells what its forked session began with.

    Where nothing else is left the folder goes aside, and the session is made again as one whose folder is gone.
    """
    file = root.part("sessions", name, SESSION)
    try:
        found = lost_session_json.remade(root, name, places)
    except StoreError as error:
        outlook = f"it cannot be made again, and the session is left as it is: {error}"
        advice = "where it is not wanted, move its folder elsewhere, and look again"
        return Problem(file, what, outlook=f"{outlook}; {advice}")
    if found is None:
        if refused := next(filter(None, map(_no_damage, places)), None):
            return told(refused, file)
        left = "none of its segments can be read" if places else "nothing else is left of the session"
        return folder_aside(root, name, f"{what}, and {left}")
    return Problem(file, what, partial(lost_session_json.write, root, name, places), outlook=found.outlook)


def _no_damage(place: Place) -> StoreError | None:
    """Why the segment there cannot be read, where that is no damage."""
    try:
        read_segment(place, None)
    except NO_DAMAGE as error:
        return error
    except StoreError:
        pass
    return None


def _problems_of_segments(root: Root, session_id: str, places: list[Place]) -> list[Problem]:
    folder = root.part("sessions", name_of(session_id))
    try:
        log = read_log(root, session_id)
        for document, where in documents(log):
            codec.decode_entries(document["entries"], where=where, run_id=document["run"])
    except NO_DAMAGE as error:
        return [told(error, folder)]
    except StoreError as error:
        is_shared = error.where and "/" in error.where and not error.where.startswith(folder)
        return (_damaged_beginning if is_shared else _damaged)(root, session_id, places, error)
    read_by_forks = [problem_of(root, lost) for lost in restorable_for_forks(root, session_id, log.places)]
    return [*read_by_forks, *_problems_of_dead(root, session_id, log, places)]


def _problems_of_dead(root: Root, session_id: str, log: Log, places: list[Place]) -> list[Problem]:
    """The segments that count for nobody."""
    problems = []
    for place in unread(root, session_id, [place for place in places if place not in log.places]):
        what = "a segment that was undone, and that no fork reads"
        if place.epoch > log.fields["epoch"]:
            what = "a rewind that was cut off before it took effect"
        elif any((one.n, one.epoch) == (place.n, place.epoch) for one in log.places):
            what = "not the segment that stands here, which is another run's"
        problems.append(
            Problem(f"{place.folder}/{place.file}", what, partial(place_aside, root, place), is_leftover=True)
        )
    return problems


def _damaged(root: Root, session_id: str, places: list[Place], error: StoreError) -> list[Problem]:
    """Segments that cannot be read: checkpoints make them again, or else the session goes on without the first."""
    if foreign := problems_of_foreign(root, name_of(session_id), places, is_own=True):
        return foreign
    if found := restorable(root, session_id, places):
        return [problem_of(root, lost) for lost in found]
    where = error.where or SESSION
    file = where if "/" in where else root.part("sessions", name_of(session_id), where)
    doubt = undone_or_lost(root, session_id, places)
    outlook = f"no checkpoint holds the same; the session can be kept without it{doubt}"
    return [Problem(file, error.message, partial(go_on, root, session_id, places), outlook=outlook)]


def _damaged_beginning(root: Root, session_id: str, places: list[Place], error: StoreError) -> list[Problem]:
    """What the session began with is mended where it stands. When it could not be, the session goes on without it."""
    if found := restorable(root, session_id, places):
        return [problem_of(root, lost) for lost in found]
    file, what = error.where or SESSION, f"{error.message}, which forked session {session_id!r} begins with"
    if waiting := source_in_need(root, session_id):
        return [Problem(file, what, outlook=f"session {waiting!r}, where it stands, comes first")]
    outlook = "the fork can go on without it"
    return [Problem(file, what, partial(go_on_as_own, root, session_id, places), outlook=outlook)]


def _problems_of_markers(root: Root, name: str) -> list[Problem]:
    """Markers that cannot be read or that lead nowhere. The data of a run that begins right now is there already."""

    def look(folder: Folder, file: str) -> Problem | None:
        marker = read_marker(folder, file.removesuffix(".json"))
        with suppress(StoreError), root.open_folder("runs") as runs:  # what is wrong there is said of the run
            is_gone = marker is not None and read_ref(runs, file.removesuffix(".json")) is None
            if marker and is_gone and not os.path.lexists(root.part("data", marker["key"])):
                return leftover(root, "a marker of a run that is gone", "sessions", name, "open", file)
        return None

    return problems_of_files(root, "sessions", name, "open", look=look)
