"""What may be wrong with a session, and how it is put right: every segment that is whole is kept, in its order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stores.entries import UnknownEntryError
from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.quarantine import copy_aside, set_aside
from stores.sqlite.segments import SessionRow, read_segment, read_session, row_ids
from stores.sqlite.strands import new_strand, read_by_others, release, strand_of

if TYPE_CHECKING:
    from sqlite3 import Connection

_WHY = "it was damaged"


@dataclass(slots=True)
class Diagnosis:
    """What is wrong with a session. ``whole`` are the row ids of the segments that can be kept."""

    problems: list[str] = field(default_factory=list)
    row: SessionRow | None = None
    whole: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    entries: int = 0
    can_mend: bool = True


def session_ids(connection: Connection, *, where: str) -> dict[str, list[int]]:
    """Every session there is a row of, with the row ids of its segments in their order."""
    names = {session_id for query in _EVERY for (session_id,) in fetch(connection, query)}
    return {name: _segments_of(connection, name, where=where) for name in sorted(names)}


_EVERY = (
    "SELECT session_id FROM lovia_sessions",
    "SELECT session_id FROM lovia_strands WHERE state = 'own'",
    "SELECT session_id FROM lovia_segments WHERE strand NOT IN (SELECT strand FROM lovia_strands)",
)


def _segments_of(connection: Connection, session_id: str, *, where: str) -> list[int]:
    """The row ids of its segments; those that it wrote itself when it cannot be told what it has."""
    try:
        strand = strand_of(connection, session_id)
        if strand is not None:
            return row_ids(connection, strand, where=where)
    except StoreDamagedError:
        pass
    query = "SELECT rowid FROM lovia_segments WHERE session_id = ? ORDER BY n"
    return [rowid for (rowid,) in fetch(connection, query, (session_id,))]


def examine(connection: Connection, session_id: str, segments: list[int], *, where: str) -> Diagnosis:
    """Look at everything that belongs to the session."""
    found, numbers = Diagnosis(), []
    for rowid in segments:
        try:
            segment = read_segment(connection, rowid, where=where)
            found.entries += len(segment.segment(where=where).entries)
            numbers.append(segment.n)
            found.whole.append(rowid)
        except UnknownEntryError as error:
            found.problems.append(error.message)
            found.can_mend = False
        except StoreDamagedError as error:
            found.problems.append(f"{error.message}; the session can be kept without it")
            found.damaged.append(rowid)
    try:
        found.row = read_session(connection, session_id, where=where)
    except StoreDamagedError as error:
        found.problems.append(error.message)
    if found.problems:
        return found
    row = found.row or SessionRow(session_id)
    if numbers != list(range(1, row.segments + 1)) or found.entries != row.entries:
        found.problems.append(f"session {session_id!r} does not have the {row.segments} segments that its row counts")
    return found


def mend(connection: Connection, session_id: str, *, where: str) -> None:
    """Put the session right, in the transaction that is open."""
    found = examine(connection, session_id, _segments_of(connection, session_id, where=where), where=where)
    if not found.problems or not found.can_mend:
        return
    for rowid in found.damaged:
        set_aside(connection, "lovia_segments", _WHY, "rowid = ?", rowid)
    copy_aside(connection, "lovia_sessions", _WHY, "session_id = ?", session_id)
    strand = strand_of(connection, session_id)
    if not found.whole:
        connection.execute("DELETE FROM lovia_sessions WHERE session_id = ?", (session_id,))
    elif strand is None or strand.base is not None or read_by_others(connection, strand.number):
        _copy(connection, session_id, found.whole, where=where)
    else:
        for n, rowid in enumerate(found.whole, 1):
            _renumber(connection, rowid, n, where=where)
        strand = None
    if strand is not None:
        release(connection, strand.number)
    if not found.whole:
        return
    at = found.row.updated_at if found.row else time.time()
    SessionRow(session_id, len(found.whole), found.entries, at).write(connection)


def _copy(connection: Connection, session_id: str, whole: list[int], *, where: str) -> None:
    """A strand of its own for a session that shares with others: what they have is not ours to number anew."""
    connection.execute(
        "UPDATE lovia_strands SET state = 'dropped' WHERE session_id = ? AND state = 'own'", (session_id,)
    )
    strand = new_strand(connection, session_id)
    for n, rowid in enumerate(whole, 1):
        row = read_segment(connection, rowid, where=where)
        replace(row, n=n, session_id=session_id, strand=strand.number).put(connection)


def _renumber(connection: Connection, rowid: int, n: int, *, where: str) -> None:
    """Move a segment, which is whole, to place ``n``."""
    row = read_segment(connection, rowid, where=where)
    if row.n != n:
        connection.execute("DELETE FROM lovia_segments WHERE rowid = ?", (rowid,))
        replace(row, n=n).put(connection)
