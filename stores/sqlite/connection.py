"""One connection, set up so that what is committed is on the disk.

With a rollback journal SQLite's default loses the last commits at a power cut, because it does not flush the folder
after it has removed the journal: ``synchronous=EXTRA`` does. In WAL mode FULL flushes the log at every commit.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path
from urllib.parse import quote

from stores.errors import StoreError, StoreWriteError
from stores.sqlite.faults import converted, primary_code
from stores.sqlite.folders import flush_folder, make_folder
from stores.sqlite.owner import check_journals

_PAUSE = 0.02

_FILES = threading.Lock()
"""Closing any descriptor of a file drops all locks that this process has on it: nobody connects meanwhile."""


def create_file(path: Path) -> None:
    """An empty database that only its user may read, journals included, whatever the umask; there already: nothing.

    Folders above it are made, for this user alone, when they are missing.
    """
    try:
        make_folder(path.parent)
        with _FILES:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(file, 0o600)
            finally:
                os.close(file)
        flush_folder(path.parent)
    except FileExistsError:
        return
    except OSError as error:
        hint = "make its folder writable for this user, or choose another place with --store"
        raise StoreWriteError(f"cannot create the database: {error.strerror}", where=str(path), hint=hint) from error


def connect(path: Path, *, busy_timeout: float) -> sqlite3.Connection:
    """A connection to a file that is there, in autocommit mode: whoever uses it begins and ends transactions."""
    check_journals(path)
    uri = f"file:{quote(os.fsencode(path))}?mode=rw"  # rw: it does not create the file
    with converted(str(path)):
        with _FILES:
            # Its store's one thread uses it, but the end of the process may close it from another.
            connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, timeout=busy_timeout, check_same_thread=False
            )
        try:
            for pragma in ("foreign_keys = ON", "cell_size_check = ON", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                connection.execute(f"PRAGMA {pragma}")
            if not path.stat().st_size:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that a new file can shrink again
            _flush_as_needed(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def turn_wal_on(connection: sqlite3.Connection, path: Path, *, busy_timeout: float) -> None:
    """Make it a WAL database, which it stays for all who open it."""
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait here: two connections would wait for ever
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
    if mode != "wal":
        hint = "open it with wal=False, or put it on a local disk"
        raise StoreError("the database cannot be turned to WAL mode here", where=str(path), hint=hint)
    _flush_as_needed(connection)


def _flush_as_needed(connection: sqlite3.Connection) -> None:
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
