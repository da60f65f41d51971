"""One SQLite file: the connection to it, the thread that uses it, and transactions on one part of its tables.

Reading creates nothing: a file that is not there, or holds nothing of ours, is empty. The first write makes both.
"""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stores.errors import StoreDamagedError, StoreError, UserError, out_of_reach
from stores.sqlite.owner import check_owner
from stores.sqlite.schema import Part, bring_up, version_of
from stores.worker import Worker

if TYPE_CHECKING:
    from sqlite3 import Connection

BUSY_TIMEOUT = 30.0
"""Seconds for which another's lock is waited for."""


_INHERITED: list[object] = []
"""Connections of the process that we were forked from. SQLite forbids to close them here, as forgetting them would."""


class Database:
    """A file that may or may not be there yet. All but its creation runs in ``worker``, one call at a time.

    ``wal=True`` makes it a WAL database at the first write; with False it stays what it is, and a new one has a
    rollback journal.
    """

    def __init__(self, path: str | Path, *, wal: bool = False, busy_timeout: float = BUSY_TIMEOUT) -> None:
        if str(path) in ("", ":memory:") or "\0" in str(path):
            hint = "give the path of a file, or use InMemorySession and InMemoryCheckpointer"
            raise UserError("an SQLite store is a file", where=repr(str(path)), hint=hint)
        self.path = Path(os.path.realpath(path))  # Path.resolve raises for links in a circle
        self.where = str(self.path)
        self.locks = self.path.with_name(f"{self.path.name}.locks")
        self.begun = self.locks / "begun"
        """There once the database held a run: an empty file is a new one for SQLite, be it an emptied one or not."""
        self.worker = Worker()
        self.busy_timeout = busy_timeout
        self._wal = wal
        self._open: Connection | None = None
        self._is_wal = False
        self._identity: tuple[int, ...] | None = None
        self._close: weakref.finalize[[], Database] | None = None

    @contextmanager
    def looking(self) -> Iterator[Connection | None]:
        """The connection, whatever the file holds; None when there is no file."""
        found = self._identify()
        if found is None:
            yield None
            return
        from stores.sqlite.faults import converted  # with it comes sqlite3, 15 ms

        with converted(self.where):
            yield self._connect(found)

    @contextmanager
    def reading(self, part: Part, *, migrate: bool = True) -> Iterator[Connection | None]:
        """A transaction that sees one moment of the part's tables; None when the file holds none.

        Without ``migrate`` an older version stays what it is in the file: it is migrated for this one look.
        """
        with self.looking() as connection:
            if connection is None:
                yield None
                return
            connection.execute("BEGIN")
            try:
                version = version_of(connection, part, where=self.where)
                if 0 < version < part.version:
                    connection.rollback()
                    if migrate:
                        self._migrate(part)
                    connection.execute("BEGIN" if migrate else "BEGIN IMMEDIATE")
                    bring_up(connection, part, where=self.where)  # when it was migrated, there is nothing to do
                yield connection if version else None
            finally:
                connection.rollback()

    def _migrate(self, part: Part) -> None:
        """Whoever opens an older version migrates it (D1)."""
        with self.writing(part):
            pass

    @contextmanager
    def writing(self, part: Part) -> Iterator[Connection]:
        """A transaction that alone writes. Its end is the commit, which is durable; an exception undoes all of it."""
        from stores.sqlite.connection import create_file, turn_wal_on
        from stores.sqlite.faults import converted

        found = self._identify()
        if found is None:
            with suppress(OSError):
                self.begun.unlink()
            create_file(self.path)
            found = self._identify() or ()
        with converted(self.where):
            connection = self._connect(found)
            if self._wal and not self._is_wal:
                turn_wal_on(connection, self.path, busy_timeout=self.busy_timeout)
                self._is_wal = True
            connection.execute("BEGIN IMMEDIATE")
            try:
                bring_up(connection, part, where=self.where)
                yield connection
                connection.commit()
            finally:
                connection.rollback()  # after a commit there is nothing to undo

    def _identify(self) -> tuple[int, ...] | None:
        """What tells this file, and this process, from any other; None when there is no file."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise out_of_reach(error, "the database cannot be reached", self.where) from error
        if not stat.S_ISREG(found.st_mode):
            raise StoreError("not a file", where=self.where, hint="give the path of a database file")
        check_owner(found, self.where)
        if not found.st_size and self.begun.exists():
            hint = f"bring it back from a copy; to begin anew, remove it and {self.locks}"
            raise StoreDamagedError("the database is empty, and was not before", where=self.where, hint=hint)
        return os.getpid(), found.st_dev, found.st_ino

    def _connect(self, found: tuple[int, ...]) -> Connection:
        """The connection to the file that is there now. One that was replaced is left, or all we write is lost."""
        if self._open is not None and self._identity == found:
            return self._open
        from stores.sqlite.connection import connect

        self.close()
        connection = connect(self.path, busy_timeout=self.busy_timeout)
        self._close = weakref.finalize(self, connection.close)
        self._open, self._identity, self._is_wal = connection, found, False
        return connection

    def close(self) -> None:
        """Leave the file. Whatever is asked next opens it again."""
        if self._close is not None and self._identity is not None:
            if self._identity[0] == os.getpid():
                self._close()
            else:
                _INHERITED.append(self._close.detach())
        self._open = self._close = self._identity = None
