"""Segments that stand in a strand which is not their session's, and where they belong: each names its session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.quarantine import set_aside
from stores.sqlite.segments import SegmentRow, read_segment, read_session
from stores.sqlite.strands import COLUMNS, OWN, Strand, as_written, readers, strand_at

_WHY = "it stood in another's place"


@dataclass(slots=True, frozen=True)
class Misplaced:
    """A whole segment, by its row id. ``place`` is the newest strand of its session that lacks it; None: none does."""

    rowid: int
    segment: SegmentRow
    place: int | None

    @property
    def what(self) -> str:
        one = self.segment
        return f"segment {one.n} of session {one.session_id!r} (run {one.run_id!r}) stands in another's place"

    @property
    def outlook(self) -> str:
        """What mending can do."""
        return "it can be put back" if self.place else "nothing lacks it, and it can be moved aside"


def misplaced(connection: Connection) -> Iterator[Misplaced]:
    """Those of which it is sure: the segment is whole, and so is the row of the strand, where there is one."""
    query = (
        "SELECT g.rowid, t.strand FROM lovia_segments g LEFT JOIN lovia_strands t ON t.strand = g.strand"
        " WHERE t.session_id IS NOT g.session_id"
    )
    for rowid, number in fetch(connection, query):
        with suppress(StoreDamagedError):
            segment = read_segment(connection, rowid, where="")
            strand = None if number is None else strand_at(connection, number, where="")
            place = _place(connection, segment)
            if strand or place:
                yield Misplaced(rowid, segment, place)


def unclear(connection: Connection, found: list[Misplaced]) -> tuple[set[object], set[object]]:
    """The strands and the sessions of which nothing can be told before these segments stand where they belong: the
    strands in which they stand, those of the sessions that they name, and whatever goes on from one of these."""
    named = {one.segment.session_id for one in found}
    strands: set[object] = {one.segment.strand for one in found}
    sessions: set[object] = {*named}
    query = "SELECT strand, base, session_id FROM lovia_strands ORDER BY strand"  # a base is older than what goes on
    for number, base, session_id in fetch(connection, query):
        if number in strands or base in strands or session_id in named:
            strands.add(number)
            sessions.add(session_id)
    return strands, sessions


def put_back(connection: Connection, rowid: int, *, aside: str) -> str | None:
    """Put the segment where it belongs, or aside, in the transaction that is open, and say what was done."""
    found = next((one for one in misplaced(connection) if one.rowid == rowid), None)
    if found is None:
        return None
    if found.place is None:
        set_aside(connection, "lovia_segments", "rowid = ?", rowid, why=_WHY)
        return f"nothing lacks it: it was moved aside into {aside}"
    connection.execute("UPDATE lovia_segments SET strand = ? WHERE rowid = ?", (found.place, rowid))
    return "it was put back"


def _place(connection: Connection, segment: SegmentRow) -> int | None:
    query = f"SELECT {COLUMNS} FROM lovia_strands WHERE session_id = ? ORDER BY strand DESC"
    for strand in filter(None, map(as_written, fetch(connection, query, (segment.session_id,)))):
        with suppress(StoreDamagedError):
            if _lacks(connection, strand, segment):
                return strand.number
    return None


def _lacks(connection: Connection, strand: Strand, segment: SegmentRow) -> bool:
    """True when a segment of that number should be in that very strand, and is not, and none of that run is."""
    query, n = "SELECT 1 FROM lovia_segments WHERE strand = ? AND n = ?", segment.n
    of_run = "SELECT 1 FROM lovia_segments WHERE strand = ? AND run_id = ?"
    if n <= strand.upto or fetch(connection, query, (strand.number, n)):
        return False
    if fetch(connection, of_run, (strand.number, segment.run_id)):
        return False
    if strand.state == OWN:
        row = read_session(connection, strand.session_id, where="")
        return row is not None and n <= row.segments
    found = readers(connection, strand.number) or []
    return any(n <= one.upto and not fetch(connection, query, (one.number, n)) for one in found)
