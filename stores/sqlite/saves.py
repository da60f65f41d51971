"""A run's saves: one row each, inserted once and never changed.

A row's checksum covers the one before it, so that a row that is missing, or stands in another's place, is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from stores import codec
from stores.errors import StoreDamagedError
from stores.folding import fold_records, save_info
from stores.lines import SaveInfo
from stores.records import RunSnapshot
from stores.sqlite.checksums import fetch, save_sum
from stores.sqlite.logs import pieces
from stores.sqlite.rows import RunRow

if TYPE_CHECKING:
    from sqlite3 import Connection

_BATCH = 20


@dataclass(slots=True, frozen=True)
class Saved:
    """One row. ``status`` and ``entries`` are those after it, ``data`` is what `codec.encode_save` wrote.

    ``run_id`` is the run that wrote it: a fork has saves of the run it was forked from.
    """

    run_id: str
    number: int
    status: str
    entries: int
    data: bytes
    sets: str | None
    sum: str

    def follows(self, number: int, before: str) -> bool:
        """True when it is save ``number``, as it was written after the save of checksum ``before``."""
        place = (before, self.run_id, number, self.status, self.entries)
        return self.number == number and self.sum == save_sum(*place, self.data, self.sets)


def insert(connection: Connection, row: RunRow, data: bytes, sets: str | None) -> None:
    """Store the save that ``row`` has just been brought to; ``row.last`` goes from the one before to it."""
    row.last = save_sum(row.last, row.run_id, row.save, row.status, row.entries, data, sets)
    connection.execute(
        "INSERT INTO lovia_saves (log, number, status, entries, data, sets, sum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row.log, row.save, row.status, row.entries, data.decode(), sets, row.last),
    )


def read_snapshot(connection: Connection, row: RunRow, *, upto: int | None = None, where: str) -> RunSnapshot:
    """The run at its newest save, or at save ``upto``, which it has."""
    last = row.save if upto is None else upto
    records = (record for _, record in read_saves(connection, row, 1, last, where=where))
    batches = ((where, batch) for batch in iter(lambda: list(islice(records, _BATCH)), []))
    snapshot = fold_records(row.run_id, batches)
    assert snapshot is not None  # there is no run without a save
    return snapshot


def read_history(connection: Connection, row: RunRow, first: int, *, where: str) -> list[SaveInfo]:
    """The saves from number ``first`` on, newest first."""
    saves = read_saves(connection, row, first, row.save, where=where)
    return [save_info(record, save.status, save.entries, where=where) for save, record in saves][::-1]


def save_at(connection: Connection, row: RunRow, number: int, *, where: str) -> tuple[Saved, dict[str, Any]]:
    """One save with its record, checked."""
    [found] = read_saves(connection, row, number, number, where=where)
    return found


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
        if save is None or not save.follows(number, before):
            what = f"save {number} of run {row.run_id!r} is missing or not what was written"
            raise StoreDamagedError(what, where=where)
        before = save.sum
        yield save, codec.loads(save.data)
    if last == row.save and before != row.last:
        raise StoreDamagedError(f"save {last} of run {row.run_id!r} is not the newest one", where=where)


def _rows(connection: Connection, row: RunRow, first: int, last: int, *, where: str) -> Iterator[Saved]:
    """The rows as they are, a few at a time: a long run is never in memory twice.

    Each few are a query that is read to its end. Whoever stops in between would leave a cursor open behind him, and
    with it, for as long as anybody keeps the error, a lock that no writer gets past.
    """
    query = (
        "SELECT number, status, entries, CAST(data AS BLOB), sets, sum FROM lovia_saves"
        f" WHERE log = ? AND number > ? AND number <= ? ORDER BY number LIMIT {_BATCH}"
    )
    for piece in pieces(connection, row.run_id, row.log, where=where):
        place, end = max(first, piece.first) - 1, min(last, piece.last)
        while place < end and (found := fetch(connection, query, (piece.log, place, end))):
            yield from (Saved(piece.run_id, *values) for values in found)
            place = found[-1][0]
