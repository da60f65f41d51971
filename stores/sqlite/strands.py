"""Strands: where a session's segments are. A forked session's strand goes on from its source's, and copies none of it.

What others go on from is never changed: a session that changes such a segment gets a strand of its own, which goes on
from the old one, up to what stays the same. A strand that no session has any more lasts as long as others need it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import checksum, fetch, put

if TYPE_CHECKING:
    from sqlite3 import Connection

OWN, PREPARED, DROPPED = "own", "prepared", "dropped"


@dataclass(slots=True, frozen=True)
class Strand:
    """Segments of ``session_id``, behind segment ``upto`` of the strand ``base``; its own hide those of the base.

    The first ``shared`` of all are those of the session that this one was forked from, and not this one's to change;
    ``shared_entries`` is how many entries they hold, as far as the fork is not confirmed.
    """

    number: int
    session_id: str
    base: int | None = None
    upto: int = 0
    shared: int = 0
    shared_entries: int = 0
    state: str = OWN

    @property
    def _values(self) -> tuple[object, ...]:
        place = (self.number, self.session_id, self.base, self.upto)
        return (*place, self.shared, self.shared_entries, self.state)

    @property
    def sum(self) -> str:
        """Over all of it."""
        return checksum(*self._values)

    @property
    def whose(self) -> str:
        """The session that wrote it, for messages."""
        return f"session {self.session_id!r}"

    def put(self, connection: Connection) -> None:
        """Write its row, or write it again."""
        put(connection, "lovia_strands", COLUMNS, self._values)


COLUMNS = "strand, session_id, base, upto, shared, shared_entries, state, sum"
_SELECT = f"SELECT {COLUMNS} FROM lovia_strands"


def strand_of(connection: Connection, session_id: str, state: str = OWN, *, where: str | None = None) -> Strand | None:
    """The session's strand, checked; None when it has none in that state."""
    found = fetch(connection, f"{_SELECT} WHERE session_id = ? AND state != 'dropped'", (session_id,))
    strands = [checked(row, where=where) for row in found]
    return next((strand for strand in strands if strand.state == state), None)


def strand_at(connection: Connection, number: int, *, where: str | None = None) -> Strand | None:
    """The strand of that number, checked; None when there is none."""
    found = fetch(connection, f"{_SELECT} WHERE strand = ?", (number,))
    return checked(found[0], where=where) if found else None


def as_written(row: tuple[Any, ...]) -> Strand | None:
    """A row of `COLUMNS` as the strand that was written; None when it is not what was."""
    strand = Strand(*row[:-1])
    return strand if strand.sum == row[-1] else None


def checked(row: tuple[Any, ...], *, where: str | None) -> Strand:
    """A row of `COLUMNS` as the strand that was written."""
    if strand := as_written(row):
        return strand
    what = f"the row that says where the segments of session {row[1]!r} are"
    raise StoreDamagedError(f"{what} is not what was written (strand {row[0]})", where=where)


def new_strand(
    connection: Connection,
    session_id: str,
    *,
    base: int | None = None,
    upto: int = 0,
    shared: int = 0,
    shared_entries: int = 0,
    state: str = OWN,
) -> Strand:
    """A strand for the session, in place of one that was prepared and never confirmed."""
    if prepared := strand_of(connection, session_id, PREPARED):
        release(connection, prepared)
    query = "INSERT INTO lovia_strands (session_id, state) VALUES (?, ?)"
    number = connection.execute(query, (session_id, state)).lastrowid
    assert number is not None
    strand = Strand(number, session_id, base, upto, shared, shared_entries, state)
    strand.put(connection)
    return strand


def pieces(connection: Connection, strand: Strand | None, *, where: str) -> Iterator[tuple[Strand, int]]:
    """The strand and those that it goes on from, the nearest first, each with the last segment that is seen of it."""
    last = sys.maxsize
    while strand is not None:
        yield strand, last
        base, upto = strand.base, strand.upto
        if base is None:
            return
        found = strand_at(connection, base, where=where) if base < strand.number else None
        if found is None:
            what = f"what session {strand.session_id!r} begins with is not to be found"
            raise StoreDamagedError(what, where=where)
        strand, last = found, min(last, upto)


def readers(connection: Connection, number: int) -> list[Strand] | None:
    """The strands that go on from that one; None when it cannot be told, since a row that may be one is damaged or
    missing: then nothing of the strand may go."""
    rows = fetch(connection, f"{_SELECT} WHERE base IS NOT NULL OR upto != 0")
    forks = [strand for row in rows if (strand := as_written(row))]
    if len(forks) < len(rows) or _is_any_missing(connection):
        return None
    return [strand for strand in forks if strand.base == number]


def _is_any_missing(connection: Connection) -> bool:
    """True when a session with segments has no strand, or a strand that another goes on from is not there.

    ``state != 'dropped'`` says nothing beside the other condition, but is that of the index.
    """
    without = (
        "SELECT 1 FROM lovia_sessions s WHERE segments > 0 AND NOT EXISTS (SELECT 1 FROM lovia_strands t"
        " WHERE t.session_id = s.session_id AND t.state != 'dropped' AND t.state = 'own') LIMIT 1"
    )
    gone = "SELECT 1 FROM lovia_strands WHERE base NOT IN (SELECT strand FROM lovia_strands) LIMIT 1"
    return any(fetch(connection, query) for query in (without, gone))


def writable(connection: Connection, strand: Strand, first: int) -> Strand:
    """The strand, or another in its place, in which the session's segments may change from number ``first`` on."""
    found = readers(connection, strand.number)
    if found is None:
        query = "SELECT max(n) FROM lovia_segments WHERE strand = ?"
        frozen = connection.execute(query, (strand.number,)).fetchone()[0] or 0
    else:
        frozen = max((reader.upto for reader in found), default=0)
    if frozen < first:
        return strand
    replace(strand, state=DROPPED).put(connection)
    fresh = new_strand(connection, strand.session_id, base=strand.number, upto=frozen, shared=strand.shared)
    query = "UPDATE lovia_segments SET strand = ? WHERE strand = ? AND n > ?"
    connection.execute(query, (fresh.number, strand.number, frozen))
    return fresh


def cut_behind(connection: Connection, strand: Strand, *, own: int, shared: int) -> None:
    """Leave the session its first ``own`` segments, of which the first ``shared`` may be those of the base."""
    connection.execute("DELETE FROM lovia_segments WHERE strand = ? AND n > ?", (strand.number, own))
    replace(strand, upto=min(strand.upto, shared)).put(connection)
    tidy(connection, strand.base)


def release(connection: Connection, strand: Strand) -> None:
    """No session has the strand any more: it goes, but for what others go on from."""
    replace(strand, state=DROPPED).put(connection)
    tidy(connection, strand.number)


def tidy(connection: Connection, number: int | None) -> None:
    """Remove of a strand that no session has what nobody sees of it, and of what it goes on from."""
    while number is not None:
        strand, found = strand_at(connection, number), readers(connection, number)
        if strand is None or strand.state != DROPPED or found is None:
            return
        last = max((reader.upto for reader in found), default=0)
        connection.execute("DELETE FROM lovia_segments WHERE strand = ? AND n > ?", (number, last))
        if len(found) == 1:
            hidden = "SELECT n FROM lovia_segments WHERE strand = ?"
            query = f"DELETE FROM lovia_segments WHERE strand = ? AND n IN ({hidden})"
            connection.execute(query, (number, found[0].number))
        if found:
            return
        connection.execute("DELETE FROM lovia_strands WHERE strand = ?", (number,))
        number = strand.base
