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
        ("ALTER TABLE lovia_segments ADD COLUMN truncated INTEGER NOT NULL DEFAULT 0",),
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


@dataclass(slots=True, frozen=True)
class SegmentRow:
    """A segment as it is stored. ``checksum`` is that of the entries it was first appended with (S3)."""

    session_id: str
    n: int
    run_id: str
    entries: bytes
    meta: bytes
    checksum: str
    truncated: int = 0

    @property
    def sum(self) -> str:
        """Over all of it. What is whole has the sum it had before there was a column ``truncated``."""
        cut = ("truncated", self.truncated) if self.truncated else ()
        return checksum(self.session_id, self.n, self.run_id, self.checksum, *cut, texts=(self.entries, self.meta))

    def insert(self, connection: Connection) -> None:
        connection.execute(
            f"INSERT INTO lovia_segments ({_COLUMNS}, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._values()
        )

    def update(self, connection: Connection) -> None:
        """Write it in the place of its run's segment."""
        connection.execute(
            "UPDATE lovia_segments SET n = ?2, entries = ?4, meta = ?5, checksum = ?6, truncated = ?7, sum = ?8"
            " WHERE session_id = ?1 AND run_id = ?3",
            self._values(),
        )

    def _values(self) -> tuple[Any, ...]:
        texts = (self.entries.decode(), self.meta.decode())
        return (self.session_id, self.n, self.run_id, *texts, self.checksum, self.truncated, self.sum)

    def segment(self, *, where: str) -> Segment:
        """What it holds."""
        return Segment(
            run_id=self.run_id,
            entries=codec.decode_entries(orjson.loads(self.entries), where=where, run_id=self.run_id),
            meta=orjson.loads(self.meta),
            truncated=bool(self.truncated),
        )


def encode_entries(entries: list[Entry]) -> bytes:
    """A JSON list, an entry a line."""
    return b"[" + b",\n".join(codec.encode_entry(entry) for entry in entries) + b"]"


def add_segment(
    connection: Connection,
    row: SessionRow,
    run_id: str,
    entries: list[Entry],
    meta: dict[str, JSON],
    total: str,
    *,
    truncated: bool = False,
) -> None:
    """Store a segment behind the last one. ``total`` is the checksum of its entries."""
    row.segments += 1
    row.entries += len(entries)
    row.updated_at = time.time()
    row.write(connection)
    data = codec.dumps(meta)
    whole = encode_entries(entries)
    SegmentRow(row.session_id, row.segments, run_id, whole, data, total, int(truncated)).insert(connection)


def read_segments(connection: Connection, row: SessionRow, *, where: str) -> list[Segment]:
    """All segments of the session, oldest first, each checked, and none missing."""
    found = fetch(connection, f"{_SELECT} WHERE session_id = ? ORDER BY n", (row.session_id,))
    if [values[1] for values in found] != list(range(1, row.segments + 1)):
        raise StoreDamagedError(
            f"session {row.session_id!r} has {len(found)} segments in place of {row.segments}", where=where
        )
    return [_checked(values, where=where).segment(where=where) for values in found]


def read_segment(connection: Connection, rowid: int, *, where: str) -> SegmentRow:
    """The segment of that row id, checked."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    return _checked(values, where=where)


def segment_at(connection: Connection, session_id: str, n: int, *, where: str) -> SegmentRow:
    """Segment ``n`` of the session, which has so many, checked."""
    found = fetch(connection, f"{_SELECT} WHERE session_id = ? AND n = ?", (session_id, n))
    if not found:
        raise StoreDamagedError(f"segment {n} of session {session_id!r} is missing", where=where)
    return _checked(found[0], where=where)


_COLUMNS = "session_id, n, run_id, entries, meta, checksum, truncated"
_SELECT = (
    "SELECT session_id, n, run_id, CAST(entries AS BLOB), CAST(meta AS BLOB), checksum, truncated, sum"
    " FROM lovia_segments"
)


def _checked(values: tuple[Any, ...], *, where: str) -> SegmentRow:
    row = SegmentRow(*values[:-1])
    if row.sum != values[-1]:
        raise StoreDamagedError(
            f"segment {row.n} of session {row.session_id!r} (run {row.run_id!r}) is not what was written", where=where
        )
    return row
