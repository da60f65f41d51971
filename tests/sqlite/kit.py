"""What the tests of the SQLite store share: stores filled with known records, and ways past the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from stores.conformance.checks import saved, write
from stores.conformance.samples import call, result, say
from stores.records import Save
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.segments import SESSIONS


def long_run(session_id: str | None = "s") -> list[Save]:
    """A run of four saves, stopped between a call and its end."""
    return [
        saved(1, say("hello"), session_id=session_id, agent="a", config={"model": "m"}),
        saved(2, call(1), step=1),
        saved(3, result(1), step=1, event="result", state={"n": 1}),
        saved(4, step=1, event="interrupted", status="interrupted"),
    ]


_FILLED: list[bytes] = []
"""The file that `fill` wrote first: the flushes of its fourteen commits take most of the time of a test."""


async def fill(path: Path) -> None:
    """Runs ``r`` and ``other``, sessions ``s`` and ``other`` of three segments each, beside what is there already."""
    is_new = not exists(path)
    if is_new and _FILLED:
        place(path, _FILLED[0])
        return
    for run_id in ("r", "other"):
        await write(SQLiteCheckpointer(path), run_id, *long_run())
    for session_id in ("s", "other"):
        for n in (1, 2, 3):
            await SQLiteSession(path).append(session_id, [say(f"segment {n}")], run_id=f"r{n}", meta={"n": n})
    if is_new:
        _FILLED.append(content(path))


def exists(path: Path) -> bool:
    return path.exists()


def place(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


def content(path: Path) -> bytes:
    return path.read_bytes()


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The database without the store."""
    with closing(sqlite3.connect(path)) as connection:
        yield connection
        connection.commit()


def change(path: Path, statement: str, *values: Any) -> None:
    """Write past the store; exactly one row is meant."""
    with raw(path) as connection:
        assert connection.execute(statement, values).rowcount == 1


def names(folder: Path) -> list[str]:
    """What is in the folder, sorted."""
    return sorted(found.name for found in folder.iterdir())


def runs_of_version_2(path: Path) -> None:
    """As the version before left the runs: their logs had no checksum."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        columns = "log, run_id, base, upto, dropped"
        connection.executescript(
            f"CREATE TABLE kept AS SELECT {columns} FROM lovia_logs; DROP TABLE lovia_logs;"
            "CREATE TABLE lovia_logs (log INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,"
            " base INTEGER REFERENCES lovia_logs (log), upto INTEGER NOT NULL DEFAULT 0,"
            " dropped INTEGER NOT NULL DEFAULT 0);"
            "CREATE INDEX lovia_logs_base ON lovia_logs (base) WHERE base IS NOT NULL;"
            f"INSERT INTO lovia_logs ({columns}) SELECT {columns} FROM kept; DROP TABLE kept;"
            "UPDATE lovia_schema SET version = 2 WHERE part = 'runs'"
        )


def sessions_of_version_2(path: Path) -> None:
    """As the version before left the sessions: their strands had no checksum."""
    columns = "strand, session_id, base, upto, shared, shared_entries, state"
    with raw(path) as connection:
        connection.execute("CREATE TABLE kept AS SELECT * FROM lovia_strands")
        connection.execute("DROP TABLE lovia_strands")
        for statement in SESSIONS.steps[1][:3]:
            connection.execute(statement)
        connection.execute(f"INSERT INTO lovia_strands ({columns}) SELECT {columns} FROM kept")
        connection.execute("DROP TABLE kept")
        connection.execute("UPDATE lovia_schema SET version = 2 WHERE part = 'sessions'")
