"""One thing that is wrong with the store: what the doctor says of it, and how it is mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from stores.entries import UnknownEntryError
from stores.errors import StoreError, StoreUnreadableError, StoreVersionError
from stores.file.disk import TEMP, Folder
from stores.file.doctor.quarantine import set_aside
from stores.file.root import Root
from stores.findings import Finding

NO_DAMAGE = (StoreUnreadableError, StoreVersionError, UnknownEntryError)
"""What this user may not read, or a newer lovia wrote: it is reported, and left where it is."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding and how to mend it; ``mend`` is None where nothing can, or need, be done.

    ``outlook`` is what mending can do; ``mend`` itself says what it has done, where that is worth a word.
    ``is_lost``: nothing of the record can be kept. ``is_batch``: those of one look are mended in their order, without
    another look in between.
    """

    file: str
    what: str
    mend: Callable[[], str | None] | None = None
    is_leftover: bool = False
    outlook: str = ""
    is_lost: bool = False
    is_batch: bool = False

    def finding(self, done: str | None = None) -> Finding:
        """What the doctor reports, before it has ``done`` something or after."""
        more = done or self.outlook
        what = f"{self.what}; {more}" if more else self.what
        return Finding(self.file, what, self.mend is not None, self.is_leftover, self.is_lost)


def names_in(root: Root, *parts: str) -> list[str]:
    """What is in that folder, sorted; nothing where it is missing."""
    with root.open_folder(*parts) as folder:
        return sorted(folder.names()) if folder else []


def told(error: StoreError, file: str, mend: Callable[[], str | None] | None = None) -> Problem:
    """The error as a problem of that file, unless it names another; what is no damage is not mended."""
    return Problem(error.where or file, error.message, None if isinstance(error, NO_DAMAGE) else mend)


def leftover(root: Root, what: str, *parts: str) -> Problem:
    """A file that a crash has left and nobody reads: it is removed."""
    return Problem(root.part(*parts), what, partial(_remove, root, *parts), is_leftover=True)


def _remove(root: Root, *parts: str) -> None:
    with root.make_folder(*parts[:-1]) as folder:
        folder.unlink(parts[-1])
        folder.sync()


def unfinished_write(root: Root, *parts: str) -> Problem:
    return leftover(root, "an unfinished write of a process that was killed", *parts)


def stranger(file: str) -> Problem:
    return Problem(file, "not a file of this store; it is left alone")


def problems_of_files(root: Root, *parts: str, look: Callable[[Folder, str], Problem | None]) -> list[Problem]:
    """What is wrong in a folder of records: what a ``look`` at each one tells, or raises, and what else there is.

    Damaged records go aside. Unfinished writes are removed, so the lock under which they are made must be held then.
    """
    problems: list[Problem | None] = []
    with root.open_folder(*parts) as folder:
        if folder is None:
            return []
        for name in sorted(folder.names()):
            file = (*parts, name)
            if name.endswith(TEMP):
                problems.append(unfinished_write(root, *file))
            elif not name.endswith(".json"):
                problems.append(stranger(root.part(*file)))
            else:
                try:
                    problems.append(look(folder, name))
                except StoreError as error:
                    problems.append(told(error, root.part(*file), partial(set_aside, root, *file)))
    return [problem for problem in problems if problem]
