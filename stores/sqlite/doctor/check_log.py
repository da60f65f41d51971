"""What may be wrong with the rows that say which saves a log goes on from, and how they are put right.

A row of which one value changed is found again by its checksum. Of any other, the first save of its log tells: it
covers the save before it and the run that wrote it, so of all that the row could have said, one thing fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.naming import known_runs, names_of, near, owners
from stores.sqlite.doctor.quarantine import copy_aside, set_aside
from stores.sqlite.logs import COLUMNS, Log, as_written, readers
from stores.sqlite.sealing import is_proven

if TYPE_CHECKING:
    from sqlite3 import Connection

_WHY = "it was damaged"
_NOBODY = "nobody reads it"
_MOST = 100_000
"""How much is tried for one row, at the most: a second's work or a few."""

_ROWS = f"SELECT {COLUMNS} FROM lovia_logs"
_FIRST = "SELECT min(number) FROM lovia_saves WHERE log = ? AND typeof(number) = 'integer'"


@dataclass(slots=True, frozen=True)
class Diagnosis:
    """What is wrong with the row of log ``number``, and what can be written in its place, told by ``how``.

    None: nothing needs it. ``row`` is what is there. ``doubt`` is what cannot be told.
    """

    number: Any
    what: str
    restored: Log | None = None
    how: str = ""
    row: tuple[Any, ...] | None = None
    doubt: str = ""

    @property
    def run_id(self) -> str | None:
        """The run that has the log, and may be executed just now."""
        return self.restored.run_id if self.restored and not self.restored.dropped else None

    @property
    def outlook(self) -> str:
        """What mending can do."""
        again = f"it can be made again {self.how}{self.doubt}"
        return again if self.restored else "nothing needs it, and it would go aside"

    def done(self, aside: str) -> str:
        """What mending has done; what stood there is in ``aside``."""
        if self.restored is None:
            return f"nothing needs it: it was moved aside into {aside}"
        moved = f"; what was there was moved aside into {aside}" if self.row else ""
        return f"it was made again {self.how}, for run {self.restored.run_id!r}{self.doubt}{moved}"


def examine(connection: Connection, *, only: object = None, where: str) -> Iterator[Diagnosis]:
    """Every row that is damaged or missing, in the order of their numbers: a log goes on from an older one.

    With ``only`` no other is looked for in vain.
    """
    rows = fetch(connection, _ROWS)
    faults: list[tuple[Any, tuple[Any, ...] | None]] = [(row[0], row) for row in rows if not as_written(row)]
    live = owners(connection, where=where)
    missing = _missing(connection, rows, live)
    found = [_told(connection, number, row, live, missing) for number, row in faults if only is None or number == only]
    moved = {one.restored.number for one in found if one.restored}
    for number in missing:
        if number not in moved and only in (None, number):
            found.append(_told(connection, number, None, live, missing))
    yield from sorted(found, key=lambda one: one.restored.number if one.restored else one.number)


def mend(connection: Connection, number: object, *, aside: str, where: str) -> str | None:
    """Put the row right, in the transaction that is open, and say what was done."""
    found = next((one for one in examine(connection, only=number, where=where) if one.number == number), None)
    if found is None:
        return None
    copy_aside(connection, "lovia_logs", _WHY, "log = ?", number)
    if found.restored is None or found.restored.number != number:
        connection.execute("DELETE FROM lovia_logs WHERE log = ?", (number,))
    if found.restored is not None:
        found.restored.put(connection)
    return found.done(aside)


def _missing(connection: Connection, rows: list[tuple[Any, ...]], live: dict[int, str]) -> list[int]:
    """The logs that a run's row or another log names, and that have no row."""
    present = {row[0] for row in rows}
    bases = {log.base for row in rows if (log := as_written(row)) and log.base is not None}
    query = "SELECT log FROM lovia_runs WHERE typeof(log) = 'integer' AND log IN (SELECT log FROM lovia_saves)"
    return sorted({*live, *bases, *(log for (log,) in fetch(connection, query))} - present)


def _told(
    connection: Connection, number: int, row: tuple[Any, ...] | None, live: dict[int, str], missing: list[int]
) -> Diagnosis:
    names = list(names_of(connection, number, row, live))
    of = f", of run {names[0]!r}," if names else ""
    what = f"the row of log {number}{of} is {'not what was written' if row else 'missing'}"
    if row and (written := _by_sum(connection, row, names, missing)):
        return Diagnosis(number, what, written, "as it was written", row)
    dropped, is_told = _dropped(connection, number, row, live)
    doubt = "" if is_told else "; whether its run was removed cannot be told, so what there is of it is for forks alone"
    if proven := _by_first_save(connection, number, names, dropped):
        return Diagnosis(number, what, proven, "as its first save tells", row, doubt)
    if number in missing or number in live or _is_named(connection, number):
        stands = _as_it_stands(connection, number, row, names, dropped)
        how = "as it stands, which nothing proves" if row else "without what it said, which nothing tells"
        return Diagnosis(number, what, stands, how, row, doubt)
    return Diagnosis(number, what, row=row)


def _by_sum(connection: Connection, row: tuple[Any, ...], names: list[str], missing: list[int]) -> Log | None:
    """The row as its checksum proves that it was, if one value of it has changed."""
    values, number = row[:-1], row[0]
    logs = [n for (n,) in fetch(connection, "SELECT log FROM lovia_logs")]
    older = [n for n in (*logs, *missing) if isinstance(n, int) and n < number]
    query = "SELECT max(number) FROM lovia_saves WHERE typeof(number) = 'integer'"
    last = min(fetch(connection, query)[0][0] or 0, _MOST)
    has_saves = fetch(connection, _FIRST, (number,))[0][0] is not None
    runs = [*names, *known_runs(connection), *near(row[1])]
    candidates: list[list[Any] | range] = [[] if has_saves else missing, runs, [None, *older], range(last + 1), [0, 1]]
    for place, could_be in enumerate(candidates):
        for value in could_be:
            log = Log(*(*values[:place], value, *values[place + 1 :]))
            if log.sum == row[-1]:
                return log
    return None


def _by_first_save(connection: Connection, number: int, names: list[str], dropped: int) -> Log | None:
    """The row as the first save of its log proves that it was."""
    first = fetch(connection, _FIRST, (number,))[0][0]
    if first is None:
        return None
    query = "SELECT log FROM lovia_saves WHERE number = ? AND log < ? ORDER BY log DESC"
    bases = [None] if first == 1 else [log for (log,) in fetch(connection, query, (first - 1, number))]
    known = dict.fromkeys([*names, *known_runs(connection)])
    could_be = (Log(number, name, base, first - 1, dropped) for name, base in product(known, bases))
    return next((log for log in islice(could_be, _MOST) if is_proven(connection, log)), None)


def _dropped(
    connection: Connection, number: int, row: tuple[Any, ...] | None, live: dict[int, str]
) -> tuple[int, bool]:
    """Whether no run has the log any more, and whether that is sure."""
    if number in live:
        return 0, True
    if row and row[4] in (0, 1):
        return row[4], True
    is_of_a_run = bool(fetch(connection, "SELECT 1 FROM lovia_runs WHERE log = ?", (number,)))
    return int(not is_of_a_run), is_of_a_run


def _as_it_stands(
    connection: Connection, number: int, row: tuple[Any, ...] | None, names: list[str], dropped: int
) -> Log:
    """A row of which nothing tells, as far as it can be right. Whatever its log held is damaged anyway."""
    run_id = names[0] if names else ""
    base, upto = row[2:4] if row else (None, 0)
    is_there = fetch(connection, "SELECT 1 FROM lovia_logs WHERE log = ? AND log < ?", (base, number))
    if is_there and isinstance(upto, int) and upto > 0:
        return Log(number, run_id, base, upto, dropped)
    return Log(number, run_id, dropped=dropped)


def _is_named(connection: Connection, number: int) -> bool:
    """True when others go on from it, or saves or a run are its."""
    tables = ("lovia_logs WHERE base", "lovia_saves WHERE log", "lovia_runs WHERE log")
    return any(fetch(connection, f"SELECT 1 FROM {table} = ? LIMIT 1", (number,)) for table in tables)


def unread(connection: Connection) -> Iterator[Log]:
    """The logs that no run has any more, with saves that nobody reads, the newest first: left by whoever removed a run
    while it could not be told who reads it."""
    for row in fetch(connection, f"{_ROWS} WHERE dropped = 1 ORDER BY log DESC"):
        log = as_written(row)
        if log is not None and _unread_from(connection, log) is not None:
            yield log


def _unread_from(connection: Connection, log: Log) -> int | None:
    """The last save that anybody reads of it, 0 when it is read by nobody; None when all is read, or it cannot be
    told."""
    found = readers(connection, log.number)
    if found is None:
        return None
    last = max((reader.upto for reader in found), default=0)
    query = "SELECT 1 FROM lovia_saves WHERE log = ? AND number > ? LIMIT 1"
    return last if not found or fetch(connection, query, (log.number, last)) else None


def mend_unread(connection: Connection, number: int, *, aside: str) -> str | None:
    """Move what nobody reads of the log aside, in the transaction that is open, and say so; then what it went on from,
    if nobody else reads that. It is not deleted: a log that was made again may have been of a run that nobody removed.
    """
    base: int | None = number
    while log := next((one for one in unread(connection) if one.number == base), None):
        last = _unread_from(connection, log)
        set_aside(connection, "lovia_saves", _NOBODY, "log = ? AND number > ?", log.number, last)
        if last:
            break
        set_aside(connection, "lovia_logs", _NOBODY, "log = ?", log.number)
        base = log.base
    else:
        return None if base == number else f"it was moved aside into {aside}"
    return f"it was moved aside into {aside}"
