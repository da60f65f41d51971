"""The SQLite store keeps the whole contract: in both journal modes, alone in its file and beside the other store."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from stores.conformance import (
    CheckpointerContract,
    ForkContract,
    HistoryContract,
    KeptHistoriesContract,
    KeptHistoryLookupContract,
    LeaseContract,
    OpenRunLookupContract,
    ResultStoreContract,
    RewindContract,
    RunIndexContract,
    RunLogContract,
    SessionContract,
    SessionForkContract,
    SessionImportContract,
    SessionIndexContract,
    SessionLookupContract,
    SharedCheckpointerContract,
    SharedSessionContract,
    TrimContract,
)
from stores.conformance.checks import saved, write
from stores.conformance.samples import say
from stores.sqlite import SQLiteCheckpointer, SQLiteResultStore, SQLiteSession


class SessionSuite(SessionContract, SessionIndexContract, SessionLookupContract):
    wal = False

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    async def open(self) -> SQLiteSession:
        return self.recipe()()

    def recipe(self) -> Callable[[], SQLiteSession]:
        return partial(SQLiteSession, self.path, wal=self.wal)


class CheckpointerSuite(
    CheckpointerContract,
    LeaseContract,
    RunIndexContract,
    OpenRunLookupContract,
    HistoryContract,
    KeptHistoriesContract,
    KeptHistoryLookupContract,
):
    wal = False

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    async def open(self) -> SQLiteCheckpointer:
        return self.recipe()()

    def recipe(self) -> Callable[[], SQLiteCheckpointer]:
        return partial(SQLiteCheckpointer, self.path, wal=self.wal)


@pytest.mark.anyio
class TestSQLiteSession(
    SessionSuite, RewindContract, TrimContract, SessionForkContract, SessionImportContract, SharedSessionContract
):
    pass


@pytest.mark.anyio
class TestSQLiteSessionInWAL(
    SessionSuite, RewindContract, TrimContract, SessionForkContract, SessionImportContract, SharedSessionContract
):
    wal = True


@pytest.mark.anyio
class TestSQLiteCheckpointer(CheckpointerSuite, ForkContract, RunLogContract, SharedCheckpointerContract):
    pass


@pytest.mark.anyio
class TestSQLiteCheckpointerInWAL(CheckpointerSuite, ForkContract, RunLogContract, SharedCheckpointerContract):
    wal = True


@pytest.mark.anyio
class TestSQLiteSessionBesideRuns(SessionSuite):
    """Runs of the same ids are in the same file."""

    wal = True

    async def open(self) -> SQLiteSession:
        if not self.path.exists():
            for run_id in ("s", "r1"):
                await write(SQLiteCheckpointer(self.path, wal=True), run_id, saved(1, say("a run"), session_id="s"))
        return await super().open()


@pytest.mark.anyio
class TestSQLiteCheckpointerBesideSessions(CheckpointerSuite):
    """Sessions of the same ids are in the same file."""

    wal = True

    async def open(self) -> SQLiteCheckpointer:
        if not self.path.exists():
            for session_id in ("s", "r"):
                await SQLiteSession(self.path, wal=True).append(session_id, [say("a segment")], run_id="r")
        return await super().open()


@pytest.mark.anyio
class TestSQLiteResultStore(ResultStoreContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    async def open(self) -> SQLiteResultStore:
        return SQLiteResultStore(self.path)
