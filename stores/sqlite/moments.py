"""Where a run stood at one of its saves, found by reading few of them, however long the run (H2).

Every so many saves a save notes, for each field of the head, the number of the save that set it last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from stores import codec
from stores.entries import JSON
from stores.records import RunHead, Save, apply_head
from stores.sqlite.rows import RunRow, read_line
from stores.sqlite.saves import read_saves, save_at

if TYPE_CHECKING:
    from sqlite3 import Connection

EVERY = 32


def sets_with(connection: Connection, row: RunRow, save: Save, *, where: str) -> str | None:
    """What ``save`` notes, to which ``row`` has been brought and which is not stored yet; None: it is not its turn."""
    if row.save % EVERY:
        return None
    sets, first = _noted(connection, row, row.save - EVERY, where=where)
    for saved, record in read_saves(connection, row, first, row.save - 1, where=where):
        sets |= dict.fromkeys(record.get("head") or {}, saved.number)
    sets |= dict.fromkeys(save.head, row.save)
    return orjson.dumps(sets).decode()


def _noted(connection: Connection, row: RunRow, number: int, *, where: str) -> tuple[dict[str, int], int]:
    """What save ``number`` notes, and the number behind it; where it notes nothing, nothing, and the first save's."""
    if number > 0:
        sets = save_at(connection, row, number, where=where)[0].sets
        if sets is not None:
            return codec.loads(sets), number + 1
    return {}, 1


def head_at(connection: Connection, row: RunRow, number: int, *, where: str) -> RunHead:
    """The run's head at that save, which it has."""
    sets, first = _noted(connection, row, number - number % EVERY, where=where)
    fields: dict[str, JSON] = {}
    for place in set(sets.values()):
        there = save_at(connection, row, place, where=where)[1]["head"]
        fields |= {name: there[name] for name, found in sets.items() if found == place}
    for _, record in read_saves(connection, row, first, number, where=where):
        fields |= record.get("head") or {}
    _, record = save_at(connection, row, number, where=where)
    head = RunHead()
    apply_head(head, Save(number=number, step=record["step"], at=record["at"], event="", head=fields))
    return head


def first_kept(connection: Connection, row: RunRow, *, where: str) -> int:
    """The number of the first save that is history (H1)."""
    limit = read_line(connection, row.run_id, where=where).get("history_limit")
    return 1 if limit is None else max(1, row.save - limit + 1)


def moment(connection: Connection, row: RunRow, *, step: int | None, save: int | None, where: str) -> RunHead | None:
    """The head at that save, or at the newest save of that step; None when the history has not got it."""
    number = row.save if save is None else save
    if step is not None:
        number = min(number, _newest_of(connection, row, step, where=where))
    if not first_kept(connection, row, where=where) <= number <= row.save:
        return None
    head = head_at(connection, row, number, where=where)
    return head if step in (None, head.steps) else None


def _newest_of(connection: Connection, row: RunRow, step: int, *, where: str) -> int:
    """The number of the last save that stands in that step or before it; 0 when there is none."""
    low, high = 0, row.save
    while low < high:
        middle = (low + high + 1) // 2
        record: dict[str, Any] = save_at(connection, row, middle, where=where)[1]
        low, high = (middle, high) if record["step"] <= step else (low, middle - 1)
    return low
