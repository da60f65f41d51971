"""Strands: where a session's segments are. A forked session's strand goes on from its source's, and copies none of it.

What others go on from is never changed: a session that changes such a segment gets a strand of its own, which goes on
from the old one, up to what stays the same. A strand that no session has any more lasts as long as others need it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch

if TYPE_CHECKING:
    from sqlite3 import Connection

OWN, PREPARED, DROPPED = "own", "prepared", "dropped"


@dataclass(slots=True, frozen=True)
class Strand:
    """Segments of ``session_id``, behind segment ``upto`` of the strand ``base``; its own hide those of the base.

    The first ``shared`` of all are those of the session that this one was forked from, and not this one's to change.
    """

    number: int
    session_id: str
    base: int | None
    upto: int
    shared: int


_SELECT = "SELECT strand, session_id, base, upto, shared FROM lovia_strands"


def strand_of(connection: Connection, session_id: str, state: str = OWN) -> Strand | None:
    """The session's strand; None when it has none in that state."""
    found = fetch(connection, f"{_SELECT} WHERE session_id = ? AND state = ?", (session_id, state))
    return Strand(*found[0]) if found else None


def new_strand(
    connection: Connection,
    session_id: str,
    *,
    base: int | None = None,
    upto: int = 0,
    shared: int = 0,
    state: str = OWN,
) -> Strand:
    """A strand for the session, in place of one that was prepared and never confirmed."""
    if prepared := strand_of(connection, session_id, PREPARED):
        release(connection, prepared.number)
    query = "INSERT INTO lovia_strands (session_id, base, upto, shared, state) VALUES (?, ?, ?, ?, ?)"
    number = connection.execute(query, (session_id, base, upto, shared, state)).lastrowid
    assert number is not None
    return Strand(number, session_id, base, upto, shared)


def pieces(connection: Connection, strand: Strand | None, *, where: str) -> Iterator[tuple[Strand, int]]:
    """The strand and those that it goes on from, the nearest first, each with the last segment that is seen of it."""
    last = sys.maxsize
    while strand is not None:
        yield strand, last
        base, upto = strand.base, strand.upto
        if base is None:
            return
        found = fetch(connection, f"{_SELECT} WHERE strand = ?", (base,))
        if not found or not isinstance(upto, int) or not isinstance(base, int) or base >= strand.number:
            what = f"what session {strand.session_id!r} begins with is not to be found"
            raise StoreDamagedError(what, where=where)
        strand, last = Strand(*found[0]), min(last, upto)


def read_by_others(connection: Connection, number: int) -> int:
    """How many of the strand's segments others go on from."""
    found = connection.execute("SELECT max(upto) FROM lovia_strands WHERE base = ?", (number,)).fetchone()[0]
    return found or 0


def writable(connection: Connection, strand: Strand, first: int) -> Strand:
    """The strand, or another in its place, in which the session's segments may change from number ``first`` on."""
    frozen = read_by_others(connection, strand.number)
    if frozen < first:
        return strand
    connection.execute("UPDATE lovia_strands SET state = ? WHERE strand = ?", (DROPPED, strand.number))
    fresh = new_strand(connection, strand.session_id, base=strand.number, upto=frozen, shared=strand.shared)
    query = "UPDATE lovia_segments SET strand = ? WHERE strand = ? AND n > ?"
    connection.execute(query, (fresh.number, strand.number, frozen))
    return fresh


def cut_behind(connection: Connection, strand: Strand, *, own: int, shared: int) -> None:
    """Leave the session its first ``own`` segments, of which the first ``shared`` may be those of the base."""
    connection.execute("DELETE FROM lovia_segments WHERE strand = ? AND n > ?", (strand.number, own))
    connection.execute("UPDATE lovia_strands SET upto = min(upto, ?) WHERE strand = ?", (shared, strand.number))
    tidy(connection, strand.base)


def release(connection: Connection, number: int) -> None:
    """No session has the strand any more: it goes, but for what others go on from."""
    connection.execute("UPDATE lovia_strands SET state = ? WHERE strand = ?", (DROPPED, number))
    tidy(connection, number)


def tidy(connection: Connection, number: int | None) -> None:
    """Remove of a strand that no session has what nobody sees of it, and of what it goes on from."""
    while number is not None:
        found = connection.execute(
            "SELECT base FROM lovia_strands WHERE strand = ? AND state = ?", (number, DROPPED)
        ).fetchone()
        if found is None:
            return
        readers = connection.execute("SELECT strand, upto FROM lovia_strands WHERE base = ?", (number,)).fetchall()
        last = max((upto for _, upto in readers), default=0)
        connection.execute("DELETE FROM lovia_segments WHERE strand = ? AND n > ?", (number, last))
        if len(readers) == 1:
            hidden = "SELECT n FROM lovia_segments WHERE strand = ?"
            query = f"DELETE FROM lovia_segments WHERE strand = ? AND n IN ({hidden})"
            connection.execute(query, (number, readers[0][0]))
        if readers:
            return
        connection.execute("DELETE FROM lovia_strands WHERE strand = ?", (number,))
        number = found[0]
