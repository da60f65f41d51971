"""Versions of the tables (D1): an older one is migrated at the first open, a newer one is refused."""

import sqlite3
from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import call, say
from stores.errors import StoreDamagedError, StoreVersionError
from stores.records import fold
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.database import Database
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.schema import Part
from tests.sqlite.kit import change, fill, long_run, raw

pytestmark = pytest.mark.anyio

FIRST = ("CREATE TABLE lovia_things (name TEXT)", "INSERT INTO lovia_things VALUES ('old')")
SECOND = ("ALTER TABLE lovia_things ADD COLUMN size INTEGER", "UPDATE lovia_things SET size = length(name)")
OLD_RUN = [
    saved(1, say("hello"), session_id="s", agent="a", config={"model": "m"}),
    saved(2, call(1), step=1),
]
OLD_SEGMENTS = [("r1", {"n": 1}, False), ("r2", {"n": 2}, False)]
ONE = Part("things", (FIRST,))
TWO = Part("things", (FIRST, SECOND))
BROKEN = Part("things", (FIRST, (*SECOND, "INSERT INTO nowhere VALUES (1)")))


def dump(path: Path) -> list[str]:
    with raw(path) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize("part", ["runs", "sessions"])
async def test_d1_a_newer_version_is_refused_whatever_is_asked(tmp_path: Path, part: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "UPDATE lovia_schema SET version = 999 WHERE part = ?", part)
    before = dump(path)
    runs, sessions = SQLiteCheckpointer(path), SQLiteSession(path)
    asked = {
        "runs": [
            lambda: runs.load("r"),
            lambda: runs.runs(),
            lambda: runs.info("r"),
            lambda: runs.history("r"),
            lambda: runs.delete("r"),
            lambda: runs.settle("r"),
            lambda: write(runs, "r", *long_run()),
            lambda: write(runs, "new", *long_run()),
        ],
        "sessions": [
            lambda: sessions.load("s"),
            lambda: sessions.sessions(),
            lambda: sessions.clear("s"),
            lambda: sessions.append("s", [say("new")], run_id="new"),
        ],
    }
    for ask in asked[part]:
        with pytest.raises(StoreVersionError) as refusal:
            await ask()
        assert refusal.value.where == str(path)
        assert "999" in refusal.value.message
        assert "upgrade lovia" in (refusal.value.hint or "")
    assert dump(path) == before


async def test_d1_the_other_store_in_the_file_is_not_hurt_by_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "UPDATE lovia_schema SET version = 999 WHERE part = 'runs'")
    assert len(await SQLiteSession(path).load("s")) == 3
    await SQLiteSession(path).append("s", [say("more")], run_id="more")
    assert len(await SQLiteSession(path).load("s")) == 4


async def test_d1_a_version_that_passes_while_the_store_is_open_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    runs = SQLiteCheckpointer(path)
    async with runs.lease("r") as lease:
        await lease.save(long_run()[0])
        change(path, "UPDATE lovia_schema SET version = 999 WHERE part = 'runs'")
        with pytest.raises(StoreVersionError):
            await lease.save(long_run()[1])
        with pytest.raises(StoreVersionError):
            await lease.load()


@pytest.mark.parametrize("version", ["many", -1, 1.5])
async def test_d3_a_version_that_is_none_is_damage(tmp_path: Path, version: object) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "UPDATE lovia_schema SET version = ? WHERE part = 'runs'", version)
    with pytest.raises(StoreDamagedError):
        await SQLiteCheckpointer(path).runs()


def things(path: Path, part: Part) -> list[tuple[object, ...]]:
    with Database(path).reading(part) as connection:
        assert connection is not None
        return connection.execute("SELECT * FROM lovia_things").fetchall()


def test_d1_an_older_version_is_migrated_by_whoever_opens_it_first(tmp_path: Path) -> None:
    for opened in ("reading", "writing"):
        path = tmp_path / opened
        with Database(path).writing(ONE):
            pass
        assert things(path, ONE) == [("old",)]
        with getattr(Database(path), opened)(TWO) as connection:
            assert connection.execute("SELECT * FROM lovia_things").fetchall() == [("old", 3)]
        with raw(path) as connection:
            assert list(connection.execute("SELECT * FROM lovia_schema")) == [("things", 2)]


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """A file as the first version left it: run r was killed in session s, which has the segments r1 and r2."""
    path = tmp_path / "old.db"
    with raw(path) as connection:
        connection.executescript(Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8"))
    path.chmod(0o600)
    return path


async def test_d1_a_file_of_the_first_version_is_whole_and_goes_on(version_1: Path) -> None:
    runs, sessions = SQLiteCheckpointer(version_1), SQLiteSession(version_1)
    async with runs.lease("r") as lease:
        exactly(await lease.load(), fold("r", OLD_RUN))
    exactly([(one.run_id, one.meta, one.truncated) for one in await sessions.segments("s")], OLD_SEGMENTS)
    await sessions.append("s", [say("question 3")], run_id="r3")
    assert await sessions.rewind("s", keep_entries=3) == 2
    again = SQLiteSession(version_1)
    exactly(
        [(one.run_id, one.meta, one.truncated) for one in await again.segments("s")],
        [OLD_SEGMENTS[0], ("r2", {}, True)],
    )
    assert check(version_1) == []


async def test_d1_the_doctor_looks_at_an_older_file_and_leaves_it_so(version_1: Path) -> None:
    before = dump(version_1)
    assert check(version_1) == []
    assert dump(version_1) == before
    change(version_1, "UPDATE lovia_segments SET entries = '[]' WHERE n = 1")
    damaged = dump(version_1)
    assert [finding.repairable for finding in check(version_1)] == [True]
    assert dump(version_1) == damaged
    repair(version_1)
    assert [one.run_id for one in await SQLiteSession(version_1).segments("s")] == ["r2"]


def test_d1_a_new_file_goes_through_every_step(tmp_path: Path) -> None:
    with Database(tmp_path / "store.db").writing(TWO) as connection:
        assert connection.execute("SELECT * FROM lovia_things").fetchall() == [("old", 3)]


def test_d1_a_migration_that_fails_leaves_the_older_version(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Database(path).writing(ONE):
        pass
    before = dump(path)
    for _ in range(2):
        with pytest.raises(StoreDamagedError), Database(path).reading(BROKEN):
            pass
    assert dump(path) == before
    assert things(path, TWO) == [("old", 3)]


def test_d1_two_that_migrate_at_once_migrate_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Database(path).writing(ONE):
        pass
    first, second = Database(path), Database(path)
    with first.reading(ONE), second.reading(ONE):
        pass
    assert things(path, TWO) == [("old", 3)]
    for database in (first, second):
        with database.writing(TWO) as connection:
            assert connection.execute("SELECT * FROM lovia_things").fetchall() == [("old", 3)]


async def test_d1_tables_of_ours_without_a_version_are_not_taken_for_new(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_schema")
    with pytest.raises(StoreDamagedError) as refusal:
        await SQLiteSession(path).append("s", [say("one")], run_id="r")
    assert "lovia doctor" in (refusal.value.hint or "")
    with raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM lovia_segments").fetchone() == (6,)


def test_sqlite_is_one_that_has_what_we_use() -> None:
    assert sqlite3.sqlite_version_info >= (3, 24)


@pytest.mark.parametrize("harm", ["UPDATE lovia_schema SET part = 'rtns'", "DELETE FROM lovia_schema"])
async def test_d3_tables_of_ours_without_a_version_are_not_taken_for_none(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, f"{harm} WHERE part = 'runs'")
    before, runs = dump(path), SQLiteCheckpointer(path)
    for ask in (runs.runs, lambda: runs.load("r"), lambda: write(runs, "new", *long_run())):
        with pytest.raises(StoreDamagedError, match="which version the runs have is missing") as refusal:
            await ask()
        assert (refusal.value.where, "lovia doctor" in (refusal.value.hint or "")) == (str(path), True)
    assert len(await SQLiteSession(path).load("s")) == 3
    (found,) = check(path)
    assert found.what.endswith("; its columns are those of version 3, which can be written")
    assert dump(path) == before
    assert [finding.repairable for finding in repair(path)] == [True]
    assert (check(path), [run.run_id for run in await runs.runs()]) == ([], ["r", "other"])


@pytest.mark.parametrize("version", ["many", 0, 1, 2])
async def test_d3_a_version_that_the_tables_are_not_of_is_put_right(tmp_path: Path, version: object) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    before = dump(path)
    for part in ("runs", "sessions"):
        change(path, "UPDATE lovia_schema SET version = ? WHERE part = ?", version, part)
    with pytest.raises(StoreDamagedError):
        await SQLiteCheckpointer(path).load("r")
    assert [finding.repairable for finding in repair(path)] == [True, True]
    assert (check(path), dump(path)) == ([], before)


async def test_d3_tables_that_are_of_no_version_are_reported_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        connection.execute("ALTER TABLE lovia_runs ADD COLUMN later TEXT")
        connection.execute("DELETE FROM lovia_schema")
    before = dump(path)
    assert [finding.repairable for finding in repair(path)] == [True, False]
    with raw(path) as connection:
        assert connection.execute("SELECT part FROM lovia_schema").fetchall() == [("sessions",)]
        connection.execute("DELETE FROM lovia_schema")
    assert dump(path) == before
