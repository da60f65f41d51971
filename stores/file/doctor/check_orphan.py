"""What may be wrong with data that no ref names."""

from __future__ import annotations

import os
from functools import partial

from stores.errors import StoreError
from stores.file.disk import TEMP, remove_folder
from stores.file.doctor.lost_refs import lost_ref_of, read_fields
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import complete_aside, set_aside
from stores.file.forking import readers, release, shared_key
from stores.file.names import DROPPED, FORKS, name_of
from stores.file.root import Root
from stores.file.survey import DataFolder


def problems_of_orphan(root: Root, folder: DataFolder, folders: dict[str, DataFolder]) -> list[Problem]:
    """Everything that is wrong with the data folder, which no ref names; ``folders`` are all there are."""
    file = root.part("data", folder.key)
    aside = partial(set_aside, root, "data", folder.key)
    if folder.unreadable:
        return [Problem(folder.unreadable.where or file, folder.unreadable.message)]
    is_read = _is_read(root, folder.key, folders)
    if folder.is_dropped:
        what = "data of a run that is gone, kept for forks that are gone too"
        return [] if is_read else [Problem(file, what, partial(_follow, root, folder.key, folders), is_leftover=True)]
    if folder.tail == 0:
        what = "a crash cut off a run before it began"
        mend = partial(release, root, folder.key) if _is_bare(root, folder.key) else aside
        return [] if folder.is_young else [Problem(file, what, mend, is_leftover=True)]
    if folder.run_id is None:
        return [Problem(file, "data of an unknown run: no part of it can be read", aside, is_lost=True)]
    has_ref = _has_ref(root, folder.run_id)
    if folder.has_begun and not has_ref:
        mine = [one for one in folders.values() if one.run_id == folder.run_id and one.has_begun and not one.is_dropped]
        if folder is not mine[0]:
            return []  # the first one tells of all of them
        what = f"the ref of run {folder.run_id!r} is missing"
        if is_read:
            what += " (forks read its data: where the run was deleted, delete it again)"
        return [lost_ref_of(root, name_of(folder.run_id), file, what, mine)]
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
    with root.open_folder("data", shared or key) as base:
        follows = shared is not None and base is not None and DROPPED in base.names()
    if shared and follows and not _is_read(root, shared, folders):
        _follow(root, shared, folders)
    return done


def _is_read(root: Root, key: str, folders: dict[str, DataFolder]) -> bool:
    """True when a fork reads the data: it has a mark there, or says so itself and has lost it."""
    forks = [other.key for other in folders.values() if other.base == key]
    return bool(readers(root, key)) or any(os.path.isdir(root.part("data", fork)) for fork in forks)


def _is_bare(root: Root, key: str) -> bool:
    """True for a data folder that holds nothing but what a run leaves that did not begin."""
    with root.open_folder("data", key) as folder:
        names = folder.names() if folder else []
    return all(name in (FORKS, DROPPED) or name.endswith(TEMP) for name in names)


def _has_ref(root: Root, run_id: str) -> bool:
    try:
        read_fields(root, name_of(run_id))
    except FileNotFoundError:
        return False
    except StoreError:
        return True
    return True
