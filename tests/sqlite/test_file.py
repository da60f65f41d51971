"""The file itself: who may read it, what makes it, how it is flushed, and what else is in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.errors import StoreError, UserError
from stores.records import fold
from stores.references import ResultRef
from stores.sqlite import SQLiteCheckpointer, SQLiteResultStore, SQLiteSession, SQLiteStore
from stores.sqlite.database import Database
from stores.sqlite.rows import RUNS
from tests.sqlite.kit import fill, long_run, names, raw

pytestmark = pytest.mark.anyio


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("umask", [0, 0o777])
@pytest.mark.parametrize("wal", [False, True])
async def test_s8_only_its_user_may_read_it_and_what_stands_beside_it(tmp_path: Path, umask: int, wal: bool) -> None:
    path = tmp_path / "store.db"
    before = os.umask(umask)
    try:
        database = Database(path, wal=wal)
        async with SQLiteCheckpointer(database).lease("r") as lease:
            await lease.save(saved(1, say("hello")))
            with database.writing(RUNS) as connection:
                connection.execute("DELETE FROM lovia_cancels")
                connection.execute("INSERT INTO lovia_cancels VALUES ('r', 'x')")
                beside = [name for name in names(tmp_path) if name != "store.db.locks"]
                modes = {name: mode(tmp_path / name) for name in beside}
            locks = [mode(tmp_path / "store.db.locks" / name) for name in names(tmp_path / "store.db.locks")]
    finally:
        os.umask(before)
    journals = ["store.db-shm", "store.db-wal"] if wal else ["store.db-journal"]
    assert modes == dict.fromkeys(["store.db", *journals], 0o600)
    assert mode(tmp_path / "store.db.locks") == 0o700
    assert [found & 0o077 for found in locks] == [0] * len(locks)
    assert locks.count(0o600) >= 1, "the owner's note can be read by the user"


async def test_r11_the_owners_note_is_written_through_no_link(tmp_path: Path) -> None:
    store, precious = SQLiteCheckpointer(tmp_path / "store.db"), tmp_path / "precious"
    precious.write_text("mine")
    async with store.lease("r") as lease:
        await lease.save(saved(1, say("hello")))
        (note,) = (tmp_path / "store.db.locks").glob("*.owner.json")
    note.with_name(f"{note.name}.tmp").symlink_to(precious)
    with pytest.raises(StoreError, match="cannot lock"):
        async with store.lease("r"):
            pass
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("name", ["store.db-journal", "store.db-wal", "store.db-shm", "store.db.locks"])
async def test_s8_a_link_in_the_place_of_a_file_beside_it_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "store.db"
    await SQLiteSession(path).append("s", [say("one")], run_id="r")
    (tmp_path / name).symlink_to(tmp_path)
    with pytest.raises(StoreError, match="a link stands in the place") as refusal:
        async with SQLiteCheckpointer(path).lease("r") as lease:
            await lease.load()
    assert refusal.value.where == str(tmp_path / name)


async def test_s8_another_users_file_is_refused(tmp_path: Path) -> None:
    path = Path("/etc/passwd")
    if os.geteuid() == 0:
        path = tmp_path / "store.db"
        path.touch()
        os.chown(path, 12345, -1)
    for ask in (SQLiteSession(path).sessions, SQLiteCheckpointer(path).runs):
        with pytest.raises(StoreError, match="belongs to user"):
            await ask()


async def test_s8_reading_creates_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "store.db", tmp_path / "missing" / "store.db"):
        runs, sessions = SQLiteCheckpointer(path, wal=True), SQLiteSession(path, wal=True)
        assert (await runs.load("r"), await runs.info("r"), await runs.snapshot("r", 1)) == (None, None, None)
        assert (await runs.runs(), await runs.history("r"), await runs.delete("r")) == ([], [], False)
        assert await runs.request_cancel("r") is None
        await runs.settle("r")
        assert (await sessions.segments("s"), await sessions.load("s"), await sessions.sessions()) == ([], [], [])
        assert await sessions.has_segment("s", "r") is False
        await sessions.clear("s")
    assert names(tmp_path) == []


async def test_s8_reading_leaves_a_file_of_something_else_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with raw(path) as connection:
        connection.execute("CREATE TABLE runs (id)")
    before = path.read_bytes()
    assert await SQLiteCheckpointer(path, wal=True).runs() == []
    assert await SQLiteSession(path, wal=True).load("s") == []
    assert path.read_bytes() == before


async def test_s8_the_first_write_makes_the_folders_above_it_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "store.db"
    await SQLiteSession(path).append("s", [say("one")], run_id="r")
    assert [mode(path.parent), mode(path.parent.parent), mode(path)] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("umask", [0, 0o777])
async def test_s8_the_first_lease_makes_the_folders_above_it_for_this_user_alone(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "a" / "b" / "store.db"
    before = os.umask(umask)
    try:
        async with SQLiteCheckpointer(path).lease("r") as lease:
            await lease.save(saved(1, say("hello")))
    finally:
        os.umask(before)
    assert [mode(folder) for folder in (*path.parents[:2], path.with_name("store.db.locks"))] == [0o700] * 3


async def test_s8_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(StoreError):
        async with SQLiteCheckpointer(tmp_path / "a" / "b" / "store.db").lease("r"):
            pass
    with pytest.raises(StoreError):
        await SQLiteSession(tmp_path / "a" / "store.db").append("s", [say("one")], run_id="r")


async def test_s8_an_empty_file_is_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    assert await SQLiteCheckpointer(path).runs() == []
    await write(SQLiteCheckpointer(path), "r", *long_run())
    exactly(await SQLiteCheckpointer(path).load("r"), fold("r", long_run()))


def settings(database: Database) -> dict[str, object]:
    names = ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
    with database.writing(RUNS) as connection:
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}


async def test_s8_commits_are_flushed_and_locks_waited_for_in_both_modes(tmp_path: Path) -> None:
    shared = {"busy_timeout": 30_000, "foreign_keys": 1}
    rollback = {"journal_mode": "delete", "synchronous": 3, **shared}
    in_wal = {"journal_mode": "wal", "synchronous": 2, **shared}
    assert settings(Database(tmp_path / "rollback.db")) == rollback
    assert settings(Database(tmp_path / "wal.db", wal=True)) == in_wal
    assert settings(Database(tmp_path / "wal.db")) == in_wal
    assert settings(Database(tmp_path / "rollback.db", wal=True)) == in_wal


@pytest.mark.parametrize(("wal", "expected"), [(False, ["."]), (True, ["store.db-wal", "."])])
async def test_r1_what_a_killed_writer_committed_is_flushed_before_its_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wal: bool, expected: list[str]
) -> None:
    """It may have been killed before its last flush: a power cut could take the commit away again."""
    store, flush, flushed = SQLiteCheckpointer(tmp_path / "store.db", wal=wal), os.fsync, []

    def fsync(fd: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{fd}").readlink().relative_to(tmp_path)))
        flush(fd)

    async with store.lease("r") as lease:
        await lease.save(saved(1, say("hello")))
    monkeypatch.setattr(os, "fsync", fsync)
    async with store.lease("r") as lease:
        flushed.clear()
        assert await lease.load()
        assert flushed == expected


async def test_s8_tables_of_something_else_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with raw(path) as connection:
        connection.executescript(
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, x); INSERT INTO runs VALUES (1, 'kept'), (2, NULL);"
            "CREATE INDEX sessions ON runs (x); PRAGMA user_version = 7; PRAGMA application_id = 9;"
        )
        before = list(connection.iterdump())
    await fill(path)
    with raw(path) as connection:
        theirs = [line for line in connection.iterdump() if "lovia_" not in line and "sqlite_sequence" not in line]
        assert [line for line in theirs if "''" not in line][: len(before) - 1] == before[:-1]
        numbers = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")]
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert numbers == [7, 9]
    assert {name for name in names if not name.startswith(("lovia_", "sqlite_"))} == {"runs", "sessions"}


@pytest.mark.parametrize("wal", [False, True])
async def test_s8_sessions_and_runs_may_share_a_file_or_not(tmp_path: Path, wal: bool) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    for runs_at, sessions_at in ((one, one), (one, other)):
        run_id = f"in {sessions_at.name}"
        await write(SQLiteCheckpointer(runs_at, wal=wal), run_id, *long_run())
        await SQLiteSession(sessions_at, wal=wal).append("s", [say("one")], run_id=run_id)
        exactly(await SQLiteCheckpointer(runs_at).load(run_id), fold(run_id, long_run()))
        exactly(await SQLiteSession(sessions_at).load("s"), [say("one")])
    with raw(one) as connection:
        assert sorted(connection.execute("SELECT part FROM lovia_schema")) == [("runs",), ("sessions",)]
    with raw(other) as connection:
        assert list(connection.execute("SELECT part FROM lovia_schema")) == [("sessions",)]


async def test_s8_a_store_is_everything_in_one_file(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db", wal=True)
    await write(store.checkpointer, "r", *long_run())
    await store.session.append("s", [say("one")], run_id="r")
    assert store.results.is_begun() is False
    await store.results.put(ResultRef("r", 1, 1), "rain")
    assert store.results.is_begun() is True
    assert await SQLiteResultStore(store.path).get(ResultRef("r", 1, 1)) == "rain"
    exactly(await SQLiteCheckpointer(store.path).load("r"), fold("r", long_run()))
    exactly(await SQLiteSession(store.path).load("s"), [say("one")])


@pytest.mark.parametrize("wal", [False, True])
async def test_r9_a_file_that_was_removed_or_replaced_is_noticed(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "store.db"
    session = SQLiteSession(path, wal=wal)
    await session.append("s", [say("old")], run_id="r1")
    for name in names(tmp_path):
        (tmp_path / name).unlink()
    assert await session.load("s") == []
    await session.append("s", [say("new")], run_id="r2")
    exactly(await SQLiteSession(path).load("s"), [say("new")])


async def test_s8_a_link_leads_to_the_same_store_and_the_same_leases(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "store.db")
    await write(SQLiteCheckpointer(link), "r", *long_run())
    exactly(await SQLiteCheckpointer(tmp_path / "store.db").load("r"), fold("r", long_run()))
    assert names(tmp_path) == ["link.db", "store.db", "store.db.locks"]


@pytest.mark.parametrize("name", ["a b.db", "a?b#c%20.db", "é.db", "-rf.db", "file:x.db"])
async def test_s8_any_file_name_is_a_name(tmp_path: Path, name: str) -> None:
    await SQLiteSession(tmp_path / name).append("s", [say("one")], run_id="r")
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b"])
def test_s8_what_is_no_file_is_refused(path: str) -> None:
    for store in (SQLiteSession, SQLiteCheckpointer, SQLiteStore):
        with pytest.raises(UserError) as refusal:
            store(path)
        assert "InMemorySession" in (refusal.value.hint or "")


async def test_s8_what_cannot_be_a_database_is_an_error_with_a_place(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    for path in (tmp_path, file / "store.db", ring):
        with pytest.raises(StoreError) as refusal:
            await SQLiteSession(path).append("s", [say("one")], run_id="r")
        assert str(path) in str(refusal.value.where)


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_importing_the_store_loads_no_driver() -> None:
    loaded = python("import sys, stores.sqlite; print(*[n for n in ('sqlite3', 'filelock') if n in sys.modules])")
    assert loaded.strip() == ""


@pytest.mark.parametrize("wal", [False, True])
def test_s8_a_forked_process_goes_on_with_a_connection_of_its_own(tmp_path: Path, wal: bool) -> None:
    found = python(f"""
import asyncio, os
from stores.conformance.samples import say
from stores.sqlite import SQLiteSession
session = SQLiteSession({str(tmp_path / "store.db")!r}, wal={wal})
append = lambda name: asyncio.run(session.append("s", [say(name)], run_id=name))
append("before")
child = os.fork()
append("child" if child == 0 else "parent")
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
append("after")
print(sorted(entry.text for entry in asyncio.run(session.load("s"))))
""")
    assert found.strip() == "['after', 'before', 'child', 'parent']"
