"""The SQLite store's checkpointer: leases, listings and history of runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stores import codec
from stores.errors import StoreBusyError, StoreWriteError
from stores.ids import check_id
from stores.lines import Owner, RunInfo, SaveInfo, newest_first
from stores.protocols import RunLease
from stores.records import RunHead, RunSnapshot, Save, Status
from stores.sqlite import saves
from stores.sqlite.database import BUSY_TIMEOUT, Database
from stores.sqlite.lease import SQLiteLease, remove_run
from stores.sqlite.locks import RunLock, SessionLock, leave_cancel, read_owner, read_owners
from stores.sqlite.moments import first_kept, moment
from stores.sqlite.rows import DELETED, RUNS, RunRow, read_lines, read_row
from stores.sqlite.space import give_back
from stores.worker import wait_for


class SQLiteCheckpointer:
    """A `Checkpointer` in one SQLite file, which other stores may share. Its runs can be listed, with their history,
    forked, and exported and imported as whole logs (`RunLog`).

    ``wal=True`` turns the file to WAL mode: one flush a save in place of several, and readers never wait. Another
    process's lock is waited for ``busy_timeout`` seconds, and then it is a `StoreBusyError`. For one machine (R11):
    the leases are locks in the folder ``PATH.locks`` beside the file.
    """

    def __init__(self, path: str | Path | Database, *, wal: bool = False, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self._database = path if isinstance(path, Database) else Database(path, wal=wal, busy_timeout=busy_timeout)
        self._call = self._database.worker.call

    @asynccontextmanager
    async def lease(self, run_id: str) -> AsyncIterator[RunLease]:
        lock = RunLock(self._database, check_id(run_id, "run id"))
        lease = SQLiteLease(self._database, run_id, lock)
        try:
            await wait_for(self._database.worker, lock.try_take, lock.refusal)
            yield lease
        finally:
            await self._call(lease.end)

    async def load(self, run_id: str) -> RunSnapshot | None:
        return await self._call(self._load, check_id(run_id, "run id"))

    def _load(self, run_id: str) -> RunSnapshot | None:
        owner = read_owner(self._database, run_id)
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where) if connection else None
            if connection is None or row is None or row.is_deleted:
                return None
            snapshot = saves.read_snapshot(connection, row, where=self._database.where)
        snapshot.head.status = self._effective(row, owner)[0]
        return snapshot

    def _effective(self, row: RunRow, owner: Owner | None) -> tuple[str, Owner | None]:
        """The run's status (R3) and owner. ``owner`` was looked for before the row was read.

        So it is there unless the run has begun since, and then it is there now.
        """
        if row.status == Status.RUNNING and owner is None:
            owner = read_owner(self._database, row.run_id)
            return (row.status if owner else Status.INTERRUPTED.value), owner
        return row.status, owner

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        check_id(run_id, "run id")
        if not await self._call(self._is_stored, run_id):
            return False
        lock = RunLock(self._database, run_id)
        try:
            await wait_for(self._database.worker, lock.try_take, lock.refusal)
            return await self._call(self._delete, run_id, keep_history)
        finally:
            await self._call(lock.release)

    def _is_stored(self, run_id: str) -> bool:
        with self._database.reading(RUNS) as connection:
            query = "SELECT 1 FROM lovia_runs WHERE run_id = ?"
            return connection is not None and connection.execute(query, (run_id,)).fetchone() is not None

    def _delete(self, run_id: str, keep_history: bool) -> bool:
        with self._database.writing(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where)
            if row is None:
                return False
            existed = not row.is_deleted
            connection.execute("DELETE FROM lovia_cancels WHERE run_id = ?", (run_id,))
            if not keep_history:
                remove_run(connection, row, where=self._database.where)
            elif existed:
                row.status = DELETED
                row.update(connection)
        give_back(self._database)
        return existed

    async def request_cancel(self, run_id: str) -> Owner | None:
        return await self._call(leave_cancel, self._database, check_id(run_id, "run id"))

    async def runs(self) -> list[RunInfo]:
        return await self._call(self._list)

    async def info(self, run_id: str) -> RunInfo | None:
        infos = await self._call(self._list, run_id=check_id(run_id, "run id"))
        return infos[0] if infos else None

    def _list(self, run_id: str | None = None, session_id: str | None = None) -> list[RunInfo]:
        if run_id is None:
            owners = read_owners(self._database)
        else:
            owners = {run_id: owner} if (owner := read_owner(self._database, run_id)) else {}
        with self._database.reading(RUNS) as connection:
            if connection is None:
                return []
            rows = read_lines(connection, where=self._database.where, run_id=run_id, session_id=session_id)
        return newest_first(
            [
                row.info(*self._effective(row, owners.get(row.run_id))) if isinstance(row, RunRow) else row
                for row in rows
            ]
        )

    @asynccontextmanager
    async def open_runs(self, session_id: str) -> AsyncIterator[list[RunInfo]]:
        lock = SessionLock(self._database, check_id(session_id, "session id"))
        try:
            await self._wait_for(lock, session_id)
            yield await self._call(self._list, session_id=session_id)
        finally:
            await self._call(lock.release)

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        return await self._call(self._list, session_id=check_id(session_id, "session id"))

    async def _wait_for(self, lock: SessionLock, session_id: str) -> None:
        """Take the session's lock, which is no transaction: others go on reading and writing meanwhile."""
        patience = self._database.busy_timeout

        def refusal() -> StoreBusyError:
            hint = "another lovia is beginning a run in it; try again"
            return StoreBusyError(f"session {session_id!r} stayed locked for {patience:g} s", hint=hint)

        await wait_for(self._database.worker, lock.try_take, refusal, patience)

    async def settle(self, run_id: str) -> None:
        await self._call(self._settle, check_id(run_id, "run id"))

    def _settle(self, run_id: str) -> None:
        """Nothing is written where nothing changes: a store that takes no write may be replayed from (R6)."""
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where) if connection else None
        if row is None or row.settled:
            return
        with self._database.writing(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where)
            if row is not None and not row.settled:
                row.settled = 1
                row.update(connection, "settled")

    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        return await self._call(self._history, check_id(run_id, "run id"), limit)

    def _history(self, run_id: str, limit: int | None) -> list[SaveInfo]:
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where) if connection else None
            if connection is None or row is None or (limit is not None and limit <= 0):
                return []
            first = first_kept(connection, row, where=self._database.where)
            first = first if limit is None else max(first, row.save - limit + 1)
            return saves.read_history(connection, row, first, where=self._database.where)

    async def kept_histories(self) -> list[RunInfo]:
        return await self._call(self._kept)

    async def kept_info(self, run_id: str) -> RunInfo | None:
        infos = await self._call(self._kept, check_id(run_id, "run id"))
        return infos[0] if infos else None

    def _kept(self, run_id: str | None = None) -> list[RunInfo]:
        with self._database.reading(RUNS) as connection:
            if connection is None:
                return []
            rows = read_lines(connection, where=self._database.where, run_id=run_id, deleted=True)
        return newest_first([row.info(DELETED, None) if isinstance(row, RunRow) else row for row in rows])

    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return await self._call(self._snapshot, check_id(run_id, "run id"), save)

    def _snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where) if connection else None
            if connection is None or row is None:
                return None
            if not first_kept(connection, row, where=self._database.where) <= save <= row.save:
                return None
            return saves.read_snapshot(connection, row, upto=save, where=self._database.where)

    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        return await self._call(self._moment, check_id(run_id, "run id"), step, save)

    def _moment(self, run_id: str, step: int | None, save: int | None) -> RunHead | None:
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, run_id, where=self._database.where) if connection else None
            if connection is None or row is None:
                return None
            return moment(connection, row, step=step, save=save, where=self._database.where)

    async def read_log(self, run_id: str) -> list[Save]:
        return await self._call(self._read_log, check_id(run_id, "run id"))

    def _read_log(self, run_id: str) -> list[Save]:
        where = self._database.where
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, run_id, where=where) if connection else None
            if connection is None or row is None:
                return []
            found = saves.read_saves(connection, row, 1, row.save, where=where)
            return [codec.decode_save(record, where=where, run_id=run_id) for _, record in found]

    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        if not isinstance(lease, SQLiteLease):
            raise StoreWriteError("an import needs the lease of its own run", hint="take the run first")
        await self._call(lease.import_log, saves)

    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        if not isinstance(lease, SQLiteLease):
            raise StoreWriteError("a fork needs the lease of its own run", hint="take the run first")
        await self._call(lease.fork, check_id(run_id, "run id"), forked)
