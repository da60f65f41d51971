"""Logs: the saves of one life of a run. A fork's log goes on from the one it was forked from, and copies none of it.

A log that forks go on from outlives its run: it is dropped, as far as it is shared, with the last of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import checksum, fetch, put

if TYPE_CHECKING:
    from sqlite3 import Connection


@dataclass(slots=True, frozen=True)
class Log:
    """The saves that run ``run_id`` wrote behind save ``upto`` of the log ``base``; ``dropped`` (1, else 0) when no run
    has it any more."""

    number: int
    run_id: str
    base: int | None = None
    upto: int = 0
    dropped: int = 0

    @property
    def _values(self) -> tuple[object, ...]:
        return self.number, self.run_id, self.base, self.upto, self.dropped

    @property
    def sum(self) -> str:
        """Over all of it."""
        return checksum(*self._values)

    @property
    def whose(self) -> str:
        """The run that wrote it, for messages."""
        return f"run {self.run_id!r}"

    def put(self, connection: Connection) -> None:
        """Write its row, or write it again."""
        put(connection, "lovia_logs", COLUMNS, self._values)


@dataclass(slots=True, frozen=True)
class Piece:
    """The saves ``first`` to ``last`` of a run, which stand in ``log`` and were written by run ``run_id``."""

    log: int
    run_id: str
    first: int
    last: int


COLUMNS = "log, run_id, base, upto, dropped, sum"
_SELECT = f"SELECT {COLUMNS} FROM lovia_logs"


def as_written(row: tuple[Any, ...]) -> Log | None:
    """A row of `COLUMNS` as the log that was written; None when it is not what was."""
    log = Log(*row[:-1])
    return log if log.sum == row[-1] else None


def log_at(connection: Connection, number: int, run_id: str, *, where: str) -> Log:
    """The log of that number, checked, which run ``run_id`` needs."""
    found = fetch(connection, f"{_SELECT} WHERE log = ?", (number,))
    log = as_written(found[0]) if found else None
    if log is None:
        what = (
            f"the row of log {number}, which run {run_id!r} needs, is {'not what was written' if found else 'missing'}"
        )
        raise StoreDamagedError(what, where=where)
    return log


def new_log(connection: Connection, run_id: str, *, base: int | None = None, upto: int = 0) -> int:
    """A log for the run, which goes on behind save ``upto`` of the log ``base``, or is empty."""
    number = connection.execute("INSERT INTO lovia_logs (run_id) VALUES (?)", (run_id,)).lastrowid
    assert number is not None
    Log(number, run_id, base, upto).put(connection)
    return number


def pieces(connection: Connection, run_id: str, log: int, *, where: str) -> list[Piece]:
    """Where the saves of the run with that log are, oldest first; the last piece is its own, and open at its end."""
    found: list[Piece] = []
    place: int | None = log
    last = sys.maxsize
    while place is not None:
        one = log_at(connection, place, run_id, where=where)
        if one.base is not None and one.base >= place:
            raise StoreDamagedError(f"log {place}, which run {run_id!r} needs, goes on from a later one", where=where)
        found.insert(0, Piece(place, run_id if place == log else one.run_id, one.upto + 1, last))
        place, last = one.base, min(last, one.upto)
    return found


def readers(connection: Connection, number: int) -> list[Log] | None:
    """The logs that go on from that one; None when it cannot be told: then nothing of the log may go."""
    found = forks(connection)
    return None if found is None else found.get(number, [])


def forks(connection: Connection) -> dict[int | None, list[Log]] | None:
    """The logs that go on from others, by these; None when it cannot be told, since a row that may be one is damaged
    or missing."""
    found: dict[int | None, list[Log]] = {}
    for row in fetch(connection, f"{_SELECT} WHERE base IS NOT NULL OR upto != 0"):
        log = as_written(row)
        if log is None:
            return None
        found.setdefault(log.base, []).append(log)
    return None if _is_any_missing(connection) else found


def _is_any_missing(connection: Connection) -> bool:
    """True when a log has no row that a run's row or another log names."""
    query = "SELECT 1 FROM {} NOT IN (SELECT log FROM lovia_logs) LIMIT 1"
    named = ("lovia_runs WHERE log", "lovia_logs WHERE base")
    return any(fetch(connection, query.format(one)) for one in named)


def drop_log(connection: Connection, number: int, run_id: str, *, where: str) -> None:
    """The log's run ``run_id`` is gone. The log goes with it, and what it went on from; but not what forks go on from,
    or may: while that cannot be told, all of it stays."""
    log: Log | None = log_at(connection, number, run_id, where=where)
    while log is not None:
        found = readers(connection, log.number)
        if found != []:
            replace(log, dropped=1).put(connection)
            if found:
                last = max(reader.upto for reader in found)
                connection.execute("DELETE FROM lovia_saves WHERE log = ? AND number > ?", (log.number, last))
            return
        connection.execute("DELETE FROM lovia_logs WHERE log = ?", (log.number,))
        base = fetch(connection, f"{_SELECT} WHERE log = ?", (log.base,))
        log = as_written(base[0]) if base else None
        log = log if log and log.dropped else None
