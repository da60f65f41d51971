"""A run's saves: one row each, inserted once and never changed.

A row's checksum covers the one before it, so that a row that is missing, or stands in another's place, is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from stores.errors import StoreDamagedError
from stores.folding import fold_records, save_info
from stores.records import RunSnapshot, SaveInfo
from stores.sqlite.checksums import checksum
from stores.sqlite.rows import RunRow

if TYPE_CHECKING:
    from sqlite3 import Connection


@dataclass(slots=True, frozen=True)
class Saved:
    """One row. ``status`` and ``entries`` are those after it, ``data`` is what `codec.encode_save` wrote."""

    number: int
    status: str
    entries: int
    data: str
    sum: str

    def follows(self, number: int, before: str, run_id: str) -> bool:
        """True when it is save ``number`` of the run, as it was written after the save of checksum ``before``."""
        return self.number == number and self.sum == save_sum(
            before, run_id, number, self.status, self.entries, self.data
        )


def save_sum(before: str, run_id: str, number: int, status: str, entries: int, data: str) -> str:
    return checksum(before, run_id, number, status, entries, data)


def new_log(connection: Connection, run_id: str) -> int:
    log = connection.execute("INSERT INTO lovia_logs (run_id) VALUES (?)", (run_id,)).lastrowid
    assert log is not None
    return log


def insert(connection: Connection, row: RunRow, data: str) -> None:
    """Store the save that ``row`` has just been brought to; ``row.last`` goes from the one before to it."""
    row.last = save_sum(row.last, row.run_id, row.save, row.status, row.entries, data)
    connection.execute(
        "INSERT INTO lovia_saves (log, number, status, entries, data, sum) VALUES (?, ?, ?, ?, ?, ?)",
        (row.log, row.save, row.status, row.entries, data, row.last),
    )


def read_snapshot(connection: Connection, row: RunRow, *, upto: int | None = None, where: str) -> RunSnapshot | None:
    """The run at its newest save, or at save ``upto``; None when that is not kept."""
    last = row.save if upto is None else upto
    if not 1 <= last <= row.save:
        return None
    saves = _read(connection, row, 1, last, where=where)
    return fold_records(row.run_id, [(where, [_record(row, save, where=where) for save in saves])])


def read_history(connection: Connection, row: RunRow, limit: int | None, *, where: str) -> list[SaveInfo]:
    """The newest ``limit`` saves, or all, newest first."""
    if limit is not None and limit <= 0:
        return []
    first = 1 if limit is None else max(1, row.save - limit + 1)
    saves = _read(connection, row, first, row.save, where=where)
    rows = [save_info(_record(row, save, where=where), save.status, save.entries, where=where) for save in saves]
    return rows[::-1]


def _read(connection: Connection, row: RunRow, first: int, last: int, *, where: str) -> list[Saved]:
    """Saves ``first`` to ``last``, each checked against the one before it, the newest against the run's row."""
    found = connection.execute(
        "SELECT number, status, entries, data, sum FROM lovia_saves WHERE log = ? AND number BETWEEN ? AND ? "
        "ORDER BY number",
        (row.log, first - 1, last),
    ).fetchall()
    saves = [Saved(*values) for values in found]
    before = saves.pop(0).sum if first > 1 and saves and saves[0].number == first - 1 else ""
    for number in range(first, last + 1):
        save = saves[number - first] if number - first < len(saves) else None
        if save is None or not save.follows(number, before, row.run_id):
            raise StoreDamagedError(
                f"save {number} of run {row.run_id!r} is missing or not what was written", where=where
            )
        before = save.sum
    if last == row.save and before != row.last:
        raise StoreDamagedError(f"save {last} of run {row.run_id!r} is not the newest one", where=where)
    return saves


def _record(row: RunRow, save: Saved, *, where: str) -> dict[str, Any]:
    record = orjson.loads(save.data)
    if not isinstance(record, dict):
        raise StoreDamagedError(f"save {save.number} of run {row.run_id!r} is no save", where=where)
    return record
