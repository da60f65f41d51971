"""A session's strand whose row is gone: told from the segments that name its number."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from stores.errors import StoreDamagedError, StoreError
from stores.sqlite.checksums import fetch
from stores.sqlite.rows import RUNS, read_row
from stores.sqlite.saves import read_snapshot
from stores.sqlite.schema import version_of
from stores.sqlite.strands import DROPPED, OWN, Strand, pieces, strand_of

if TYPE_CHECKING:
    from sqlite3 import Connection


def lost_strand(connection: Connection, session_id: str, *, where: str) -> Strand | None:
    """The strand that the session had, as far as it can be told; None when it has one, or has no segment in any."""
    if strand_of(connection, session_id):
        return None
    query = (
        "SELECT strand, min(n), run_id FROM lovia_segments WHERE session_id = ?"
        " AND strand NOT IN (SELECT strand FROM lovia_strands) GROUP BY strand ORDER BY strand DESC"
    )
    for number, first, run_id in fetch(connection, query, (session_id,)):
        alone = Strand(number, session_id, base=None, upto=0, shared=0)
        return alone if first == 1 else _with_base(connection, alone, first - 1, run_id, where=where)
    return None


def put_back(connection: Connection, session_id: str, *, where: str) -> str:
    """Write the row of the lost strand again, under its number, which others may go on from; says so."""
    strand = lost_strand(connection, session_id, where=where)
    if strand is None:
        return ""
    columns = "strand, session_id, base, upto, shared, state"
    values = (strand.number, session_id, strand.base, strand.upto, strand.shared, OWN)
    connection.execute(f"INSERT INTO lovia_strands ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
    return "it was made again from the segments that name it"


def _with_base(connection: Connection, alone: Strand, upto: int, run_id: str, *, where: str) -> Strand:
    """The strand with the one that it goes on from, where that is sure: an older one of the session itself, or the one
    with the segment that its first run, which a fork began, says it started from."""
    query = "SELECT strand FROM lovia_strands WHERE strand < ? AND session_id = ? AND state = ? ORDER BY strand DESC"
    for (number,) in fetch(connection, query, (alone.number, alone.session_id, DROPPED)):
        return replace(alone, base=number, upto=upto)
    began = _history_upto(connection, run_id, where=where)
    query = "SELECT strand FROM lovia_segments WHERE strand < ? AND n = ? AND run_id = ? ORDER BY strand DESC"
    for (number,) in fetch(connection, query, (alone.number, upto, began)) if began else ():
        strand = replace(alone, base=number, upto=upto, shared=upto)
        if _reaches(connection, strand, where=where):
            return strand
    return alone


def _reaches(connection: Connection, strand: Strand, *, where: str) -> bool:
    """True when all that the strand begins with is there."""
    seen: set[int] = set()
    with suppress(StoreDamagedError):
        for piece, last in pieces(connection, strand, where=where):
            found = fetch(connection, "SELECT n FROM lovia_segments WHERE strand = ? AND n <= ?", (piece.number, last))
            seen |= {n for (n,) in found}
    return seen >= set(range(1, strand.upto + 1))


def _history_upto(connection: Connection, run_id: str, *, where: str) -> str | None:
    """The run with whose segment the history of that one ended, as its checkpoint has it."""
    try:
        row = read_row(connection, run_id, where=where) if version_of(connection, RUNS, where=where) else None
        return read_snapshot(connection, row, where=where).head.history_upto if row else None
    except StoreError:
        return None
