"""The right to execute one run, and the only code that adds to one. A save is one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stores import codec
from stores.errors import RunExistsError, StoreError, StoreWriteError, UserError
from stores.records import RunSnapshot, Save
from stores.sqlite import saves
from stores.sqlite.database import Database
from stores.sqlite.folders import flush_commits
from stores.sqlite.forking import begin_fork
from stores.sqlite.locks import RunLock
from stores.sqlite.logs import drop_log, new_log
from stores.sqlite.moments import sets_with
from stores.sqlite.rows import RUNS, RunRow, read_row, update_line

if TYPE_CHECKING:
    from sqlite3 import Connection


class SQLiteLease:
    """A `RunLease`. The checkpointer makes it when it has the run's lock, and ends it with `end`.

    It goes on from the save it has seen last. Whoever got past the lock (somebody removed its folder) moves the
    run on, and is noticed here.
    """

    def __init__(self, database: Database, run_id: str, lock: RunLock) -> None:
        self._database = database
        self._run_id = run_id
        self._lock = lock
        self._last: tuple[int, str] | None = None
        self._is_broken = self._is_over = False

    async def load(self) -> RunSnapshot | None:
        return await self._database.worker.call(self._load)

    async def save(self, save: Save) -> None:
        await self._database.worker.call(self._save, save)

    async def cancel_requested(self) -> bool:
        return await self._database.worker.call(self._lock.is_cancelled)

    def end(self) -> None:
        """Nothing is written any more, and the run is free."""
        self._is_over = True
        self._lock.release()

    def _is_over_error(self) -> StoreWriteError:
        return StoreWriteError(f"the lease of run {self._run_id!r} has ended", hint="take the run again")

    def _load(self) -> RunSnapshot | None:
        if self._is_over:
            raise self._is_over_error()
        with self._database.reading(RUNS) as connection:
            row = read_row(connection, self._run_id, where=self._database.where) if connection else None
            if connection is None or row is None or row.is_deleted:
                return None
            snapshot = saves.read_snapshot(connection, row, where=self._database.where)
        try:
            flush_commits(self._database.path)
        except OSError as error:
            text, hint = f"what is there cannot be flushed: {error.strerror}", "check the disk before you go on"
            raise StoreWriteError(text, where=self._database.where, hint=hint) from error
        return snapshot

    def _save(self, save: Save) -> None:
        self._refuse_when_over()
        data = codec.encode_save(save)
        try:
            with self._database.writing(RUNS) as connection:
                old = self._row(connection, save)
                row = self._begin(connection, old) if old is None or save.number == 1 else old
                self._add(connection, row, save, data)
        except _NotNextError as error:
            raise StoreWriteError(str(error), where=self._database.where, hint="take the run again") from error
        except BaseException:
            self._is_broken = True  # it may have been the commit: whether the save is there is not known
            raise
        self._last = (row.save, row.last)

    def fork(self, source_id: str, forked: Save) -> None:
        """Begin the run with the saves of ``source_id`` before ``forked``, and that one behind them (H2)."""
        self._refuse_when_over()
        data = codec.encode_save(forked)
        try:
            with self._database.writing(RUNS) as connection:
                row = begin_fork(connection, self._run_id, source_id, forked, where=self._database.where)
                self._add(connection, row, forked, data)
        except UserError:
            raise
        except BaseException:
            self._is_broken = True
            raise
        self._last = (row.save, row.last)

    def import_log(self, log: list[Save]) -> None:
        """Begin the run with all these saves, in one transaction."""
        self._refuse_when_over()
        try:
            with self._database.writing(RUNS) as connection:
                if read_row(connection, self._run_id, where=self._database.where) is not None:
                    raise RunExistsError(f"run {self._run_id!r} exists already", hint="use a new run id")
                row = self._begin(connection, None)
                for save in log:
                    self._add(connection, row, save, codec.encode_save(save))
        except UserError:
            raise
        except BaseException:
            self._is_broken = True
            raise
        self._last = (row.save, row.last)

    def _row(self, connection: Connection, save: Save) -> RunRow | None:
        """The run's row as this save finds it, if it is the one that the save follows."""
        row = read_row(connection, self._run_id, where=self._database.where)
        found = (0, "") if row is None or row.is_deleted else (row.save, row.last)
        if self._last is not None and found != self._last:
            raise _NotNextError(f"run {self._run_id!r} has been moved on by another executor")
        if save.number not in (1, found[0] + 1):
            raise _NotNextError(f"save {save.number} of run {self._run_id!r} does not follow save {found[0]}")
        return row

    def _begin(self, connection: Connection, old: RunRow | None) -> RunRow:
        """A new log for a run, or its restart (R4): whatever was stored of it goes in the same transaction."""
        if old:
            remove_run(connection, old, where=self._database.where)
        row = RunRow(run_id=self._run_id, log=new_log(connection, self._run_id))
        row.insert(connection)
        return row

    def _add(self, connection: Connection, row: RunRow, save: Save, data: bytes) -> None:
        session_id = row.session_id
        row.advance(save)
        saves.insert(connection, row, data, sets_with(connection, row, save, where=self._database.where))
        row.update(connection, *(() if row.session_id == session_id else ("session_id",)))
        update_line(connection, self._run_id, save.head, where=self._database.where)

    def _refuse_when_over(self) -> None:
        if self._is_over:
            raise self._is_over_error()
        if self._is_broken:
            raise StoreWriteError(
                f"an earlier save of run {self._run_id!r} failed; nothing more is written", hint="resume the run"
            )


class _NotNextError(StoreError):
    """The save does not follow what is stored: it was not begun, and the lease is as good as before."""


def remove_run(connection: Connection, row: RunRow, *, where: str) -> None:
    """Take the run and its saves out of the database."""
    connection.execute("DELETE FROM lovia_runs WHERE run_id = ?", (row.run_id,))
    drop_log(connection, row.log, row.run_id, where=where)
