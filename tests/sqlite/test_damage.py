"""Damage (D3): never a traceback, never a wrong answer, never silently gone; and one record's damage stays its own."""

import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.entries import UnknownEntryError
from stores.errors import LoviaError, StoreDamagedError
from stores.lines import Damage
from stores.records import fold
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.checksums import save_sum
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.segments import SegmentRow
from tests.sqlite.kit import change, fill, long_run, raw

pytestmark = pytest.mark.anyio

RUN_ROWS = {
    "lovia_runs": ["log", "session_id", "settled", "status", "save", "step", "updated_at", "entries", "last", "sum"],
    "lovia_saves": ["number", "status", "entries", "data", "sum"],
}
OF_RUN = {
    "lovia_runs": "run_id = 'r'",
    "lovia_saves": "log = (SELECT log FROM lovia_runs WHERE run_id = 'r') AND number = 3",
    "lovia_lines": "run_id = 'r'",
}
SEGMENT_ROWS = ["n", "run_id", "entries", "meta", "checksum", "truncated", "sum"]
TYPES = {"updated_at": "REAL", "number": "INTEGER", "log": "INTEGER"}


def flip(path: Path, table: str, column: str, condition: str) -> None:
    """Change one bit of the column, in text its first letter's; a number by one."""
    with raw(path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        (value,) = connection.execute(f"SELECT {column} FROM {table} WHERE {condition}").fetchone()
        new = chr(ord(value[0]) ^ 1) + value[1:] if isinstance(value, str) else value + 90
        assert connection.execute(f"UPDATE {table} SET {column} = ? WHERE {condition}", (new,)).rowcount == 1


async def is_damage(ask: Callable[[], Awaitable[object]], path: Path, name: str) -> None:
    """It must be refused as damage that names file, record and the command that repairs."""
    with pytest.raises(StoreDamagedError) as refusal:
        await ask()
    error = refusal.value
    assert error.where == str(path), error
    assert repr(name) in error.message, error
    assert "lovia doctor" in (error.hint or "")


@pytest.mark.parametrize(("table", "column"), [(table, column) for table in RUN_ROWS for column in RUN_ROWS[table]])
async def test_d3_a_changed_row_of_a_run_is_damage_of_that_run(tmp_path: Path, table: str, column: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    flip(path, table, column, OF_RUN[table])
    runs = SQLiteCheckpointer(path)
    await is_damage(lambda: runs.load("r"), path, "r")
    await is_damage(lambda: runs.snapshot("r", 4), path, "r")
    await is_damage(lambda: load_leased(runs), path, "r")
    exactly(await runs.load("other"), fold("other", long_run()))
    assert "other" in [line.run_id for line in await runs.runs() if line.damage is None]
    assert len(await runs.runs()) == 2


async def load_leased(runs: SQLiteCheckpointer) -> None:
    async with runs.lease("r") as lease:
        await lease.load()


@pytest.mark.parametrize("table", ["lovia_runs", "lovia_lines"])
async def test_d3_a_damaged_run_is_listed_as_damaged(tmp_path: Path, table: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    flip(path, table, "sum", OF_RUN[table])
    runs = SQLiteCheckpointer(path)
    async with runs.open_runs("s") as opened:
        for lines in (await runs.runs(), opened):
            damage = {line.run_id: line.damage for line in lines}
            assert sorted(damage) == ["other", "r"]
            assert damage["other"] is None
            assert str(path) in str(damage["r"])
    info = await runs.info("r")
    assert info is not None
    assert info.damage


@pytest.mark.parametrize("harm", ["DELETE FROM lovia_runs", "UPDATE lovia_runs SET run_id = 'x'"])
async def test_r4_a_run_whose_row_is_missing_is_not_begun_anew(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    runs = SQLiteCheckpointer(path)
    before = await runs.load("r")
    change(path, f"{harm} WHERE run_id = 'r'")

    async def begin() -> None:
        async with runs.lease("r") as lease:
            await lease.save(long_run()[0])

    for ask in (begin, lambda: load_leased(runs), lambda: runs.load("r"), lambda: runs.history("r")):
        await is_damage(ask, path, "r")
    info = await runs.info("r")
    assert info is not None
    assert info.damage == Damage("the row of run 'r' is missing", str(path))
    assert [one.damage for one in await runs.runs() if one.run_id == "r"] == [info.damage]
    repair(path)
    assert (check(path), await runs.load("r")) == ([], before)


async def test_d3_text_that_is_no_text_any_more_hurts_no_other_run(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    for table, column in (("lovia_runs", "status"), ("lovia_lines", "data"), ("lovia_saves", "status")):
        change(path, f"UPDATE {table} SET {column} = CAST(x'ff28fe' AS TEXT) WHERE {OF_RUN[table]}")
    change(path, "UPDATE lovia_sessions SET session_id = CAST(x'ff28fe' AS TEXT) WHERE session_id = 's'")
    runs = SQLiteCheckpointer(path)
    await is_damage(lambda: runs.load("r"), path, "r")
    assert sorted((line.run_id, line.damage is None) for line in await runs.runs()) == [("other", True), ("r", False)]
    assert [line.damage is None for line in await SQLiteSession(path).sessions()].count(True) == 1


async def test_d3_saves_that_changed_places_or_are_gone_are_damage(tmp_path: Path) -> None:
    of_run = "log = (SELECT log FROM lovia_runs WHERE run_id = 'r')"
    other = "(SELECT data FROM lovia_saves WHERE number = 2 AND NOT " + of_run + ")"
    for n, statement in enumerate(
        [
            f"DELETE FROM lovia_saves WHERE number = 1 AND {of_run}",
            f"DELETE FROM lovia_saves WHERE number = 2 AND {of_run}",
            f"DELETE FROM lovia_saves WHERE number = 4 AND {of_run}",
            f"UPDATE lovia_saves SET data = {other.replace('= 2', '= 1')} WHERE number = 3 AND {of_run}",
            "UPDATE lovia_runs SET status = 'completed' WHERE run_id = 'r'",
        ]
    ):
        path = tmp_path / f"{n}.db"
        await fill(path)
        change(path, statement)
        await is_damage(lambda: SQLiteCheckpointer(path).load("r"), path, "r")  # noqa: B023 - called at once


@pytest.mark.parametrize("number", [3, 4])
async def test_d3_a_save_of_another_course_of_the_run_is_noticed(tmp_path: Path, number: int) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    of_run = "log = (SELECT log FROM lovia_runs WHERE run_id = 'r')"
    with raw(path) as connection:
        rows = connection.execute(f"SELECT status, entries, data, sum FROM lovia_saves WHERE {of_run} ORDER BY number")
        saves = rows.fetchall()
        status, entries, data, _ = saves[number - 1]
        other = data.replace(f'"at":{1000 + number}.0', '"at":5.0')
        assert other != data
        total = save_sum(saves[number - 2][3], "r", number, status, entries, other.encode())
        connection.execute(
            f"UPDATE lovia_saves SET data = ?, sum = ? WHERE {of_run} AND number = ?", (other, total, number)
        )
    await is_damage(lambda: SQLiteCheckpointer(path).load("r"), path, "r")


async def test_d3_an_older_copy_of_a_run_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write(SQLiteCheckpointer(path), "r", *long_run()[:2])
    with raw(path) as connection:
        (old,) = connection.execute("SELECT * FROM lovia_runs").fetchall()
    await write(SQLiteCheckpointer(path), "r", *long_run()[2:])
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_runs")
        connection.execute(f"INSERT INTO lovia_runs VALUES ({', '.join('?' * len(old))})", old)
    with pytest.raises(LoviaError):
        await write(SQLiteCheckpointer(path), "r", *long_run()[2:3])


@pytest.mark.parametrize("column", SEGMENT_ROWS)
async def test_d3_a_changed_segment_is_damage_of_that_session(tmp_path: Path, column: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    flip(path, "lovia_segments", column, "session_id = 's' AND n = 2")
    session = SQLiteSession(path)
    await is_damage(lambda: session.load("s"), path, "s")
    assert len(await session.load("other")) == 3


@pytest.mark.parametrize("column", ["segments", "entries", "updated_at", "sum"])
async def test_d3_a_changed_row_of_a_session_is_damage_of_that_session(tmp_path: Path, column: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    flip(path, "lovia_sessions", column, "session_id = 's'")
    session = SQLiteSession(path)
    await is_damage(lambda: session.load("s"), path, "s")
    await is_damage(lambda: session.append("s", [say("more")], run_id="more"), path, "s")
    assert {line.session_id: line.damage is None for line in await session.sessions()} == {"s": False, "other": True}


async def test_d3_a_segment_that_is_gone_is_damage(tmp_path: Path) -> None:
    for n in (1, 2, 3):
        path = tmp_path / f"{n}.db"
        await fill(path)
        change(path, "DELETE FROM lovia_segments WHERE session_id = 's' AND n = ?", n)
        await is_damage(lambda: SQLiteSession(path).load("s"), path, "s")  # noqa: B023 - called at once


async def test_d1_an_entry_of_a_later_version_is_an_error_that_names_run_and_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await SQLiteSession(path).append("s", [say("x")], run_id="r1")
    data = b'[{"type":"hologram"}]'
    with raw(path) as connection:
        (checksum,) = connection.execute("SELECT checksum FROM lovia_segments").fetchone()
        total = SegmentRow("s", 1, "r1", data, b"{}", checksum).sum
        connection.execute("UPDATE lovia_segments SET entries = ?, sum = ?", (data.decode(), total))
    with pytest.raises(UnknownEntryError) as refusal:
        await SQLiteSession(path).load("s")
    assert refusal.value.where == str(path)
    assert "'r1'" in refusal.value.message


async def test_d3_an_emptied_file_is_damage_and_a_removed_one_is_a_new_beginning(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for n in (1, 2):
        await write(SQLiteCheckpointer(path), f"r{n}", *long_run())
        path.write_bytes(b"")
        for ask in (SQLiteCheckpointer(path).runs, lambda: write(SQLiteCheckpointer(path), "new", *long_run())):
            with pytest.raises(StoreDamagedError, match="empty, and was not before"):
                await ask()
        assert [finding.repairable for finding in check(path)] == [False]
        assert path.read_bytes() == b""
        path.unlink()
        assert await SQLiteCheckpointer(path).runs() == []


@pytest.mark.parametrize("content", [b"hello, world\n" * 500, b"\0" * 8192, b"xy"])
async def test_d3_a_file_that_is_no_database_is_damage_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    runs, sessions = SQLiteCheckpointer(path), SQLiteSession(path)
    for ask in (runs.runs, sessions.sessions, lambda: sessions.append("s", [say("x")], run_id="r")):
        with pytest.raises(StoreDamagedError) as refusal:
            await ask()
        assert refusal.value.where == str(path)
        assert refusal.value.hint == "bring it back from a copy, or name another with --store"
    assert path.read_bytes() == content


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
async def test_d3_a_truncated_file_is_damage(tmp_path: Path, part: float) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(size * part))
    for ask in (SQLiteCheckpointer(path).runs, SQLiteSession(path).sessions):
        with pytest.raises(StoreDamagedError):
            await ask()


async def everything(path: Path) -> dict[str, object]:
    """All that can be read, each part or the error in its place. Anything but an error of ours is a failure."""
    runs, sessions = SQLiteCheckpointer(path), SQLiteSession(path)
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "load": lambda: runs.load("r"),
        "other": lambda: runs.load("other"),
        "history": lambda: runs.history("r"),
        "segments": lambda: sessions.segments("s"),
        "others": lambda: sessions.segments("other"),
    }
    found: dict[str, object] = {}
    for name, ask in asked.items():
        try:
            found[name] = await ask()
        except LoviaError as error:
            found[name] = error
    for listing in (runs.runs, sessions.sessions):
        try:
            await listing()
        except LoviaError as error:
            found[listing.__name__] = error
    return found


async def test_d3_whatever_byte_is_flipped_the_answer_is_right_or_an_error(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.db", tmp_path / "store.db"
    await fill(whole)
    data = whole.read_bytes()
    right = await everything(whole)
    dice = random.Random(7)
    wrong = []
    for _ in range(150):
        at, bit = dice.randrange(len(data)), 1 << dice.randrange(8)
        path.write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
        found = await everything(path)
        for name in right:
            if not isinstance(found[name], LoviaError) and found[name] != right[name]:
                wrong.append((at, bit, name, found[name]))
        shutil.rmtree(tmp_path / "store.db.locks", ignore_errors=True)
    assert wrong == []


@pytest.mark.parametrize(
    "ask", ["load", "snapshot", "moment", "history", "read_log", "fork", "segments", "fork_session"]
)
async def test_d3_whoever_meets_damage_keeps_no_lock_on_the_file(tmp_path: Path, ask: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    runs, sessions = SQLiteCheckpointer(path), SQLiteSession(path)
    change(path, f"UPDATE lovia_saves SET data = '{{}}' WHERE {OF_RUN['lovia_saves']}")
    change(path, "UPDATE lovia_segments SET meta = '[]' WHERE session_id = 's' AND n = 2")
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "load": lambda: runs.load("r"),
        "snapshot": lambda: runs.snapshot("r", 3),
        "moment": lambda: runs.moment("r", save=3),
        "history": lambda: runs.history("r"),
        "read_log": lambda: runs.read_log("r"),
        "fork": lambda: forked(runs, "r"),
        "segments": lambda: sessions.segments("s"),
        "fork_session": lambda: sessions.fork_session("s", "new", upto="r2"),
    }
    with pytest.raises(StoreDamagedError) as kept:  # the error, and with it the frames that it came through
        await asked[ask]()
    await write(SQLiteCheckpointer(path, busy_timeout=0.0), "another run", *long_run())
    assert kept.value.where == str(path)


async def forked(runs: SQLiteCheckpointer, source: str) -> None:
    async with runs.lease("new") as lease:
        await runs.fork(lease, source, saved(4, event="forked"))


async def test_d3_a_file_in_the_place_of_the_locks_goes_aside(tmp_path: Path) -> None:
    path, locks = tmp_path / "store.db", tmp_path / "store.db.locks"
    await fill(path)
    shutil.rmtree(locks, ignore_errors=True)
    locks.write_text("mine")
    store = SQLiteCheckpointer(path)
    with pytest.raises(StoreDamagedError, match="not a folder"):
        async with store.lease("new"):
            pass
    what = "store.db.locks is not a folder, and no run can be executed without its locks there; it"
    assert [finding.what for finding in check(path)] == [f"{what} can be moved aside"]
    (done,) = repair(path)
    assert done.what.startswith(f"{what} was moved to store.db.locks.aside-")
    assert (check(path), (tmp_path / done.what.rpartition(" ")[2]).read_text()) == ([], "mine")
    async with store.lease("new") as lease:
        await lease.save(saved(1, say("go")))
