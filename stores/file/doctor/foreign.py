"""What stands in a session's folder and is another session's: something has copied it there, and it tells nothing."""

from __future__ import annotations

from functools import partial

from stores.file.doctor.check_vanished import problems_of_vanished
from stores.file.doctor.lost_segments import readable
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import set_aside
from stores.file.names import name_of
from stores.file.places import Place
from stores.file.readers import session_names
from stores.file.root import Root
from stores.file.vanished import vanished


def problems_of_foreign(root: Root, name: str, places: list[Place], *, is_own: bool) -> list[Problem]:
    """The segments in the folder of that name that are of another session, which go aside.

    Where there are no others, and no session.json that ``is_own``, the folder goes as a whole.
    """
    found = ((place, readable(place)) for place in places)
    foreign = [place for place, document in found if document and name_of(str(document.get("id"))) != name]
    if foreign and len(foreign) == len(places) and not is_own:
        return [folder_aside(root, name, "the folder holds another session than its name says")]
    what = "the file holds a segment of another session than its folder's name says"
    return [
        Problem(f"{place.folder}/{place.file}", what, partial(set_aside, root, "sessions", name, place.file))
        for place in foreign
    ]


def folder_aside(root: Root, name: str, what: str) -> Problem:
    """That nothing in the folder of that name tells of its session."""
    file, outlook = root.part("sessions", name), "the folder can go aside as a whole"
    return Problem(file, what, partial(_aside, root, name), outlook=outlook)


def _aside(root: Root, name: str) -> str:
    """The session is then one whose folder is gone: it is made again at once, for the forks that begin with it."""
    done = [f"the folder was {set_aside(root, 'sessions', name) or 'gone'}"]
    for session_id in vanished(root, session_names(root)):
        problems = problems_of_vanished(root, session_id) if name_of(session_id) == name else []
        done += [problem.mend() or "" if problem.mend else problem.outlook for problem in problems]
    return "; ".join(done)
