"""What stands where a folder of the store belongs, and is none: a file, a link, a pipe.

Nothing of ours is in it, so it goes aside, and what is wrong is then the same as if the folder were missing. This comes
before every other rule: none of them has to know what else may stand there.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from stores.errors import StoreError
from stores.file.disk import write_error
from stores.file.doctor.problem import Problem, names_in
from stores.file.doctor.quarantine import set_aside
from stores.file.locks import ARCHIVED, OWNERS, RUNS, SESSIONS
from stores.file.names import FORKS, is_key, is_name
from stores.file.results import RESULTS
from stores.file.root import FOLDERS, Root

_INNER: dict[str, tuple[Callable[[str], bool], tuple[str, ...]]] = {
    "data": (is_key, (FORKS,)),
    "sessions": (is_name, ("open", FORKS)),
    RESULTS: (is_name, ()),
}
"""Folders of folders: which names in them are records', and what folders each of these may have."""

_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


_LEAVING = re.compile(r"quarantine\.[0-9a-f]{8}")


def is_leaving(name: str) -> bool:
    """True for what a repair that was killed was about to move from the place of the quarantine into it."""
    return _LEAVING.fullmatch(name) is not None


def problems_of_intruders(root: Root) -> list[Problem]:
    """Each of them, the outermost only; and what a repair was about to move, once it can be."""
    found = [problem for place in _places(root) if (problem := _look_at(root, place))]
    what = "what a repair was moving aside when it was killed"
    leaving = [name for name in _names(root) if is_leaving(name)]
    return [*found, *(Problem(root.part(name), what, partial(set_aside, root, name)) for name in leaving)]


def _places(root: Root) -> Iterator[tuple[str, ...]]:
    """Where folders of the store are, or would be; all else goes aside into the first."""
    yield ("quarantine",)
    yield from ((part,) for part in sorted(FOLDERS - {"quarantine"}))
    yield from (RUNS, SESSIONS, OWNERS, ARCHIVED)
    for part, (is_record, folders) in _INNER.items():
        for name in filter(is_record, _names(root, part)):
            yield part, name
            yield from ((part, name, folder) for folder in folders)


def _names(root: Root, *parts: str) -> list[str]:
    with suppress(StoreError):
        return names_in(root, *parts)
    return []


def _look_at(root: Root, place: tuple[str, ...]) -> Problem | None:
    """What is to be said of what stands there, unless that is a folder, or nothing."""
    if (kind := _kind_of(root.part(*place))) is None:
        return None
    outlook = "it can be moved aside, and the folder is then as one that is missing"
    mend = partial(_move_aside, root, place)
    return Problem(root.part(*place), f"{kind} in the place of a folder of the store", mend, outlook=outlook)


def _kind_of(path: str) -> str | None:
    """What is there; None for a folder, for nothing, and for what may not be looked at, of which its records tell."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISDIR(mode) else _KINDS.get(stat.S_IFMT(mode), "a device")


def _move_aside(root: Root, place: tuple[str, ...]) -> str:
    """Looked at once more: another repair may have been faster, and then a folder that is ours stands there."""
    if _kind_of(root.part(*place)) is None:
        return "it is gone"
    if place == ("quarantine",):
        return f"it was {_make_room(root)}"
    return f"it was {set_aside(root, *place) or 'gone'}"


def _make_room(root: Root) -> str | None:
    """Move what stands in the place of the quarantine into it. In between it has a name that tells of it."""
    name = f"quarantine.{os.urandom(4).hex()}"
    try:
        os.rename(root.part("quarantine"), root.part(name))
    except OSError as error:
        raise write_error(error, root.part("quarantine")) from error
    return set_aside(root, name)
