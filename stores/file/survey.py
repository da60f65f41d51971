"""The data folders of a store, and those that belong to a run whose ref is gone.

A crash leaves a folder without a ref only before a run's second save: one with more has lost its ref to something else.
A fork and an import begin with several saves: there a note in the folder, which goes once the ref is there, tells so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from stores import codec
from stores.errors import StoreDamagedError, StoreError, StoreUnreadableError, StoreVersionError
from stores.file.locks import lock_path
from stores.file.names import BEGINNING, DROPPED, chunk_name, chunk_number, is_key, may_be_of, name_of
from stores.file.root import Root

YOUNG = 3600
"""Seconds for which a data folder without a chunk may belong to a run that begins right now."""


@dataclass(slots=True)
class DataFolder:
    """One folder under ``data``: the number of its last chunk, and whose, as far as its first whole chunk tells.

    ``has_begun``: a ref has named it, which a run's data with one save does not tell; saves that a fork's first chunk
    has from its source do not count. ``is_dropped``: only forks of the run read it.
    ``unreadable``: why it may hold more than that, which is well: it is not ours to read, or a newer lovia's.
    """

    key: str
    tail: int = 0
    run_id: str | None = None
    base: str | None = None
    has_begun: bool = False
    is_young: bool = False
    is_dropped: bool = False
    unreadable: StoreError | None = None

    @property
    def run_name(self) -> str | None:
        """The name of the run that a ref gives the data to; None where none may, or whose they are is not known."""
        return None if self.run_id is None or self.is_dropped else name_of(self.run_id)


def survey(root: Root, run_id: str | None = None) -> dict[str, DataFolder]:
    """All data folders by key, or those that may be the run's."""
    with root.open_folder("data") as data:
        keys = sorted(data.names()) if data else []
    return {key: look_into(root, key) for key in keys if is_key(key) and may_be_of(key, run_id)}


def look_into(root: Root, key: str) -> DataFolder:
    """The data folder of that name; a missing one is empty."""
    found = DataFolder(key)
    with _noted(found), root.open_folder("data", key) as folder:
        if folder is None:
            return found
        found.is_young = time.time() - os.fstat(folder.fd).st_mtime < YOUNG
        entries = folder.names()
        found.is_dropped = DROPPED in entries
        numbers = sorted(number for name in entries if (number := chunk_number(name)))
        found.tail, found.has_begun = max(numbers, default=0), len(numbers) > 1
        for name in map(chunk_name, numbers):
            with _noted(found), suppress(KeyError, TypeError):
                document = codec.decode(folder.read(name) or b"", "chunk", where=folder.where(name))
                found.run_id = str(document["id"])
                found.base = (document.get("base") or {}).get("key")
                saves = document["first"] + len(document["records"]) - document.get("own", 1)
                found.has_begun |= saves > 1 or ("own" in document and BEGINNING not in entries)
                break
    return found


def sources(folders: dict[str, DataFolder], key: str) -> int:
    """How many other data folders that one goes on from, one behind the other."""
    passed = [key]
    while (folder := folders.get(passed[-1])) and folder.base and folder.base not in passed:
        passed.append(folder.base)
    return len(passed) - 1


@contextmanager
def _noted(found: DataFolder) -> Iterator[None]:
    """A look at the folder that goes as far as it can."""
    try:
        yield
    except (StoreUnreadableError, StoreVersionError) as error:
        found.unreadable = error
    except StoreError:
        pass


def lost_data(root: Root, run_id: str) -> StoreError | None:
    """The error for a run without a ref whose data is there, or may be, and cannot be looked into.

    Only an id that was executed before costs a search, and that is one for a name: of other runs no data is read.
    """
    if not os.path.lexists(lock_path(root, run_id)):
        return None
    folders = list(survey(root, run_id).values())
    lost = (folder for folder in folders if folder.run_id == run_id and folder.has_begun and not folder.is_dropped)
    unread = (folder.unreadable for folder in folders if folder.unreadable and not folder.is_dropped)
    found = next((lost_ref(root, run_id, folder.key) for folder in lost), None) or next(unread, None)
    has_begun = os.path.lexists(root.part("runs", f"{name_of(run_id)}.json"))  # while it was searched for
    return None if has_begun else found


def lost_ref(root: Root, run_id: str, key: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"the ref of run {run_id!r} is missing, and its data is there", where=root.part("data", key)
    )
