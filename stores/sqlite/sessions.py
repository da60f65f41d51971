"""The SQLite store's sessions: append-only logs of segments."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stores.entries import JSON, Entry
from stores.errors import ConflictError, SegmentDiffersError, StoreDamagedError
from stores.ids import check_id, new_id
from stores.lines import SessionInfo, newest_first
from stores.protocols import ResultStore
from stores.records import Segment
from stores.sqlite import session_forking
from stores.sqlite.database import BUSY_TIMEOUT, Database
from stores.sqlite.rewinding import rewind
from stores.sqlite.segments import (
    SESSIONS,
    SessionRow,
    add_segment,
    list_sessions,
    read_segments,
    read_session,
    stored_checksum,
)
from stores.sqlite.space import give_back
from stores.sqlite.strands import Strand, release, strand_of
from stores.sqlite.trimming import Trim
from stores.surgery import check_count, entries_checksum
from stores.values import plain

if TYPE_CHECKING:
    from sqlite3 import Connection


class SQLiteSession:
    """A `Session` in one SQLite file, which other stores may share. It can be listed, rewound, trimmed,
    forked and imported.

    ``wal=True`` turns the file to WAL mode at the first write; with False it stays what it is. Another process's lock
    is waited for ``busy_timeout`` seconds, and then it is a `StoreBusyError`.
    """

    def __init__(self, path: str | Path | Database, *, wal: bool = False, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self._database = path if isinstance(path, Database) else Database(path, wal=wal, busy_timeout=busy_timeout)
        self._call = self._database.worker.call

    async def segments(self, session_id: str) -> list[Segment]:
        return await self._call(self._segments, check_id(session_id, "session id"))

    def _segments(self, session_id: str) -> list[Segment]:
        with self._database.reading(SESSIONS) as connection:
            row = read_session(connection, session_id, where=self._database.where) if connection else None
            if connection is None or row is None:
                return []
            return read_segments(connection, row, where=self._database.where)

    async def load(self, session_id: str) -> list[Entry]:
        return [entry for segment in await self.segments(session_id) for entry in segment.entries]

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: dict[str, JSON] | None = None
    ) -> str:
        check_id(session_id, "session id")
        run_id = new_id() if run_id is None else check_id(run_id, "run id")
        await self._call(self._append, session_id, entries, run_id, plain(meta or {}))
        return run_id

    def _append(self, session_id: str, entries: list[Entry], run_id: str, meta: dict[str, JSON]) -> None:
        """What is stored needs no write, so that a store that takes none is no hindrance (R6).

        Else one transaction from the look at what is stored to the commit: of two that race, one finds the other's.
        """
        total = entries_checksum(entries)
        with self._database.reading(SESSIONS) as connection:
            if connection is not None and _holds(connection, session_id, run_id, total, where=self._database.where):
                return
        with self._database.writing(SESSIONS) as connection:
            if not _holds(connection, session_id, run_id, total, where=self._database.where):
                row = read_session(connection, session_id, where=self._database.where) or SessionRow(session_id)
                add_segment(connection, row, run_id, entries, meta, total, where=self._database.where)

    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        for segment in segments:
            check_id(segment.run_id, "run id")
        await self._call(self._import, check_id(session_id, "session id"), segments)

    def _import(self, session_id: str, segments: list[Segment]) -> None:
        where = self._database.where
        with self._database.writing(SESSIONS) as connection:
            if read_session(connection, session_id, where=where):
                raise ConflictError(f"session {session_id!r} exists already", hint="look at it: lovia history")
            row = SessionRow(session_id, updated_at=time.time())
            row.write(connection)
            for one in segments:
                total = entries_checksum(one.entries)
                meta, cut = plain(one.meta), one.truncated
                add_segment(connection, row, one.run_id, one.entries, meta, total, truncated=cut, where=where)

    async def clear(self, session_id: str) -> None:
        await self._call(self._clear, check_id(session_id, "session id"))

    def _clear(self, session_id: str) -> None:
        with self._database.reading(SESSIONS) as connection:
            if connection is None or not list_sessions(connection, session_id, where=self._database.where):
                return
        with self._database.writing(SESSIONS) as connection:
            strand = _strand_to_go(connection, session_id, where=self._database.where)
            connection.execute("DELETE FROM lovia_sessions WHERE session_id = ?", (session_id,))
            if strand:
                release(connection, strand)
        give_back(self._database)

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        check_id(session_id, "session id")
        check_count("keep_entries", keep_entries)
        return await self._call(self._rewind, session_id, keep_entries)

    def _rewind(self, session_id: str, keep_entries: int) -> int:
        with self._database.reading(SESSIONS) as connection:
            row = read_session(connection, session_id, where=self._database.where) if connection else None
        if row is None or (keep_entries and keep_entries >= row.entries):
            return 0
        with self._database.writing(SESSIONS) as connection:
            removed = rewind(connection, session_id, keep_entries, where=self._database.where)
        give_back(self._database)
        return removed

    async def trim_tool_results(
        self, session_id: str, *, keep_chars: int = 400, keep_runs: int = 1, archive: ResultStore | None = None
    ) -> int:
        check_id(session_id, "session id")
        check_count("keep_chars", keep_chars)
        check_count("keep_runs", keep_runs)
        trimmed = await Trim(self._database, session_id, keep_chars, keep_runs, archive).carry_out()
        if trimmed:
            await self._call(give_back, self._database)
        return trimmed

    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        if session_id is not None:
            check_id(session_id, "session id")
        await self._call(self._fork, session_id, check_id(new_id, "session id"), upto)

    def _fork(self, session_id: str | None, new_id: str, upto: str | None) -> None:
        if session_id is None or upto is None:
            with self._database.reading(SESSIONS) as connection:
                if connection is not None:
                    session_forking.refuse_taken(connection, new_id, where=self._database.where)
            return
        with self._database.writing(SESSIONS) as connection:
            session_forking.prepare(connection, session_id, new_id, upto, where=self._database.where)

    async def confirm_fork(self, new_id: str) -> None:
        await self._call(self._confirm, check_id(new_id, "session id"))

    def _confirm(self, new_id: str) -> None:
        with self._database.writing(SESSIONS) as connection:
            session_forking.confirm(connection, new_id, where=self._database.where)

    async def drop_fork(self, new_id: str) -> bool:
        return await self._call(self._drop, check_id(new_id, "session id"))

    def _drop(self, new_id: str) -> bool:
        with self._database.writing(SESSIONS) as connection:
            return session_forking.drop(connection, new_id, where=self._database.where)

    async def sessions(self) -> list[SessionInfo]:
        return await self._call(self._list)

    async def session_info(self, session_id: str) -> SessionInfo | None:
        infos = await self._call(self._list, check_id(session_id, "session id"))
        return infos[0] if infos else None

    def _list(self, session_id: str | None = None) -> list[SessionInfo]:
        with self._database.reading(SESSIONS) as connection:
            infos = list_sessions(connection, session_id, where=self._database.where) if connection else []
        return newest_first(infos)

    async def has_segment(self, session_id: str, run_id: str) -> bool:
        check_id(session_id, "session id")
        return await self._call(self._has_segment, session_id, check_id(run_id, "run id"))

    def _has_segment(self, session_id: str, run_id: str) -> bool:
        with self._database.reading(SESSIONS) as connection:
            if connection is None:
                return False
            return stored_checksum(connection, session_id, run_id, where=self._database.where) is not None


def _strand_to_go(connection: Connection, session_id: str, *, where: str) -> Strand | None:
    """The strand of a session that goes, whose row may be damaged. But nobody shall find its segments afterwards."""
    row = None
    with suppress(StoreDamagedError):
        row = read_session(connection, session_id, where=where)
    return row.strand(connection, where=where) if row else strand_of(connection, session_id, where=where)


def _holds(connection: Connection, session_id: str, run_id: str, total: str, *, where: str) -> bool:
    """True when the very segment is stored; raises where another has its run id (S3)."""
    stored = stored_checksum(connection, session_id, run_id, where=where)
    if stored not in (None, total):
        raise SegmentDiffersError.of(session_id, run_id)
    return stored is not None
