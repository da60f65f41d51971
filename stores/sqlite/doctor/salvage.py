"""A file whose pages are damaged: what can be read of it becomes a new file, and the old one stays beside it."""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stores.errors import StoreDamagedError, StoreError, StoreWriteError
from stores.sqlite.checksums import fetch
from stores.sqlite.connection import connect, create_file
from stores.sqlite.database import Database
from stores.sqlite.doctor.quarantine import QUARANTINE
from stores.sqlite.faults import converted
from stores.sqlite.folders import flush_folder
from stores.sqlite.results import RESULTS
from stores.sqlite.rows import RUNS, read_row
from stores.sqlite.schema import Part, version_of
from stores.sqlite.segments import SESSIONS

_TABLES = {
    RUNS: ("lovia_logs", "lovia_saves", "lovia_runs", "lovia_lines"),
    SESSIONS: ("lovia_sessions", "lovia_strands", "lovia_segments"),
    RESULTS: ("lovia_results",),
    QUARANTINE: ("lovia_quarantine",),
}


def can_salvage(database: Database) -> bool:
    """True when the file's table of contents can be read, and holds nothing but ours, and nothing of a newer lovia."""
    try:
        with closing(_open_damaged(database.path)) as source:
            names = _tables_of(source)
            for part in _TABLES:
                version_of(source, part, where=database.where)
    except (sqlite3.Error, StoreError):
        return False
    return bool(names) and all(name.startswith(("lovia_", "sqlite_")) for name in names)


def salvage(database: Database) -> str:
    """Make a new file of every row that can be read, keep the old one as ``NAME.damaged``, and change places.

    Says what that is called, and what could not be read.
    """
    fresh = _free(database.path, "salvaged")
    create_file(fresh)
    try:
        with converted(database.where):
            lost = _copy_all(database.path, fresh)
        database.close()
        kept = _keep_old(database.path)
        fresh.replace(database.path)
        flush_folder(database.path.parent)
    except OSError as error:
        raise StoreWriteError(f"cannot repair: {error.strerror}", where=database.where) from error
    finally:
        fresh.unlink(missing_ok=True)
    return f"what could be read is in a new file, the damaged one was moved aside to {kept.name}{lost}"


def damaged_copies(path: Path) -> set[str]:
    """The names of the damaged files that stand beside it."""
    return {found.name for found in path.parent.glob(f"{glob.escape(path.name)}.damaged*")}


def _copy_all(damaged: Path, fresh: Path) -> str:
    """Every row that can be read; what could not be is told, as the end of a sentence."""
    with closing(_open_damaged(damaged)) as source:
        names = _tables_of(source)
        target = Database(fresh)
        parts = {part: [table for table in tables if table in names] for part, tables in _TABLES.items()}
        parts = {part: tables for part, tables in parts.items() if tables}
        for part in parts:
            found = version_of(source, part, where=str(damaged)) or part.version
            with target.writing(Part(part.name, part.steps[:found])):  # an older one is migrated at its next open
                pass
        target.close()
        with closing(connect(fresh, busy_timeout=0)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")  # what lost its parent is mended afterwards
            connection.execute("BEGIN IMMEDIATE")
            source.text_factory = bytes  # to the last byte, be it text or not
            copied = {part: [_copy(source, connection, one) for one in tables] for part, tables in parts.items()}
            torn = [part for part, whole in copied.items() if not all(whole)]
            missing = _missing_sessions(connection) if SESSIONS in torn and RUNS in parts else []
            connection.execute("COMMIT")
    lost = f"; not all of the {' and the '.join(part.name for part in torn)} could be read" if torn else ""
    gone = (f"; nothing of session {name!r} could be read but its runs" for name in missing)
    return lost + "".join(gone)


def _missing_sessions(connection: sqlite3.Connection) -> list[str]:
    """The sessions that only runs name, of which no row is there. Their next run appends the completed ones (R7)."""
    query = (
        "SELECT session_id, run_id FROM lovia_runs WHERE session_id IS NOT NULL"
        " AND session_id NOT IN (SELECT session_id FROM lovia_sessions)"
        " AND session_id NOT IN (SELECT session_id FROM lovia_segments) ORDER BY session_id"
    )
    found = fetch(connection, query)
    for _, run_id in found:
        with suppress(StoreDamagedError):
            if row := read_row(connection, run_id, where=""):
                row.settled = 0
                row.update(connection, "settled")
    return list(dict.fromkeys(str(session_id) for session_id, _ in found))


def _tables_of(source: sqlite3.Connection) -> list[str]:
    return [name for (name,) in fetch(source, "SELECT name FROM sqlite_master WHERE type = 'table'")]


def _open_damaged(path: Path) -> sqlite3.Connection:
    """A connection that reads on where a page is missing; it undoes what a crash left in the journal first."""
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=rw", uri=True, isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")  # or SQLite refuses a file that is too short
    connection.execute("PRAGMA cell_size_check = OFF")
    return connection


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> bool:
    """Copy what can be read; True when that was all."""
    breaks: list[str] = []
    for names, row in _rows(source, table, breaks):
        marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, bytes) else "?" for value in row)
        with suppress(sqlite3.IntegrityError):  # read from both ends, or damaged so far that the table refuses it
            target.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", row)
    return not breaks


def _rows(source: sqlite3.Connection, table: str, breaks: list[str]) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
    """From the front to the first damaged page, and from the back to the last; ``breaks`` gets what was met there."""
    for order in ("ASC", "DESC"):
        try:
            found = source.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY rowid {order}")
            names = [column[0] for column in found.description]
            yield from ((names, row) for row in found)
            return
        except sqlite3.Error as error:
            breaks.append(str(error))  # not the error, which would keep the cursor, and the file open


def _keep_old(path: Path) -> Path:
    """Give the damaged file a second name, so that at no moment there is none of the first."""
    kept = _free(path, "damaged")
    os.link(path, kept)
    for journal in ("-journal", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + journal).rename(kept.with_name(kept.name + journal))
    flush_folder(path.parent)
    return kept


def _free(path: Path, word: str) -> Path:
    """A name beside the file that nothing has."""
    n = 0
    while True:
        n += 1
        found = path.with_name(f"{path.name}.{word}" + (f"-{n}" if n > 1 else ""))
        if not os.path.lexists(found):
            return found
