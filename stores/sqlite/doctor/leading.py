"""What a strand leads to: which segments are seen with it, whether they are what the session's row counts, and which
strand it must go on from, where its own row does not tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from sqlite3 import Connection

from stores.errors import StoreDamagedError, StoreError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.completed import began_with, runs_of
from stores.sqlite.segments import SessionRow, read_segment, read_session
from stores.sqlite.strands import COLUMNS, DROPPED, Strand, as_written, pieces, readers

_ROWS = f"SELECT {COLUMNS} FROM lovia_strands"


def seen_in(connection: Connection, strand: Strand | None) -> list[int]:
    """The row ids of the segments that the session with that strand has, in their order, as far as it can be told. A
    damaged one, of which nobody knows its number, hides none of what the strand goes on from."""
    rows: dict[object, list[int]] = {}
    with suppress(StoreDamagedError):
        for piece, last in pieces(connection, strand, where=""):
            query = "SELECT n, rowid FROM lovia_segments WHERE strand = ? AND (n <= ? OR typeof(n) != 'integer')"
            for n, rowid in fetch(connection, query, (piece.number, last)):
                if not any(is_whole(connection, one) for one in rows.setdefault(n, [])):
                    rows[n].append(rowid)
    numbers = sorted(rows, key=lambda n: (not isinstance(n, int), n if isinstance(n, int) else 0))
    return [rowid for n in numbers for rowid in rows[n]]


def last_seen(connection: Connection, strand: Strand) -> int:
    """The number of the last segment that anybody can see of it: of one that no session has, as far as others go on."""
    found = readers(connection, strand.number)
    if strand.state != DROPPED or found is None:
        return sys.maxsize
    return max((reader.upto for reader in found), default=0)


def is_whole(connection: Connection, rowid: int) -> bool:
    """True when the segment of that row id is what was written."""
    with suppress(StoreDamagedError):
        return bool(read_segment(connection, rowid, where=""))
    return False


def reaches(connection: Connection, strand: Strand) -> bool:
    """True when all that the strand begins with is there."""
    seen: set[int] = set()
    try:
        for piece, last in pieces(connection, strand, where=""):
            found = fetch(connection, "SELECT n FROM lovia_segments WHERE strand = ? AND n <= ?", (piece.number, last))
            seen |= {n for (n,) in found}
    except StoreDamagedError:
        return False
    return sum(1 for n in seen if isinstance(n, int) and 1 <= n <= strand.upto) == strand.upto


def fits(connection: Connection, strand: Strand, row: SessionRow) -> bool:
    """True when with that strand the session has just what its row counts, and all of it is whole."""
    try:
        seen = [read_segment(connection, rowid, where="") for rowid in seen_in(connection, strand)]
        entries = sum(len(one.segment(where="").entries) for one in seen)
    except StoreError:
        return False
    return [one.n for one in seen] == list(range(1, row.segments + 1)) and entries == row.entries


def led_elsewhere(connection: Connection, strand: Strand | None, row: SessionRow) -> Strand | None:
    """A strand with which the session has what its row counts, where that is sure, in the place of one that is
    missing, or that leads to something else; or the one with what it began with, in the place of one that is missing.
    Of that no segment tells."""
    query = "SELECT max(strand) FROM lovia_strands"
    number = strand.number if strand else (fetch(connection, query)[0][0] or 0) + 1
    first = "SELECT min(n) FROM lovia_segments WHERE strand = ? AND typeof(n) = 'integer'"
    own = fetch(connection, first, (number,))[0][0]
    upto = row.segments if own is None else own - 1
    found = Strand(number, row.session_id)
    if upto:
        found = with_base(connection, found, upto, runs_of(connection, row.session_id))
    if found != strand and fits(connection, found, row):
        return found
    began = None if strand else began_behind(connection, Strand(number, row.session_id))
    return began if began and began.base is not None else None


def with_base(connection: Connection, alone: Strand, upto: int, run_ids: list[str]) -> Strand:
    """The strand with the one that it goes on from, where that is sure: an older one of the session itself, or the one
    with the segment that a run of it, which a fork began, says it started from."""
    bases = [(base.number, min(base.shared, upto)) for base in _own_before(connection, alone)]
    query = "SELECT strand FROM lovia_segments WHERE strand < ? AND n = ? AND run_id = ? ORDER BY strand DESC"
    for began in began_with(connection, run_ids):
        bases += [(number, upto) for (number,) in fetch(connection, query, (alone.number, upto, began))]
    strands = [replace(alone, base=base, upto=upto, shared=shared) for base, shared in bases]
    reached = [strand for strand in strands if reaches(connection, strand)]
    row = _row(connection, alone.session_id)
    fitting = [strand for strand in reached if row and fits(connection, strand, row)]
    return next(iter([*fitting, *reached]), alone)


def began_behind(connection: Connection, alone: Strand) -> Strand:
    """The strand with the one with which its session began, where a run of that says so: it is a fork itself."""
    query = "SELECT strand, n FROM lovia_segments WHERE strand < ? AND run_id = ? AND session_id != ?"
    for run_id in histories(connection, alone.session_id):
        for base, n in fetch(connection, query, (alone.number, run_id, alone.session_id)):
            strand = replace(alone, base=base, upto=n, shared=n)
            if reaches(connection, strand):
                return strand
    return alone


def _own_before(connection: Connection, strand: Strand) -> list[Strand]:
    """The older strands that the strand's session had, the newest first."""
    query = f"{_ROWS} WHERE strand < ? AND session_id = ? AND state = ? ORDER BY strand DESC"
    rows = fetch(connection, query, (strand.number, strand.session_id, DROPPED))
    return [own for row in rows if (own := as_written(row))]


def forks_at(connection: Connection, strand: Strand) -> list[Strand]:
    """The strands of other sessions that began with what that one has, up to some segment."""
    rows = fetch(connection, f"{_ROWS} WHERE base = ?", (strand.number,))
    return [fork for row in rows if (fork := as_written(row)) and fork.session_id != strand.session_id]


def histories(connection: Connection, session_id: str) -> Iterator[str]:
    """The runs with whose segments the histories of the session's runs ended: one of them is what a fork began with."""
    return began_with(connection, runs_of(connection, session_id))


def _row(connection: Connection, session_id: str) -> SessionRow | None:
    with suppress(StoreDamagedError):
        return read_session(connection, session_id, where="")
    return None
