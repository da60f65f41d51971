"""A session's rows: one a segment, inserted once, and one that counts them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stores import codec
from stores.entries import JSON, Entry
from stores.errors import StoreDamagedError
from stores.lines import Damage, SessionInfo
from stores.records import Segment
from stores.sqlite.checksums import checksum, fetch, put
from stores.sqlite.schema import Part
from stores.sqlite.strands import Strand, new_strand, pieces, strand_of

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
        (
            "CREATE TABLE lovia_strands (strand INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,"
            " base INTEGER REFERENCES lovia_strands (strand), upto INTEGER NOT NULL DEFAULT 0,"
            " shared INTEGER NOT NULL DEFAULT 0, shared_entries INTEGER NOT NULL DEFAULT 0,"
            " state TEXT NOT NULL DEFAULT 'own')",
            "CREATE UNIQUE INDEX lovia_strands_of ON lovia_strands (session_id, state) WHERE state != 'dropped'",
            "CREATE INDEX lovia_strands_base ON lovia_strands (base) WHERE base IS NOT NULL",
            "INSERT INTO lovia_strands (session_id) SELECT DISTINCT session_id FROM lovia_segments",
            "ALTER TABLE lovia_segments RENAME TO lovia_segments_1",
            "CREATE TABLE lovia_segments ("
            " strand INTEGER NOT NULL REFERENCES lovia_strands (strand) ON DELETE CASCADE, n INTEGER NOT NULL,"
            " session_id TEXT NOT NULL, run_id TEXT NOT NULL, entries TEXT NOT NULL, meta TEXT NOT NULL,"
            " checksum TEXT NOT NULL, truncated INTEGER NOT NULL DEFAULT 0, sum TEXT NOT NULL,"
            " PRIMARY KEY (strand, n), UNIQUE (strand, run_id))",
            "INSERT INTO lovia_segments (strand, n, session_id, run_id, entries, meta, checksum, sum)"
            " SELECT strand, n, session_id, run_id, entries, meta, checksum, sum"
            " FROM lovia_segments_1 JOIN lovia_strands USING (session_id)",
            "DROP TABLE lovia_segments_1",
        ),
        (
            # What cannot be right gets no checksum: it is damage, as it was.
            "ALTER TABLE lovia_strands ADD COLUMN sum TEXT NOT NULL DEFAULT ''",
            "UPDATE lovia_strands SET sum = lovia_sum(strand, session_id, base, upto, shared, shared_entries, state)"
            " WHERE typeof(coalesce(base, 0)) = 'integer' AND coalesce(base, 0) < strand"
            " AND typeof(upto) = 'integer' AND typeof(shared) = 'integer' AND typeof(shared_entries) = 'integer'"
            " AND state IN ('own', 'prepared', 'dropped') AND (session_id IN (SELECT session_id FROM lovia_segments g"
            " WHERE g.strand = lovia_strands.strand) OR strand NOT IN (SELECT strand FROM lovia_segments))",
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

    def strand(self, connection: Connection, *, where: str) -> Strand | None:
        """Where its segments are; None when it never had one."""
        strand = strand_of(connection, self.session_id, where=where)
        if strand is None and self.segments:
            what = f"the row that says where the segments of session {self.session_id!r} are is missing"
            raise StoreDamagedError(what, where=where)
        return strand

    def write(self, connection: Connection) -> None:
        values = (self.session_id, self.segments, self.entries, self.updated_at)
        put(connection, "lovia_sessions", "session_id, segments, entries, updated_at, sum", values)


def read_session(connection: Connection, session_id: str, *, where: str) -> SessionRow | None:
    """The session's row, checked; None when there is no such session."""
    query = "SELECT session_id, segments, entries, updated_at, sum FROM lovia_sessions WHERE session_id = ?"
    found = fetch(connection, query, (session_id,))
    if not found and fetch(connection, f"{_OWN} AND session_id = ?", (session_id,)):
        raise StoreDamagedError(_missing(session_id), where=where)  # or its next segment would replace its first
    return _row(found[0], where=where) if found else None


def list_sessions(connection: Connection, session_id: str | None = None, *, where: str) -> list[SessionInfo]:
    """Every session's line, or that of one; a damaged one's says so."""
    infos = []
    query = "SELECT session_id, segments, entries, updated_at, sum FROM lovia_sessions"
    one = () if session_id is None else (session_id,)
    for found in fetch(connection, f"{query} WHERE session_id = ?" if one else query, one):
        try:
            row = _row(found, where=where)
            info = SessionInfo(
                session_id=row.session_id, segments=row.segments, entries=row.entries, updated_at=row.updated_at
            )
        except StoreDamagedError as error:
            info = SessionInfo(session_id=str(found[0]), segments=0, entries=0, damage=Damage.told_by(error))
        infos.append(info)
    lost = f"{_OWN} AND NOT EXISTS (SELECT 1 FROM lovia_sessions s WHERE s.session_id = lovia_strands.session_id)"
    for (name,) in fetch(connection, f"{lost} AND session_id = ?" if one else lost, one):
        damage = Damage(_missing(name), where)
        infos.append(SessionInfo(session_id=str(name), segments=0, entries=0, damage=damage))
    return infos


_OWN = "SELECT session_id FROM lovia_strands WHERE state != 'dropped' AND state = 'own'"
"""The sessions that have a strand. The first condition is that of the index."""


def _missing(session_id: Any) -> str:
    return f"the row of session {session_id!r} is missing"


def _row(found: tuple[Any, ...], *, where: str) -> SessionRow:
    if checksum(*found[:-1]) != found[-1]:
        raise StoreDamagedError(f"the row of session {found[0]!r} is not what was written", where=where)
    return SessionRow(*found[:-1])


def stored_checksum(connection: Connection, session_id: str, run_id: str, *, where: str) -> str | None:
    """The checksum of the entries that the run's segment was first appended with (S3); None: it is not stored."""
    strand = strand_of(connection, session_id, where=where)
    if strand is None and (row := read_session(connection, session_id, where=where)):
        strand = row.strand(connection, where=where)
    found = find_segment(connection, strand, run_id, where=where)
    return found[1] if found else None


def find_segment(connection: Connection, strand: Strand | None, run_id: str, *, where: str) -> tuple[int, str] | None:
    """The number and the checksum of the run's segment; None when the session has none."""
    for piece, last in pieces(connection, strand, where=where):
        query = "SELECT n, checksum FROM lovia_segments WHERE strand = ? AND run_id = ? AND n <= ?"
        found = connection.execute(query, (piece.number, run_id, last)).fetchone()
        if found is not None:
            return found[0], found[1]
    return None


def begins_with(connection: Connection, strand: Strand, session_id: str, *, where: str) -> bool:
    """True when the session with that strand shares segments that ``session_id`` appended."""
    query = "SELECT 1 FROM lovia_segments WHERE strand = ? AND n <= ? LIMIT 1"
    return any(
        piece.session_id == session_id and connection.execute(query, (piece.number, last)).fetchone() is not None
        for piece, last in pieces(connection, strand, where=where)
    )


@dataclass(slots=True, frozen=True)
class SegmentRow:
    """A segment as it is stored. ``checksum`` is that of the entries it was first appended with (S3).

    ``session_id`` is the session that wrote it, in whose ``strand`` it is: a fork has segments of its source.
    """

    session_id: str
    n: int
    run_id: str
    entries: bytes
    meta: bytes
    checksum: str
    truncated: int = 0
    strand: int = 0

    @property
    def sum(self) -> str:
        """Over all of it. What is whole has the sum it had before there was a column ``truncated``."""
        cut = ("truncated", self.truncated) if self.truncated else ()
        return checksum(self.session_id, self.n, self.run_id, self.checksum, *cut, texts=(self.entries, self.meta))

    def put(self, connection: Connection) -> None:
        """Write it at its number of its strand, in the place of what stands there."""
        marks = ", ".join("?" * 9)
        texts = (self.entries.decode(), self.meta.decode())
        values = (self.session_id, self.n, self.run_id, *texts, self.checksum, self.truncated, self.strand, self.sum)
        connection.execute(f"INSERT OR REPLACE INTO lovia_segments ({_COLUMNS}, sum) VALUES ({marks})", values)

    def cut_to(self, entries: list[Entry]) -> SegmentRow:
        """It as a rewind leaves it, which has cut it to these entries (M3)."""
        return replace(self, entries=encode_entries(entries), meta=b"{}", truncated=1)

    def segment(self, *, where: str) -> Segment:
        """What it holds."""
        return Segment(
            run_id=self.run_id,
            entries=codec.decode_entries(codec.loads(self.entries), where=where, run_id=self.run_id),
            meta=codec.loads(self.meta),
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
    where: str,
) -> None:
    """Store a segment behind the last one. ``total`` is the checksum of its entries."""
    strand = row.strand(connection, where=where) or new_strand(connection, row.session_id)
    row.segments += 1
    row.entries += len(entries)
    row.updated_at = time.time()
    row.write(connection)
    texts = (encode_entries(entries), codec.dumps(meta))
    SegmentRow(row.session_id, row.segments, run_id, *texts, total, int(truncated), strand.number).put(connection)


def read_segments(connection: Connection, row: SessionRow, *, where: str) -> list[Segment]:
    """All segments of the session, oldest first, each checked, and none missing."""
    rows: dict[int, SegmentRow] = {}
    for piece, last in pieces(connection, row.strand(connection, where=where), where=where):
        for values in fetch(connection, f"{_SELECT} WHERE strand = ? AND n <= ?", (piece.number, last)):
            if values[1] not in rows:
                rows[values[1]] = _checked(values, piece.session_id, where=where)
    if set(rows) != set(range(1, row.segments + 1)):
        raise StoreDamagedError(
            f"session {row.session_id!r} should have segments 1 to {row.segments}, and has {len(rows)}", where=where
        )
    segments = [rows[n].segment(where=where) for n in range(1, row.segments + 1)]
    held = sum(len(segment.entries) for segment in segments)
    if held != row.entries:
        raise StoreDamagedError(
            f"session {row.session_id!r} should have {row.entries} entries, and has {held}", where=where
        )
    return segments


def read_segment(connection: Connection, rowid: int, *, where: str) -> SegmentRow:
    """The segment of that row id, checked."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    return _checked(values, values[0], where=where)


def stored_segment(connection: Connection, rowid: int) -> tuple[SegmentRow, Any]:
    """What stands in the row of that id, whatever it is, and its checksum."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    return SegmentRow(*values[:-1]), values[-1]


def segment_at(connection: Connection, strand: Strand | None, n: int, *, where: str) -> SegmentRow:
    """Segment ``n`` of the session with that strand, which has so many, checked."""
    for piece, last in pieces(connection, strand, where=where):
        found = fetch(connection, f"{_SELECT} WHERE strand = ? AND n = ?", (piece.number, n)) if n <= last else []
        if found:
            return _checked(found[0], piece.session_id, where=where)
    whose = f" of session {strand.session_id!r}" if strand else ""
    raise StoreDamagedError(f"segment {n}{whose} is missing", where=where)


def count_entries(connection: Connection, strand: Strand, first: int, last: int, *, where: str) -> int:
    """How many entries the session has in its segments ``first`` to ``last``. None is decoded: each has a line."""
    counted: dict[int, int] = {}
    lines = "(entries != '[]') + length(entries) - length(replace(entries, char(10), ''))"
    for piece, seen in pieces(connection, strand, where=where):
        query = f"SELECT n, {lines} FROM lovia_segments WHERE strand = ? AND n BETWEEN ? AND ?"
        for n, entries in fetch(connection, query, (piece.number, first, min(last, seen))):
            counted.setdefault(n, entries)
    return sum(counted.values())


_COLUMNS = "session_id, n, run_id, entries, meta, checksum, truncated, strand"
_SELECT = (
    "SELECT session_id, n, run_id, CAST(entries AS BLOB), CAST(meta AS BLOB), checksum, truncated, strand, sum"
    " FROM lovia_segments"
)


def _checked(values: tuple[Any, ...], session_id: str, *, where: str) -> SegmentRow:
    row = SegmentRow(*values[:-1])
    if row.sum != values[-1] or row.session_id != session_id:
        raise StoreDamagedError(
            f"segment {row.n} of session {row.session_id!r} (run {row.run_id!r}) is not what was written", where=where
        )
    return row
