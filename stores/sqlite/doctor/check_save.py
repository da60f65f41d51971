"""A save's row of which one value changed beside what the save holds, found again as it was written.

What the save holds, and the save before it, say what else stands in its row; its checksum proves it, or, where that is
what changed, the next save's does, or the run's row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any

from stores import codec
from stores.errors import StoreError
from stores.sqlite.checksums import fetch, save_sum
from stores.sqlite.doctor.links import with_one_changed
from stores.sqlite.doctor.quarantine import copy_aside, set_aside
from stores.sqlite.logs import Piece, log_at, pieces
from stores.sqlite.moments import sets_with
from stores.sqlite.rows import RunRow
from stores.sqlite.saves import Saved

_ROW = "SELECT log, number, status, entries, CAST(data AS BLOB), sets, sum FROM lovia_saves WHERE rowid = ?"
_ROWS = (
    "SELECT rowid FROM lovia_saves WHERE number = :number"
    " OR (log = :log AND (typeof(number) != 'integer' OR number NOT BETWEEN 1 AND :number))"
    " ORDER BY log IS :log AND number IS :number DESC"
)
_AT = "SELECT number, status, entries, CAST(data AS BLOB), sets, sum FROM lovia_saves WHERE log = ? AND number = ?"


@dataclass(slots=True, frozen=True)
class Changed:
    """The row of that id is ``save`` of that ``log``."""

    rowid: int
    log: int
    save: Saved

    def put(self, connection: Connection) -> None:
        """Write it as it was. What stands in its place changes places with it, as far as it is of the same log."""
        one = self.save
        copy_aside(connection, "lovia_saves", "rowid = ?", self.rowid)
        there = fetch(connection, "SELECT log, number FROM lovia_saves WHERE rowid = ?", (self.rowid,))[0]
        at = "log = ? AND number = ? AND rowid != ?"
        place = (self.log, one.number, self.rowid)
        if there[0] != self.log:
            set_aside(connection, "lovia_saves", at, *place)
        elif rival := fetch(connection, f"SELECT rowid FROM lovia_saves WHERE {at}", place):
            move = "UPDATE lovia_saves SET number = ? WHERE rowid = ?"
            connection.execute(move, (-self.rowid, self.rowid))
            connection.execute(move, (there[1], rival[0][0]))
        query = "UPDATE lovia_saves SET log = ?, number = ?, status = ?, entries = ?, sets = ?, sum = ? WHERE rowid = ?"
        connection.execute(query, (self.log, one.number, one.status, one.entries, one.sets, one.sum, self.rowid))


def changed_save(connection: Connection, kept: RunRow, last: str) -> Changed | None:
    """The save behind the one that ``kept`` has been brought to, where its row, or one that stands elsewhere, is it but
    for one value. ``last`` is its checksum, if it is the newest and the run's row tells; None: there is none."""
    number = kept.save + 1
    with suppress(StoreError):
        found = pieces(connection, kept.run_id, kept.log, where="")
        place = _place(found, number)
        for (rowid,) in connection.execute(_ROWS, {"log": place.log, "number": number}).fetchall():
            (row,) = fetch(connection, _ROW, (rowid,))
            if row[0] != place.log and _is_at_home(connection, row):
                continue
            for log, *values in with_one_changed(row, _candidates(connection, kept, place.log, place.run_id, row)):
                save = Saved(place.run_id, *values)
                if log != place.log or not save.follows(number, kept.last):
                    continue
                if save.sum in (row[-1], last) or _is_followed(connection, found, save):
                    return Changed(rowid, log, save)
    return None


def _is_at_home(connection: Connection, row: tuple[Any, ...]) -> bool:
    """True when the save was written where it stands: another life of the run may begin with the same."""
    log, number, *values = row
    with suppress(StoreError):
        found = pieces(connection, run_id := log_at(connection, log, "", where="").run_id, log, where="")
        before = fetch(connection, _AT, (_place(found, number - 1).log, number - 1)) if number > 1 else [("",)]
        return any(Saved(run_id, number, *values).follows(number, one[-1]) for one in before)
    return False


def _candidates(
    connection: Connection, kept: RunRow, log: int, run_id: str, row: tuple[Any, ...]
) -> Iterator[list[Any]]:
    """Of each column, what stood in it. Of a row that stands elsewhere, its place is what changed."""
    number = kept.save + 1
    yield from ([log], [number])
    if row[:2] != (log, number):
        return
    with suppress(ValueError, TypeError, LookupError, AttributeError, StoreError):
        save = codec.decode_save(codec.loads(row[4]), where="", run_id=run_id)
        after = replace(kept)
        after.advance(save)
        yield from ([after.status], [after.entries], [])
        yield [None, sets_with(connection, after, save, where="")]
        yield [save_sum(kept.last, run_id, *row[1:-1])]


def _is_followed(connection: Connection, found: list[Piece], save: Saved) -> bool:
    """True when the next save was written after the one with that checksum."""
    place = _place(found, save.number + 1)
    rows = fetch(connection, _AT, (place.log, save.number + 1))
    return any(Saved(place.run_id, *row).follows(save.number + 1, save.sum) for row in rows)


def _place(found: list[Piece], number: int) -> Piece:
    """Where the run has, or should have, that save."""
    return next(piece for piece in found if number <= piece.last)
