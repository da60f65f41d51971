"""What may be wrong with the rows that say where sessions' segments are, and how they are put right.

A row of which one value changed is found again by its checksum: of all values that could have stood there, one fits.
Of a row that is gone the segments that name its number tell, and the session's own row, which counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from sqlite3 import Connection
from typing import Any

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.completed import has_runs, runs_of
from stores.sqlite.doctor.leading import began_behind, fits, histories, reaches, with_base
from stores.sqlite.doctor.links import MOST, Diagnosis, Links, Row, is_named, with_one_changed
from stores.sqlite.doctor.naming import parent_of
from stores.sqlite.segments import read_session
from stores.sqlite.strands import COLUMNS, DROPPED, OWN, PREPARED, Strand, as_written

_NAMED = ("lovia_strands WHERE base", "lovia_segments WHERE strand")
_ROWS = f"SELECT {COLUMNS} FROM lovia_strands"
_UNTOLD = "without what it held, which nothing tells"


def _told(connection: Connection, number: int, row: Row | None) -> Diagnosis:
    if row is not None:
        what = _what(row[1], number, "not what was written")
        if proven := _proven(connection, row):
            return Diagnosis(number, what, row, proven, "as it was written")
        stands = Strand(*row[:-1])
        if _can_be(connection, stands):
            return Diagnosis(number, what, row, stands, "as it stands, which agrees with all else")
    how, strand = "from the segments that name it", _by_segments(connection, number, row and row[1])
    if strand is None:
        how, strand = "from what the runs of its forks tell", _by_forks(connection, number)
    if strand is None and is_named(connection, _NAMED, number):
        how, strand = _UNTOLD, Strand(number, str(row[1] if row else ""), state=DROPPED)
    if row is None:
        what = _what(strand.session_id if strand else "", number, "missing")
    doubt = ""
    if strand and strand.session_id and strand.state == DROPPED and not _is_there(connection, strand.session_id):
        doubt = "; whether that session was removed cannot be told, so what there is of it is for its forks alone"
    return Diagnosis(number, what, row, strand, how, doubt, "nothing tells what it was")


def _what(session_id: Any, number: int, state: str) -> str:
    return f"the row that says where the segments of session {session_id!r} are is {state} (strand {number})"


def _missing(connection: Connection) -> list[int]:
    """The strands of which there is no row, though segments stand in them, or others go on from them."""
    named = fetch(connection, "SELECT DISTINCT strand FROM lovia_segments WHERE typeof(strand) = 'integer'")
    strands = [strand for row in fetch(connection, _ROWS) if (strand := as_written(row))]
    bases = {strand.base for strand in strands if strand.base is not None}
    return sorted(({n for (n,) in named} | bases) - _numbers(connection))


def _numbers(connection: Connection) -> set[int]:
    return {n for (n,) in fetch(connection, "SELECT strand FROM lovia_strands")}


def _proven(connection: Connection, row: Row) -> Strand | None:
    """The row as its checksum proves that it was, if one value of it has changed."""
    could_be = (Strand(*values) for values in with_one_changed(row[:-1], _candidates(connection, row[0])))
    return next((strand for strand in could_be if strand.sum == row[-1]), None)


def _candidates(connection: Connection, number: int) -> Iterator[list[Any] | range]:
    """Of each column, what could have stood in it."""
    missing = _missing(connection)
    yield from (missing, list(_sessions(connection)))
    yield [None, *(n for n in (*_numbers(connection), *missing) if n < number)]
    last = _count(connection, "SELECT max(n) FROM lovia_segments WHERE typeof(n) = 'integer'")
    entries = _count(connection, "SELECT max(entries) FROM lovia_sessions WHERE typeof(entries) = 'integer'")
    yield from (range(last + 1), range(last + 1), range(entries + 1), [OWN, PREPARED, DROPPED])


def _count(connection: Connection, query: str) -> int:
    return min(fetch(connection, query)[0][0] or 0, MOST)


def _sessions(connection: Connection) -> set[Any]:
    """The ids of all sessions that anything names."""
    queries = ["SELECT session_id FROM lovia_segments", "SELECT session_id FROM lovia_sessions"]
    if has_runs(connection):
        queries.append("SELECT session_id FROM lovia_runs")
    return {name for query in queries for (name,) in fetch(connection, query) if isinstance(name, str)}


def _can_be(connection: Connection, strand: Strand) -> bool:
    """True when the strand, of which no checksum tells, agrees with its segments, and with its session's row."""
    numbers = (strand.upto, strand.shared, strand.shared_entries)
    if strand.state not in (OWN, PREPARED, DROPPED) or not all(isinstance(n, int) and n >= 0 for n in numbers):
        return False
    if not _is_of(connection, strand.number, strand.session_id) or _first(connection, strand.number) > strand.upto + 1:
        return False
    is_based = not strand.upto if strand.base is None else isinstance(strand.base, int) and strand.base < strand.number
    if not is_based or not reaches(connection, strand):
        return False
    if strand.base is not None:
        runs = runs_of(connection, strand.session_id)
        told = with_base(connection, replace(strand, base=None), strand.upto, runs)
        if told.base not in (None, strand.base):
            return False
    try:
        row = read_session(connection, strand.session_id, where="")
    except StoreDamagedError:
        return True
    return strand.state != OWN or (row is not None and fits(connection, strand, row))


def _is_of(connection: Connection, number: int, session_id: Any) -> bool:
    """True when segments in that strand are of the session, or there are none."""
    found = fetch(connection, "SELECT DISTINCT session_id FROM lovia_segments WHERE strand = ?", (number,))
    return not found or (session_id,) in found


def _first(connection: Connection, number: int) -> int:
    """The number of the first segment in that strand; 1 when there is none."""
    query = "SELECT min(n) FROM lovia_segments WHERE strand = ? AND typeof(n) = 'integer'"
    return fetch(connection, query, (number,))[0][0] or 1


def _by_segments(connection: Connection, number: int, said: Any) -> Strand | None:
    """The strand as the segments that name it tell, best those of the session that it is ``said`` to be of; None when
    there are none."""
    query = "SELECT session_id, n, run_id FROM lovia_segments WHERE strand = ? ORDER BY session_id IS NOT ?, n LIMIT 1"
    for session_id, first, run_id in fetch(connection, query, (number, said)):
        strand = Strand(number, session_id, state=_state(connection, number, session_id))
        return strand if first == 1 else with_base(connection, strand, first - 1, [run_id])
    return None


def _by_forks(connection: Connection, number: int) -> Strand | None:
    """The strand as those tell that go on from it, where no segment does; None when they do not."""
    rows = fetch(connection, f"{_ROWS} WHERE base = ? ORDER BY upto DESC", (number,))
    forks = [fork for row in rows if (fork := as_written(row))]
    for session_id in _sources(connection, forks):
        strand = Strand(number, session_id, state=_state(connection, number, session_id))
        told = with_base(connection, strand, forks[0].upto, runs_of(connection, forks[0].session_id))
        return told if told.base is not None else began_behind(connection, strand)
    return None


def _sources(connection: Connection, forks: list[Strand]) -> Iterator[str]:
    """The session from which these began, the surest first: as their own rows tell, the runs that theirs were forked
    from, and those with which their histories ended."""
    yield from (fork.session_id for fork in forks if fork.upto > fork.shared)
    names = [(fork.session_id, run_id) for fork in forks for run_id in runs_of(connection, fork.session_id)]
    lines = [(name, fetch(connection, "SELECT data FROM lovia_lines WHERE run_id = ?", (run,))) for name, run in names]
    origins = [(name, parent_of(data)) for name, found in lines for (data,) in found]
    query = "SELECT session_id FROM lovia_runs WHERE run_id = ? AND session_id IS NOT ?"
    began = ((fork.session_id, run_id) for fork in forks for run_id in histories(connection, fork.session_id))
    for name, run_id in chain(origins, began):
        yield from (found for (found,) in fetch(connection, query, (run_id, name)) if isinstance(found, str))


def _state(connection: Connection, number: int, session_id: str) -> str:
    """Whether the session has it still. One that is not there may have been removed while forks read it (M4)."""
    queries = ("SELECT strand FROM lovia_strands", "SELECT strand FROM lovia_segments")
    others = [n for query in queries for (n,) in fetch(connection, f"{query} WHERE session_id = ?", (session_id,))]
    if any(isinstance(n, int) and n > number for n in others):
        return DROPPED
    mine = "SELECT 1 FROM lovia_strands WHERE session_id = ? AND state = 'own' AND strand != ?"
    is_read = fetch(connection, "SELECT 1 FROM lovia_strands WHERE base = ?", (number,))
    is_gone = is_read and not _is_there(connection, session_id)
    return DROPPED if fetch(connection, mine, (session_id, number)) or is_gone else OWN


def _is_there(connection: Connection, session_id: str) -> bool:
    return bool(fetch(connection, "SELECT 1 FROM lovia_sessions WHERE session_id = ?", (session_id,)))


STRANDS = Links(
    "lovia_strands",
    COLUMNS,
    as_written,
    _missing,
    _NAMED,
    _told,
    rivals="session_id = :session_id AND state = :state AND state != 'dropped'",
)
