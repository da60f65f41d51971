"""The store's folder as a whole: whose it is, which format, and how its parts are opened.

Reading creates nothing: a store that is not there is empty. The first write makes it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stores import codec
from stores.errors import StoreDamagedError, StoreError, out_of_reach
from stores.file.disk import TEMP, Folder, check_owner, write_error
from stores.worker import Worker

STORE = "store.json"
IGNORE = ".gitignore"
FOLDERS = frozenset({"runs", "data", "sessions", "results", "locks", "cancel", "quarantine"})
"""The store's own. One of these names may be anybody's; a store that anything was written to has two."""
PASSING = frozenset({"locks", "cancel"})
"""Those whose files tell of living processes, and mean nothing after a power cut."""


class Root:
    """One ``.lovia`` folder. Nothing is opened before it is needed, and nothing stays open."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = os.path.abspath(path)
        self.worker = Worker()
        self.unused_sessions: set[str] = set()
        """Those whose locks were taken here for the first time ever: no run names them that began before."""
        self._create = create
        self._known = False
        self._overlooked: frozenset[str] = frozenset()

    def exists(self) -> bool:
        """True when the store is there and this user and this lovia may use it."""
        if self._known:
            return True
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            if os.path.islink(self.path):
                raise self._no_store("a link that leads nowhere") from None
            return False
        except OSError as error:
            raise out_of_reach(error, "the store cannot be read", self.path) from error
        if not stat.S_ISDIR(found.st_mode):
            raise self._no_store("no folder")
        check_owner(found, self.path)
        with self._open() as folder:
            data = folder.read(STORE)
            if data is None:
                if self._is_new(folder):
                    return False
                data = folder.read(STORE)  # another process may have made the store just now
            if data is None and len(FOLDERS.intersection(folder.names())) < 2:
                raise self._no_store(f"a folder without {STORE}, with other files in it")
            if data is None:
                raise StoreDamagedError(f"{STORE} is missing", where=folder.where(STORE))
            codec.decode(data, "store", where=folder.where(STORE))
        self._known = True
        return True

    def _no_store(self, what: str) -> StoreError:
        """What is at the path is not ours: nothing to repair, and nothing to write into."""
        return StoreError(f"this is no store: {what}", where=self.path, hint="choose another place with --store")

    def _open(self) -> Folder:
        """The root itself may be reached through a link; what is in it never is."""
        folder = Folder.open(os.path.realpath(self.path))
        if folder is None:
            raise StoreError("the store vanished", where=self.path)
        return folder

    @staticmethod
    def _is_new(folder: Folder) -> bool:
        """True for a folder that holds no more than a first write that was cut short."""
        return all(name == IGNORE or name.endswith(TEMP) for name in folder.names())

    def ensure(self) -> None:
        """Make the store, if there is none."""
        if self.exists():
            return
        if not self._create:
            raise StoreError("there is no store", where=self.path, hint="make one with: lovia init, or lovia run")
        for path in reversed(Path(self.path).parents):
            if not path.exists():
                Folder.make(str(path)).close()
        Folder.make(os.path.realpath(self.path)).close()
        with self._open() as folder:
            try:
                os.fchmod(folder.fd, 0o700)
            except OSError as error:
                raise write_error(error, self.path) from error
            folder.write(IGNORE, b"*\n")
            folder.write(STORE, codec.encode({"kind": "store"}))
        self._known = True

    def assume(self) -> None:
        """Go on as if the store's own file were in order: for the doctor, who makes it so."""
        self._known = True

    def overlook(self, paths: Iterable[str]) -> None:
        """Go on as if nothing stood there where folders are read: for the doctor, who has told of it."""
        self._overlooked = frozenset(paths)

    def part(self, *parts: str) -> str:
        """The path of a folder in the store."""
        return "/".join((self.path, *parts))

    @contextmanager
    def open_folder(self, *parts: str) -> Iterator[Folder | None]:
        """A folder of the store for reading, or None when it is not there."""
        is_there = self.exists() and not self.is_overlooked(*parts)
        path = self.part(*parts) if parts else os.path.realpath(self.path)  # as in `_open`
        folder = Folder.open(path) if is_there else None
        try:
            yield folder
        finally:
            if folder:
                folder.close()

    def is_overlooked(self, *parts: str) -> bool:
        """True for a place that is overlooked, and for one within it."""
        return any(self.part(*parts[:depth]) in self._overlooked for depth in range(1, len(parts) + 1))

    def make_folder(self, *parts: str) -> Folder:
        """A folder of the store for writing, made with all above it when missing. The caller closes it."""
        self.ensure()
        path = self.part(*parts)
        if not os.path.lexists(path):
            for depth in range(1, len(parts)):
                Folder.make(self.part(*parts[:depth])).close()
        return Folder.make(path, lasting=parts[0] not in PASSING)
