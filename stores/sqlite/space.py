"""Giving space back to the disk: what SQLite deletes leaves free pages in its file, for later writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from stores.errors import StoreBusyError, StoreWriteError
from stores.sqlite.database import Database

if TYPE_CHECKING:
    from sqlite3 import Connection

PATIENCE = 1.0
"""Seconds for which others are waited for. What was deleted is deleted, and nobody shall wait for the rest."""

_INCREMENTAL = 2


def give_back(database: Database) -> None:
    """Make the file as small as what is in it, as far as nobody is in the way; the next time does the rest.

    A file that we made shrinks page by page. An older one, or one that was copied by another tool, is written anew,
    once; not when other programs have tables in it, whose row numbers that could change.
    """
    with suppress(StoreBusyError, StoreWriteError), database.looking() as connection:
        if connection is None or not _pragma(connection, "freelist_count"):
            return
        with _impatient(connection, database.busy_timeout):
            if _pragma(connection, "auto_vacuum") == _INCREMENTAL:
                connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free one page: one a row
            elif _is_ours(connection):
                connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
                connection.execute("VACUUM")
            if _pragma(connection, "journal_mode") == "wal":
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@contextmanager
def _impatient(connection: Connection, busy_timeout: float) -> Iterator[None]:
    connection.execute(f"PRAGMA busy_timeout = {int(min(PATIENCE, busy_timeout) * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(busy_timeout * 1000)}")


def _is_ours(connection: Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE name NOT GLOB 'lovia_*' AND name NOT GLOB 'sqlite_*'"
    return connection.execute(query).fetchone() is None


def _pragma(connection: Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]
