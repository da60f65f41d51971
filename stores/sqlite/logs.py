"""Logs: the saves of one life of a run. A fork's log goes on from the one it was forked from, and copies none of it.

A log that forks go on from outlives its run: it is dropped, as far as it is shared, with the last of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch

if TYPE_CHECKING:
    from sqlite3 import Connection


@dataclass(slots=True, frozen=True)
class Piece:
    """The saves ``first`` to ``last`` of a run, which stand in ``log`` and were written by run ``run_id``."""

    log: int
    run_id: str
    first: int
    last: int


def new_log(connection: Connection, run_id: str, *, base: int | None = None, upto: int = 0) -> int:
    """A log for the run, which goes on behind save ``upto`` of the log ``base``, or is empty."""
    query = "INSERT INTO lovia_logs (run_id, base, upto) VALUES (?, ?, ?)"
    log = connection.execute(query, (run_id, base, upto)).lastrowid
    assert log is not None
    return log


def pieces(connection: Connection, run_id: str, log: int, *, where: str) -> list[Piece]:
    """Where the saves of the run with that log are, oldest first; the last piece is its own, and open at its end."""
    found: list[Piece] = []
    place: int | None = log
    name, last = run_id, sys.maxsize
    while place is not None:
        rows = fetch(connection, "SELECT run_id, base, upto FROM lovia_logs WHERE log = ?", (place,))
        writer, base, upto = rows[0] if rows else (run_id, None, 0)
        is_older = isinstance(base, int) and base < place and isinstance(upto, int)
        if not is_older and (base, upto) != (None, 0):
            raise StoreDamagedError(f"the log of run {run_id!r} is not what was written", where=where)
        found.insert(0, Piece(place, name if place == log else writer, upto + 1, last))
        place, last = base, min(last, upto)
    return found


def drop_log(connection: Connection, log: int) -> None:
    """The log's run is gone. The log goes with it, and what it went on from; but not what forks go on from."""
    place: int | None = log
    while place is not None:
        shared = connection.execute("SELECT max(upto) FROM lovia_logs WHERE base = ?", (place,)).fetchone()[0]
        if shared is not None:
            connection.execute("UPDATE lovia_logs SET dropped = 1 WHERE log = ?", (place,))
            connection.execute("DELETE FROM lovia_saves WHERE log = ? AND number > ?", (place, shared))
            return
        query = "SELECT b.log FROM lovia_logs l JOIN lovia_logs b ON b.log = l.base WHERE l.log = ? AND b.dropped = 1"
        base = connection.execute(query, (place,)).fetchone()
        connection.execute("DELETE FROM lovia_logs WHERE log = ?", (place,))
        place = base[0] if base else None
