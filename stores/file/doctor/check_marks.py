"""What may be wrong with the marks of forked sessions, which keep what those begin with (H3)."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import Any

from stores.errors import StoreDamagedError, StoreError
from stores.file.disk import Folder
from stores.file.doctor.problem import Problem, leftover, problems_of_files, told
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.names import FORKS, name_of
from stores.file.places import session_folder
from stores.file.readers import Part, marks, place_mark, read_here, read_mark, session_names
from stores.file.root import Root
from stores.file.session_json import SESSION, base_parts, own_session, part_of
from stores.file.vanished import is_vanished


def problems_of_marks(root: Root, folder: Folder, name: str) -> list[Problem]:
    """Marks of forks that are gone; the session itself, when it is a fork whose own marks are missing."""

    def look(found: Folder, file: str) -> Problem | None:
        fork = file.removesuffix(".json")
        try:
            if read_here(folder, found, fork) is None and not is_vanished(root, fork):
                return leftover(root, "the mark of a fork that is gone", "sessions", name, FORKS, file)
        except StoreError as error:
            return Problem(found.where(file), f"{error.message}, and what the fork reads here cannot be told")
        return None

    problems: list[Problem] = []
    try:
        problems += problems_of_files(root, "sessions", name, FORKS, look=look)
    except StoreError as error:
        problems.append(told(error, folder.where(FORKS)))
    fields: dict[str, Any] = {}
    with suppress(StoreError):
        data = folder.read(SESSION)
        fields = {} if data is None else own_session(data, name, folder.where(SESSION))
    for part in base_parts(fields.get("base")):
        problems += _problems_of_mark(root, name, fields["id"], part)
    return problems


def _problems_of_mark(root: Root, name: str, fork_id: str, part: Part) -> list[Problem]:
    """What is wrong with the mark that the forked session has where it reads that part.

    Where nobody can look there, the session it stands in says so. One whose folder is gone is made again first: a mark
    alone would be taken for a session that was cleared.
    """
    if not os.path.lexists(root.part(*session_folder(part["session"]))):
        return []
    place = (*session_folder(part["session"]), FORKS)
    what = f"the mark of forked session {fork_id!r}, which keeps what it begins with, "
    with suppress(StoreError), root.open_folder(*place) as found:
        if found is None or f"{name}.json" not in found.names():
            mend = partial(place_mark, root, fork_id, part)
            return [Problem(root.part(*place, f"{name}.json"), f"{what}is missing", mend)]
        try:
            mark = read_mark(found, name)
            if part_of(mark) == part_of(part):
                return []
            what += "names other segments"
        except StoreDamagedError as error:
            what += f"is damaged: {error.message}"
        return [Problem(found.where(f"{name}.json"), what, partial(_mark_again, root, name, fork_id, part))]
    return []


def _mark_again(root: Root, name: str, fork_id: str, part: Part) -> str:
    aside = set_aside(root, *session_folder(part["session"]), FORKS, f"{name}.json", keep=True)
    place_mark(root, fork_id, part)
    return f"it was made again{moved(aside)}"


def read_parts(root: Root, folder: Folder, name: str) -> list[Part]:
    """What forks read of the session in that folder: as the marks in it say, and as the forks do that have lost theirs.

    Raises where a mark cannot be read, or nobody may look.
    """
    return [*(part for part in marks(folder).values() if part), *parts_of_forks(root, name)]


def parts_of_forks(root: Root, name: str) -> list[Part]:
    """What forks read of the session in the folder of that name, as they say themselves; raises as `read_parts`."""
    parts: list[Part] = []
    for fork in session_names(root):
        with suppress(StoreDamagedError), root.open_folder("sessions", fork) as found:
            data = found.read(SESSION) if found else None
            fields = {} if data is None else own_session(data, fork, root.part("sessions", fork, SESSION))
            parts += [part for part in base_parts(fields.get("base")) if name_of(part["session"]) == name]
    return parts
