"""What may be wrong with data that no ref names, of a run that has another ref or never began."""

from __future__ import annotations

import os
from functools import partial

from stores.file.disk import TEMP, remove_folder
from stores.file.doctor.lost_refs import is_read_by_forks
from stores.file.doctor.problem import Problem, names_in
from stores.file.doctor.quarantine import complete_aside, set_aside
from stores.file.forking import release, shared_key
from stores.file.names import DROPPED, FORKS, name_of
from stores.file.root import Root
from stores.file.survey import DataFolder


def problems_of_orphan(root: Root, folder: DataFolder, folders: dict[str, DataFolder]) -> list[Problem]:
    """Everything that is wrong with the data folder, which no ref names; ``folders`` are all there are."""
    file = root.part("data", folder.key)
    aside = partial(set_aside, root, "data", folder.key)
    if folder.unreadable:
        return [Problem(folder.unreadable.where or file, folder.unreadable.message)]
    is_read = is_read_by_forks(root, folder.key, folders)
    if folder.is_dropped:
        what = "data of a run that is gone, kept for forks that are gone too"
        return [] if is_read else [Problem(file, what, partial(_follow, root, folder.key, folders), is_leftover=True)]
    if folder.tail == 0:
        what = "a crash cut off a run before it began"
        names = names_in(root, "data", folder.key)  # of a run that did not begin nothing else is left
        is_bare = all(name in (FORKS, DROPPED) or name.endswith(TEMP) for name in names)
        mend = partial(release, root, folder.key) if is_bare else aside
        return [] if folder.is_young else [Problem(file, what, mend, is_leftover=True)]
    if folder.run_id is None:
        return [Problem(file, "data of an unknown run: no part of it can be read", aside, is_lost=True)]
    has_ref = os.path.lexists(root.part("runs", f"{name_of(folder.run_id)}.json"))
    if has_ref and (is_read or folder.has_begun):
        what = f"a crash kept data of run {folder.run_id!r} from before it was made again"
        if is_read:
            return [Problem(file, f"{what}; forks read it", partial(release, root, folder.key), is_leftover=True)]
        return [Problem(file, what, aside, is_leftover=True)]
    what = f"a crash cut off run {folder.run_id!r} before it began"
    return [Problem(file, what, aside, is_leftover=True)]


def _follow(root: Root, key: str, folders: dict[str, DataFolder]) -> str:
    """Move the data aside, or what of it does not stand there already, and what only it reads.

    They were deleted, but a fork in quarantine may go on from them.
    """
    with root.open_folder("data", key) as folder:
        shared = shared_key(folder) if folder else None
    if place := complete_aside(root, "data", key):
        remove_folder(root.part("data", key), last=DROPPED)
        done = f"it stands in {place}"
    else:
        done = f"it was {set_aside(root, 'data', key) or 'gone'}"
    if shared and DROPPED in names_in(root, "data", shared) and not is_read_by_forks(root, shared, folders):
        _follow(root, shared, folders)
    return done
