"""What a forked session began with, found again from its marks when its session.json is lost (H3)."""

from __future__ import annotations

from typing import Any

from stores.errors import StoreDamagedError
from stores.file.doctor.lost_segments import readable
from stores.file.doctor.problem import names_in
from stores.file.names import FORKS
from stores.file.places import Place
from stores.file.readers import has_history, is_marked, read_mark, session_names
from stores.file.root import Root
from stores.file.segments import Log, documents, shared_places, uncounted
from stores.file.session_json import SESSION, base_parts, fresh_session, own_session, part_of


def is_fork(root: Root, name: str, places: list[Place]) -> bool:
    """True when what is left of the session in the folder of that name shows that it began with another."""
    if first := _first(places):
        return True
    if first is not None:
        return False
    with root.open_folder("sessions", name) as folder:
        is_left = folder is not None and (bool(places) or SESSION in folder.names() or has_history(root, folder))
    return is_left and is_marked(root, name)


def fork_id(root: Root, name: str) -> str | None:
    """The forked session's id, as its marks have it."""
    return next((str(mark["id"]) for _, _, mark in _marks(root, name)), None)


def found_base(root: Root, name: str, places: list[Place]) -> dict[str, Any] | None:
    """The ``base`` of the session with those segments of its own; None for one that is no fork.

    Raises `StoreDamagedError` when the marks are not there, cannot be read, or lead to something else than stood before
    its segments.
    """
    if not is_fork(root, name, places):
        return None
    base, first = base_of_marks(root, name), _first(places)
    if first not in (None, base["entries"]):
        where = root.part("sessions", name, SESSION)
        raise StoreDamagedError("its marks do not lead to what the forked session began with", where=where)
    return base


def base_of_marks(root: Root, name: str) -> dict[str, Any]:
    """The ``base`` of the forked session of that name, as its marks have it; raises where they cannot be read."""
    marked = sorted(_marks(root, name), key=lambda found: found[0])
    parts = [{"session": source, **part_of(mark)} for _, source, mark in marked]
    if not parts:
        where = root.part("sessions", name, SESSION)
        raise StoreDamagedError("no mark says what the forked session began with", where=where)
    base = {**parts[-1], "before": parts[:-1]}
    log = Log("", fresh_session(""), [], shared_places(root, base))
    entries = sum(len(document["entries"]) for document, _ in documents(log))
    return base | {"segments": len(log.shared), "entries": entries}


def _first(places: list[Place]) -> int | None:
    """How many entries stand before the session's own; None where no segment of its says it."""
    found = (readable(place) for place in places if place.n == 1)
    return next((int(document["first"]) for document in found if document), None)


def _sources(root: Root, name: str) -> list[str]:
    """The session folders in which the fork has a mark, whatever is in it; raises where one may not be looked into."""
    return [one for one in session_names(root) if f"{name}.json" in names_in(root, "sessions", one, FORKS)]


def _marks(root: Root, name: str) -> list[tuple[int, str, dict[str, Any]]]:
    """The fork's marks, each with the id of the session it stands in, and with how many that one began with.

    Raises where one of them, or its session, cannot be read: the others would say less than the fork began with.
    """
    found = []
    for source in _sources(root, name):
        with root.open_folder("sessions", source, FORKS) as folder, root.open_folder("sessions", source) as session:
            if folder is None or session is None:
                continue
            data, where = session.read(SESSION), session.where(SESSION)
            fields = uncounted(root, source) if data is None else own_session(data, source, where)
            if fields is None:
                raise StoreDamagedError(f"{SESSION} is missing", where=where)
            found.append((len(base_parts(fields["base"])), fields["id"], read_mark(folder, name)))
    return found
