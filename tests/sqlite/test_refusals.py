"""What SQLite refuses, as errors of ours: locked, full, read-only, broken. What was acknowledged stays (R9)."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.errors import StoreBusyError, StoreDamagedError, StoreError, StoreWriteError
from stores.records import fold
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.database import Database
from stores.sqlite.faults import store_error
from stores.sqlite.rows import RUNS
from stores.sqlite.segments import SESSIONS
from tests.sqlite.kit import fill, long_run

pytestmark = pytest.mark.anyio

FAR_TOO_LARGE = "x" * 500_000


async def test_s8_a_locked_database_is_busy_after_a_bounded_time(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    runs, sessions = SQLiteCheckpointer(path, busy_timeout=0.05), SQLiteSession(path, busy_timeout=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        asked = [lambda: runs.load("r"), lambda: runs.runs(), lambda: sessions.load("s"), lambda: runs.settle("r")]
        for ask in [*asked, lambda: sessions.append("s", [say("new")], run_id="new")]:
            with pytest.raises(StoreBusyError) as refusal:
                await ask()
            assert refusal.value.where == str(path)
            assert refusal.value.retryable
        other.execute("ROLLBACK")
    assert len(await sessions.load("s")) == 3
    assert await runs.load("r") is not None


async def test_s8_turning_wal_on_waits_for_whoever_is_writing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        appended = asyncio.create_task(SQLiteSession(path, wal=True).append("s", [say("new")], run_id="new"))
        await asyncio.wait([appended], timeout=0.3)
        assert not appended.done()
        other.execute("ROLLBACK")
        assert await appended == "new"
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_r9_after_a_failed_save_the_lease_writes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    runs = SQLiteCheckpointer(path, busy_timeout=0.05)
    async with runs.lease("r") as lease:
        await lease.save(long_run()[0])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusyError):
                await lease.save(long_run()[1])
        with pytest.raises(StoreWriteError):
            await lease.save(long_run()[1])
        exactly(await lease.load(), fold("r", long_run()[:1]))
    await write(runs, "r", *long_run()[1:])
    exactly(await runs.load("r"), fold("r", long_run()))


@pytest.mark.parametrize("wal", [False, True])
async def test_r9_a_full_disk_keeps_what_was_saved(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "store.db"
    database = Database(path, wal=wal)
    runs = SQLiteCheckpointer(database)
    async with runs.lease("r") as lease:
        await lease.save(long_run()[0])
        with database.writing(RUNS) as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(StoreWriteError) as refusal:
            await lease.save(saved(2, say(FAR_TOO_LARGE), step=1))
        assert "full" in refusal.value.message
        assert "free some disk space" in (refusal.value.hint or "")
        with pytest.raises(StoreWriteError):
            await lease.save(long_run()[1])
        exactly(await lease.load(), fold("r", long_run()[:1]))
    await write(SQLiteCheckpointer(path), "r", *long_run()[1:])
    exactly(await SQLiteCheckpointer(path).load("r"), fold("r", long_run()))


async def test_s8_a_full_disk_appends_no_part_of_a_segment(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    session = SQLiteSession(database)
    await session.append("s", [say("one")], run_id="r1")
    with database.writing(SESSIONS) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(StoreWriteError):
        await session.append("s", [say(FAR_TOO_LARGE)], run_id="r2")
    exactly(await session.load("s"), [say("one")])
    assert await session.append("s", [say("small")], run_id="r2") == "r2"
    (line,) = await session.sessions()
    assert (line.segments, line.entries) == (2, 2)


async def test_s8_a_read_only_database_is_an_error_with_a_hint(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    session = SQLiteSession(database)
    await session.append("s", [say("one")], run_id="r1")
    with database.reading(SESSIONS) as connection:
        assert connection is not None
        connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreWriteError) as refusal:
        await session.append("s", [say("two")], run_id="r2")
    assert "read-only" in refusal.value.message
    assert "writable" in (refusal.value.hint or "")
    exactly(await session.load("s"), [say("one")])


EXPECTED = {
    sqlite3.SQLITE_BUSY_SNAPSHOT: StoreBusyError,
    sqlite3.SQLITE_LOCKED_SHAREDCACHE: StoreBusyError,
    sqlite3.SQLITE_FULL: StoreWriteError,
    sqlite3.SQLITE_READONLY_DBMOVED: StoreWriteError,
    sqlite3.SQLITE_IOERR_FSYNC: StoreWriteError,
    sqlite3.SQLITE_IOERR_DIR_FSYNC: StoreWriteError,
    sqlite3.SQLITE_CANTOPEN: StoreWriteError,
    sqlite3.SQLITE_TOOBIG: StoreWriteError,
    sqlite3.SQLITE_CORRUPT_INDEX: StoreDamagedError,
    sqlite3.SQLITE_NOTADB: StoreDamagedError,
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: StoreDamagedError,
    sqlite3.SQLITE_ERROR: StoreDamagedError,
    sqlite3.SQLITE_INTERRUPT: StoreError,
    None: StoreDamagedError,
}


@pytest.mark.parametrize("code", EXPECTED)
def test_s8_every_error_of_sqlite_has_one_of_ours(code: int | None) -> None:
    error = sqlite3.OperationalError("what SQLite says")
    if code is not None:
        error.sqlite_errorcode = code
    ours = store_error(error, "/a/store.db")
    assert type(ours) is EXPECTED[code]
    assert "what SQLite says" in ours.message or ours.code == "store_busy"
    assert (ours.where, bool(ours.hint)) == ("/a/store.db", True)
