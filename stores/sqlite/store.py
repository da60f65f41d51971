"""One SQLite file as a whole."""

from __future__ import annotations

from pathlib import Path

from stores.sqlite.database import BUSY_TIMEOUT, Database
from stores.sqlite.results import SQLiteResultStore
from stores.sqlite.runs import SQLiteCheckpointer
from stores.sqlite.sessions import SQLiteSession


class SQLiteStore:
    """Sessions, runs and archived outputs in one file, with one connection and one thread.

    Nothing is read or written before it is asked for, and reading makes nothing: a file that is not there is empty.
    ``wal=True`` turns the file to WAL mode at the first write; with False it stays what it is. Another process's lock
    is waited for ``busy_timeout`` seconds, and then it is a `StoreBusyError`.
    """

    def __init__(self, path: str | Path, *, wal: bool = False, busy_timeout: float = BUSY_TIMEOUT) -> None:
        database = Database(path, wal=wal, busy_timeout=busy_timeout)
        self.path = database.path
        self.session = SQLiteSession(database)
        self.checkpointer = SQLiteCheckpointer(database)
        self.results = SQLiteResultStore(database)
