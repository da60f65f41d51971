"""What may be wrong with the rows that say which saves a log goes on from, and how they are put right.

The first save of a log covers the save before it and the run that wrote it, so of all that the row could have said, one
thing fits. Where that save does not help, a row of which one value changed is found again by its checksum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice, product
from sqlite3 import Connection
from typing import Any

from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.links import MOST, Diagnosis, Links, Row, is_named, with_one_changed
from stores.sqlite.doctor.naming import all_names, known_runs, names_of, near, owner_of, parent_of
from stores.sqlite.logs import COLUMNS, Log, as_written
from stores.sqlite.sealing import is_proven

_NAMED = ("lovia_logs WHERE base", "lovia_saves WHERE log", "lovia_runs WHERE log")
_ROWS = f"SELECT {COLUMNS} FROM lovia_logs"
_FIRST = "SELECT number, CAST(data AS BLOB) FROM lovia_saves WHERE log = ? AND typeof(number) = 'integer'"
_FIRST += " ORDER BY number LIMIT 1"


def _missing(connection: Connection) -> list[int]:
    """The logs that a run's row or another log names, and that have no row."""
    gone = "NOT IN (SELECT log FROM lovia_logs)"
    forked = fetch(connection, f"{_ROWS} WHERE base {gone}")
    found = {log.base for row in forked if (log := as_written(row)) and log.base is not None}
    saved = "log IN (SELECT log FROM lovia_saves)"
    query = f"SELECT run_id, log, {saved} FROM lovia_runs WHERE typeof(log) = 'integer' AND log {gone}"
    for run_id, log, has_saves in fetch(connection, query):
        if has_saves or owner_of(connection, log) == run_id:
            found.add(log)
    return sorted(found)


def _told(connection: Connection, number: int, row: Row | None) -> Diagnosis:
    owner = owner_of(connection, number)
    names = list(names_of(connection, number, row, owner))
    of = f", of run {names[0]!r}," if names else ""
    what = f"the row of log {number}{of} is {'not what was written' if row else 'missing'}"
    dropped, doubt = _dropped(connection, number, row, owner)
    proven = _by_first_save(connection, number, row, names, dropped)
    if row and (written := _by_sum(connection, row, names, proven)):
        return Diagnosis(number, what, row, written, "as it was written")
    if proven:
        return Diagnosis(number, what, row, proven, "as its first save tells", doubt)
    if is_named(connection, _NAMED, number):
        stands = _as_it_stands(connection, number, row, names, dropped)
        how = "as it stands, which nothing proves" if row else "without what it said, which nothing tells"
        return Diagnosis(number, what, row, stands, how, doubt)
    return Diagnosis(number, what, row)


def _by_sum(connection: Connection, row: Row, names: list[str], proven: Log | None) -> Log | None:
    """The row as its checksum proves that it was: as its first save has ``proven``, or if one value of it has
    changed."""
    could_be = (Log(*values) for values in with_one_changed(row[:-1], _candidates(connection, row, names)))
    first = (replace(proven, dropped=dropped) for dropped in (0, 1)) if proven else ()
    return next((log for log in chain(first, could_be) if log.sum == row[-1]), None)


def _candidates(connection: Connection, row: Row, names: list[str]) -> Iterator[list[Any] | range]:
    """Of each column, what could have stood in it. Only looked for when the first save is no help."""
    number, missing = row[0], _missing(connection)
    logs = [n for (n,) in fetch(connection, "SELECT log FROM lovia_logs")]
    older = [n for n in (*logs, *missing) if isinstance(n, int) and n < number]
    query = "SELECT max(number) FROM lovia_saves WHERE typeof(number) = 'integer'"
    last = min(fetch(connection, query)[0][0] or 0, MOST)
    has_saves = bool(fetch(connection, _FIRST, (number,)))
    runs = [*names, *known_runs(connection), *near(row[1])]
    yield from ([] if has_saves else missing, runs, [None, *older], range(last + 1), [0, 1])


def _by_first_save(connection: Connection, number: int, row: Row | None, names: list[str], dropped: int) -> Log | None:
    """The row as the first save of its log proves that it was."""
    for first, data in fetch(connection, _FIRST, (number,)):
        origins = islice(_origins(connection, number, first, data, row, names), MOST)
        could_be = (Log(number, name, base, first - 1, dropped) for name, base in origins)
        return next((log for log in could_be if is_proven(connection, log)), None)
    return None


def _origins(
    connection: Connection, number: int, first: int, data: bytes, row: Row | None, names: list[str]
) -> Iterator[tuple[str, int | None]]:
    """Whose the log with that first save may be, and what it goes on from, the likeliest before all the others: what
    its row says, and the log of the run that it was forked from."""
    forked = fetch(connection, "SELECT log FROM lovia_runs WHERE run_id = ?", (parent_of(data),))
    bases = [*(row[2:3] if row else ()), *(log for (log,) in forked)] if first > 1 else [None]
    yield from product(names, bases)
    query = "SELECT log FROM lovia_saves WHERE number = ? AND log < ? ORDER BY log DESC"
    bases += [log for (log,) in fetch(connection, query, (first - 1, number))]
    yield from ((name, base) for name in all_names(connection, number, names) for base in bases)


def _dropped(connection: Connection, number: int, row: Row | None, owner: str | None) -> tuple[int, str]:
    """Whether no run has the log any more, and the doubt about it."""
    if owner is not None:
        return 0, ""
    if row and row[4] in (0, 1):
        return row[4], ""
    if fetch(connection, "SELECT 1 FROM lovia_runs WHERE log = ?", (number,)):
        return 0, ""
    return 1, "; whether its run was removed cannot be told, so what there is of it is for forks alone"


def _as_it_stands(connection: Connection, number: int, row: Row | None, names: list[str], dropped: int) -> Log:
    """A row of which nothing tells, as far as it can be right. Whatever its log held is damaged anyway."""
    run_id = names[0] if names else ""
    base, upto = row[2:4] if row else (None, 0)
    is_there = fetch(connection, "SELECT 1 FROM lovia_logs WHERE log = ? AND log < ?", (base, number))
    if is_there and isinstance(upto, int) and upto > 0:
        return Log(number, run_id, base, upto, dropped)
    return Log(number, run_id, dropped=dropped)


LOGS = Links("lovia_logs", COLUMNS, as_written, _missing, _NAMED, _told)
