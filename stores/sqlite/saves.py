"""A run's saves: one row each, inserted once and never changed.

A row's checksum covers the one before it, so that a row that is missing, or stands in another's place, is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from stores.errors import StoreDamagedError
from stores.folding import fold_records, save_info
from stores.records import RunSnapshot, SaveInfo
from stores.sqlite.checksums import checksum
from stores.sqlite.rows import RunRow

if TYPE_CHECKING:
    from sqlite3 import Connection

_BATCH = 20


@dataclass(slots=True, frozen=True)
class Saved:
    """One row. ``status`` and ``entries`` are those after it, ``data`` is what `codec.encode_save` wrote."""

    number: int
    status: str
    entries: int
    data: bytes
    sum: str

    def follows(self, number: int, before: str, run_id: str) -> bool:
        """True when it is save ``number`` of the run, as it was written after the save of checksum ``before``."""
        return self.number == number and self.sum == save_sum(
            before, run_id, number, self.status, self.entries, self.data
        )


def save_sum(before: str, run_id: str, number: int, status: str, entries: int, data: bytes) -> str:
    return checksum(before, run_id, number, status, entries, texts=(data,))


def new_log(connection: Connection, run_id: str) -> int:
    log = connection.execute("INSERT INTO lovia_logs (run_id) VALUES (?)", (run_id,)).lastrowid
    assert log is not None
    return log


def insert(connection: Connection, row: RunRow, data: bytes) -> None:
    """Store the save that ``row`` has just been brought to; ``row.last`` goes from the one before to it."""
    row.last = save_sum(row.last, row.run_id, row.save, row.status, row.entries, data)
    connection.execute(
        "INSERT INTO lovia_saves (log, number, status, entries, data, sum) VALUES (?, ?, ?, ?, ?, ?)",
        (row.log, row.save, row.status, row.entries, data.decode(), row.last),
    )


def read_snapshot(connection: Connection, row: RunRow, *, upto: int | None = None, where: str) -> RunSnapshot | None:
    """The run at its newest save, or at save ``upto``; None when that is not kept."""
    last = row.save if upto is None else upto
    if not 1 <= last <= row.save or (upto is not None and upto < first_kept(connection, row, where=where)):
        return None
    records = (record for _, record in read_saves(connection, row, 1, last, where=where))
    return fold_records(row.run_id, ((where, batch) for batch in iter(lambda: list(islice(records, _BATCH)), [])))


def read_history(connection: Connection, row: RunRow, limit: int | None, *, where: str) -> list[SaveInfo]:
    """The newest ``limit`` saves, or all, newest first."""
    if limit is not None and limit <= 0:
        return []
    kept = first_kept(connection, row, where=where)
    first = kept if limit is None else max(kept, row.save - limit + 1)
    saves = read_saves(connection, row, first, row.save, where=where)
    return [save_info(record, save.status, save.entries, where=where) for save, record in saves][::-1]


def first_kept(connection: Connection, row: RunRow, *, where: str) -> int:
    """The number of the first save that is history (H1)."""
    _, first = next(read_saves(connection, row, 1, 1, where=where))
    limit = (first.get("head") or {}).get("history_limit")
    return 1 if limit is None else max(1, row.save - limit + 1)


def read_saves(
    connection: Connection, row: RunRow, first: int, last: int, *, where: str
) -> Iterator[tuple[Saved, dict[str, Any]]]:
    """Saves ``first`` to ``last`` with their records, each checked against the one before it.

    The newest is checked against the run's row. Raises `StoreDamagedError` at the first that is not as written.
    """
    saves = _rows(connection, row, first - 1, last, where=where)
    before = ""
    if first > 1:
        predecessor = next(saves, None)
        before = predecessor.sum if predecessor else ""
    for number in range(first, last + 1):
        save = next(saves, None)
        if save is None or not save.follows(number, before, row.run_id):
            what = f"save {number} of run {row.run_id!r} is missing or not what was written"
            raise StoreDamagedError(what, where=where)
        before = save.sum
        yield save, orjson.loads(save.data)
    if last == row.save and before != row.last:
        raise StoreDamagedError(f"save {last} of run {row.run_id!r} is not the newest one", where=where)


def _rows(connection: Connection, row: RunRow, first: int, last: int, *, where: str) -> Iterator[Saved]:
    """The rows as they are, read as they are asked for: a long run is never in memory twice."""
    found = connection.execute(
        "SELECT number, status, entries, CAST(data AS BLOB), sum FROM lovia_saves "
        "WHERE log = ? AND number BETWEEN ? AND ? ORDER BY number",
        (row.log, first, last),
    )
    try:
        for values in found:
            yield Saved(*values)
    except connection.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
        raise StoreDamagedError(
            f"a save of run {row.run_id!r} is not what was written: {error}", where=where
        ) from error
