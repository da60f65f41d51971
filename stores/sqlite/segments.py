"""A session's rows: one a segment, inserted once, and one that counts them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from stores import codec
from stores.entries import JSON, Entry
from stores.errors import StoreDamagedError
from stores.records import Segment, SessionInfo
from stores.sqlite.checksums import checksum, fetch
from stores.sqlite.schema import Part

if TYPE_CHECKING:
    from sqlite3 import Connection

SESSIONS = Part(
    "sessions",
    (
        (
            "CREATE TABLE lovia_sessions (session_id TEXT PRIMARY KEY, segments INTEGER NOT NULL,"
            " entries INTEGER NOT NULL, updated_at REAL NOT NULL, sum TEXT NOT NULL)",
            "CREATE TABLE lovia_segments ("
            " session_id TEXT NOT NULL REFERENCES lovia_sessions (session_id) ON DELETE CASCADE,"
            " n INTEGER NOT NULL, run_id TEXT NOT NULL, entries TEXT NOT NULL, meta TEXT NOT NULL,"
            " checksum TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (session_id, n), UNIQUE (session_id, run_id))",
        ),
    ),
)


@dataclass(slots=True)
class SessionRow:
    """How much a session holds, and since when."""

    session_id: str
    segments: int = 0
    entries: int = 0
    updated_at: float = 0.0

    def write(self, connection: Connection) -> None:
        values = (self.session_id, self.segments, self.entries, self.updated_at)
        connection.execute(
            "INSERT INTO lovia_sessions (session_id, segments, entries, updated_at, sum) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (session_id) DO UPDATE SET segments = excluded.segments, entries = excluded.entries,"
            " updated_at = excluded.updated_at, sum = excluded.sum",
            (*values, checksum(*values)),
        )


def read_session(connection: Connection, session_id: str, *, where: str) -> SessionRow | None:
    """The session's row, checked; None when there is none."""
    query = "SELECT session_id, segments, entries, updated_at, sum FROM lovia_sessions WHERE session_id = ?"
    found = fetch(connection, query, (session_id,))
    return _row(found[0], where=where) if found else None


def list_sessions(connection: Connection, *, where: str) -> list[SessionInfo]:
    """Every session's line; a damaged one's says so."""
    infos = []
    query = "SELECT session_id, segments, entries, updated_at, sum FROM lovia_sessions"
    for found in fetch(connection, query):
        try:
            row = _row(found, where=where)
            info = SessionInfo(
                session_id=row.session_id, segments=row.segments, entries=row.entries, updated_at=row.updated_at
            )
        except StoreDamagedError as error:
            info = SessionInfo(session_id=str(found[0]), segments=0, entries=0, damage=f"{error} ({where})")
        infos.append(info)
    return infos


def _row(found: tuple[Any, ...], *, where: str) -> SessionRow:
    if checksum(*found[:-1]) != found[-1]:
        raise StoreDamagedError(f"the row of session {found[0]!r} is not what was written", where=where)
    return SessionRow(*found[:-1])


def stored_checksum(connection: Connection, session_id: str, run_id: str) -> str | None:
    """The checksum of the entries that the run's segment was first appended with (S3); None: it is not stored."""
    query = "SELECT checksum FROM lovia_segments WHERE session_id = ? AND run_id = ?"
    found = connection.execute(query, (session_id, run_id)).fetchone()
    return None if found is None else found[0]


def add_segment(
    connection: Connection, row: SessionRow, run_id: str, entries: list[Entry], meta: dict[str, JSON], total: str
) -> None:
    """Store a segment behind the last one. ``total`` is the checksum of its entries."""
    row.segments += 1
    row.entries += len(entries)
    row.updated_at = time.time()
    row.write(connection)
    lines = b"[" + b",\n".join(codec.encode_entry(entry) for entry in entries) + b"]"
    data = codec.dumps(meta)
    connection.execute(
        "INSERT INTO lovia_segments (session_id, n, run_id, entries, meta, checksum, sum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(row.session_id, row.segments, run_id, lines.decode(), data.decode(), total),
            segment_sum(row.session_id, row.segments, run_id, lines, data, total),
        ),
    )


def segment_sum(session_id: str, n: int, run_id: str, entries: bytes, meta: bytes, total: str) -> str:
    return checksum(session_id, n, run_id, total, texts=(entries, meta))


def read_segments(connection: Connection, row: SessionRow, *, where: str) -> list[Segment]:
    """All segments of the session, oldest first, each checked, and none missing."""
    found = fetch(connection, f"{_SELECT} WHERE session_id = ? ORDER BY n", (row.session_id,))
    if [values[1] for values in found] != list(range(1, row.segments + 1)):
        raise StoreDamagedError(
            f"session {row.session_id!r} has {len(found)} segments in place of {row.segments}", where=where
        )
    return [_segment(values, where=where) for values in found]


def read_segment(connection: Connection, rowid: int, *, where: str) -> tuple[int, Segment]:
    """The number and the segment of one row, checked."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    return values[1], _segment(values, where=where)


def renumber(connection: Connection, rowid: int, n: int) -> None:
    """Move a segment, which is whole, to place ``n`` of its session."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    total = segment_sum(values[0], n, *values[2:-1])
    connection.execute("UPDATE lovia_segments SET n = ?, sum = ? WHERE rowid = ?", (n, total, rowid))


_SELECT = "SELECT session_id, n, run_id, CAST(entries AS BLOB), CAST(meta AS BLOB), checksum, sum FROM lovia_segments"


def _segment(values: tuple[Any, ...], *, where: str) -> Segment:
    session_id, n, run_id, entries, meta, _, total = values
    if segment_sum(*values[:-1]) != total:
        raise StoreDamagedError(
            f"segment {n} of session {session_id!r} (run {run_id!r}) is not what was written", where=where
        )
    return Segment(
        run_id=run_id,
        entries=codec.decode_entries(orjson.loads(entries), where=where, run_id=run_id),
        meta=orjson.loads(meta),
    )
