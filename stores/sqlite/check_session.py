"""What may be wrong with a session, and how it is put right: every segment that is whole is kept, in its order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stores.entries import UnknownEntryError
from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.quarantine import copy_aside, set_aside
from stores.sqlite.segments import SessionRow, read_segment, read_session

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


def session_ids(connection: Connection) -> dict[str, list[int]]:
    """Every session there is a row of, with the row ids of its segments in their order."""
    found: dict[str, list[int]] = {session_id: [] for (session_id,) in fetch(connection, _EVERY)}
    for session_id, rowid in fetch(connection, "SELECT session_id, rowid FROM lovia_segments ORDER BY n"):
        found.setdefault(session_id, []).append(rowid)
    return found


_EVERY = "SELECT session_id FROM lovia_sessions"


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
    found = examine(connection, session_id, session_ids(connection).get(session_id, []), where=where)
    if not found.problems or not found.can_mend:
        return
    for rowid in found.damaged:
        set_aside(connection, "lovia_segments", _WHY, "rowid = ?", rowid)
    copy_aside(connection, "lovia_sessions", _WHY, "session_id = ?", session_id)
    if not found.whole:
        connection.execute("DELETE FROM lovia_sessions WHERE session_id = ?", (session_id,))
        return
    for n, rowid in enumerate(found.whole, 1):
        replace(read_segment(connection, rowid, where=where), n=n).update(connection)
    at = found.row.updated_at if found.row else time.time()
    SessionRow(session_id, len(found.whole), found.entries, at).write(connection)
