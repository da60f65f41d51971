"""Where the doctor puts damaged rows: copied aside before anything is changed, since they may be all there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from stores import codec
from stores.entries import JSON
from stores.findings import Finding
from stores.sqlite.schema import Part

QUARANTINE = Part(
    "quarantine",
    (
        (
            "CREATE TABLE lovia_quarantine (id INTEGER PRIMARY KEY, at REAL NOT NULL, origin TEXT NOT NULL,"
            " why TEXT NOT NULL, row TEXT NOT NULL)",
        ),
    ),
)
"""``row`` is the damaged row as a JSON object; text that is not UTF-8 any more stands in it as ``{"hex": ...}``."""


ASIDE = "the table lovia_quarantine"


class Lost(str):
    """What was done with a record of which nothing could be kept."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is the matter, and how it is mended: None where nothing can, or need, be done.

    ``mend`` looks again, does what is needed then, in one transaction, and says what it has done; ``outlook`` is what
    it can do. ``run_id`` is the run whose lock it needs. ``is_leftover``: harmless, and nobody reads it.
    ``is_lost``: nothing of the record can be kept. ``hinges``: what is mended before it may tell what else can be kept.
    """

    what: str
    mend: Callable[[], str | None] | None = None
    run_id: str | None = None
    outlook: str = ""
    is_lost: bool = False
    is_leftover: bool = False
    hinges: bool = False

    def finding(self, file: str, done: str | None = None) -> Finding:
        """What the doctor reports, before it has ``done`` something or after: then what was done is what it tells."""
        more, is_lost = (self.outlook, self.is_lost) if done is None else (done, isinstance(done, Lost))
        if done is None and self.hinges:
            more, is_lost = f"{more}, unless what is mended before it tells more", False
        what = f"{self.what}; {more}" if more else self.what
        return Finding(file, what, self.mend is not None, self.is_leftover, is_lost)


def copy_aside(connection: Connection, table: str, condition: str, *values: Any, why: str = "it was damaged") -> None:
    """Copy the rows that meet the condition into the quarantine, to the last byte."""
    connection.text_factory = bytes
    try:
        found = connection.execute(f"SELECT * FROM {table} WHERE {condition}", values)
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, map(_readable, row), strict=True)) for row in found.fetchall()]
    finally:
        connection.text_factory = str
    connection.executemany(
        "INSERT INTO lovia_quarantine (at, origin, why, row) VALUES (?, ?, ?, ?)",
        [(time.time(), table, why, codec.dumps(row).decode()) for row in rows],
    )


def set_aside(connection: Connection, table: str, condition: str, *values: Any, why: str = "it was damaged") -> None:
    """Move the rows that meet the condition into the quarantine."""
    copy_aside(connection, table, condition, *values, why=why)
    connection.execute(f"DELETE FROM {table} WHERE {condition}", values)


def move_aside(connection: Connection, selected: str, *, aside: str) -> str:
    """Move what is selected, by a table and a condition, aside, in the transaction that is open, and say so."""
    table, _, condition = selected.partition(" WHERE ")
    set_aside(connection, table, condition, why="it was damaged, or nothing names it")
    return f"it was moved aside into {aside}"


def _readable(value: Any) -> JSON:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"hex": value.hex()}
