"""Every error that SQLite can raise, as one of ours: what happened, to which file, and what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from stores.errors import StoreBusyError, StoreDamagedError, StoreError, StoreWriteError

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGE = {
    sqlite3.SQLITE_CORRUPT: "the database is malformed",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_FORMAT: "the file is not a database",
    sqlite3.SQLITE_ERROR: "the database is not as it was made",
    sqlite3.SQLITE_CONSTRAINT: "the tables do not fit together",
    sqlite3.SQLITE_MISMATCH: "the tables do not fit together",
}
_NO_DATABASE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_NOT_WRITTEN = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some disk space, then run the same command again"),
    sqlite3.SQLITE_READONLY: (
        "the database is read-only",
        "make the file and its folder writable for this user, or choose another with --store",
    ),
    sqlite3.SQLITE_PERM: ("permission denied", "make the file writable for this user"),
    sqlite3.SQLITE_AUTH: ("permission denied", "make the file writable for this user"),
    sqlite3.SQLITE_CANTOPEN: (
        "the database or its journal cannot be opened",
        "make the file and its folder writable for this user, or choose another with --store",
    ),
    sqlite3.SQLITE_IOERR: ("the disk reported an error", "check the disk before you go on"),
    sqlite3.SQLITE_TOOBIG: ("a value is too large for SQLite", "store less in one entry"),
    sqlite3.SQLITE_NOLFS: ("the file system holds no files that large", "choose another with --store"),
}


@contextmanager
def converted(where: str) -> Iterator[None]:
    """A block in which SQLite works on the file ``where``; no error of its own leaves it."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(error, where) from error
    except UnicodeDecodeError as error:  # SQLite's own message, with damaged text in it
        raise StoreDamagedError(f"the database is malformed: {error}", where=where) from error


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None for an error of the Python module, such as text that is not UTF-8."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def store_error(error: sqlite3.Error, where: str) -> StoreError:
    """The error of ours that tells the same."""
    code = primary_code(error)
    if code in _BUSY:
        return StoreBusyError(
            "the database stayed locked by another process",
            where=where,
            hint="try again; in WAL mode nobody waits for a reader",
        )
    if code in _NOT_WRITTEN:
        what, hint = _NOT_WRITTEN[code]
        return StoreWriteError(f"{what} ({error})", where=where, hint=hint)
    if code is None or code in _DAMAGE:
        hint = "bring it back from a copy, or name another with --store" if code in _NO_DATABASE else ""
        what = _DAMAGE.get(code or 0, "a row cannot be read")
        return StoreDamagedError(f"{what}: {error}", where=where, hint=hint)
    return StoreError(f"SQLite could not do it: {error}", where=where, hint="run the same command again")
