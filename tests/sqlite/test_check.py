"""The doctor (D3): finds all damage, mends what can be, loses nothing, and leaves the rest alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.findings import Finding
from stores.records import Save, fold
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.checksums import save_sum
from stores.sqlite.database import Database
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.known import known_ids
from stores.sqlite.locks import RunLock
from stores.sqlite.segments import read_segment
from tests.sqlite.kit import change, content, fill, long_run, names, place, raw
from tests.sqlite.test_damage import OF_RUN, flip

pytestmark = pytest.mark.anyio

OF_SEGMENT = "session_id = 's' AND n = 2"


def quarantine(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Every row in it, oldest first, with the table it came from."""
    with raw(path) as connection:
        found = connection.execute("SELECT origin, row FROM lovia_quarantine ORDER BY id").fetchall()
    return [(origin, orjson.loads(row)) for origin, row in found]


def row(path: Path, table: str, condition: str) -> dict[str, Any]:
    with raw(path) as connection:
        found = connection.execute(f"SELECT * FROM {table} WHERE {condition}")
        return dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))


def is_mended(path: Path, found: list[Finding]) -> None:
    """What was reported was repairable, and after the repair there is nothing left to report."""
    assert found
    assert all(finding.repairable and finding.file == str(path) for finding in found), found
    repaired = repair(path)
    what = [{finding.what.split("; ")[0] for finding in findings} for findings in (found, repaired)]
    assert what[0] <= what[1]
    assert check(path) == []
    assert repair(path) == []


async def run_is(path: Path, saves: list[Save], run_id: str = "r") -> None:
    exactly(await SQLiteCheckpointer(path).load(run_id), fold(run_id, saves))
    assert [line.damage for line in await SQLiteCheckpointer(path).runs()] == [None, None]


async def others_are_whole(path: Path) -> None:
    exactly(await SQLiteCheckpointer(path).load("other"), fold("other", long_run()))
    assert [segment.run_id for segment in await SQLiteSession(path).segments("other")] == ["r1", "r2", "r3"]


async def test_d3_a_store_that_is_well_or_not_there_has_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert (check(path), repair(path)) == ([], [])
    assert names(tmp_path) == []
    await fill(path)
    await SQLiteCheckpointer(path).delete("other", keep_history=True)
    await SQLiteSession(path).clear("other")
    before = path.read_bytes()
    assert (check(path), repair(path)) == ([], [])
    assert path.read_bytes() == before


@pytest.mark.parametrize("column", ["log", "session_id", "settled", "status", "save", "updated_at", "last", "sum"])
async def test_d3_a_damaged_row_is_made_again_from_the_saves(tmp_path: Path, column: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    before = row(path, "lovia_runs", OF_RUN["lovia_runs"])
    flip(path, "lovia_runs", column, OF_RUN["lovia_runs"])
    damaged = row(path, "lovia_runs", OF_RUN["lovia_runs"])
    is_mended(path, check(path))
    await run_is(path, long_run())
    assert row(path, "lovia_runs", OF_RUN["lovia_runs"]) == before
    assert ("lovia_runs", damaged) in quarantine(path)
    info = await SQLiteCheckpointer(path).info("r")
    assert info is not None
    assert (info.agent, info.config, info.session_id) == ("a", {"model": "m"}, "s")
    async with SQLiteCheckpointer(path).open_runs("s") as opened:
        assert sorted(line.run_id for line in opened) == ["other", "r"]
    await others_are_whole(path)


async def test_d3_a_row_under_another_id_is_set_aside_and_the_right_one_made_again(tmp_path: Path) -> None:
    for n, wrong in enumerate(["aaa", "zzz", "other2"]):
        path = tmp_path / f"{n}.db"
        await fill(path)
        with raw(path) as connection:
            connection.execute("UPDATE lovia_runs SET run_id = ? WHERE run_id = 'r'", (wrong,))
        is_mended(path, check(path))
        await run_is(path, long_run())
        assert wrong in [kept.get("run_id") for _, kept in quarantine(path)]


async def test_d3_a_row_that_is_gone_is_made_again_from_the_saves(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "DELETE FROM lovia_runs WHERE run_id = 'r'")
    is_mended(path, check(path))
    await run_is(path, long_run())


async def test_d3_a_damaged_line_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    before = row(path, "lovia_lines", OF_RUN["lovia_lines"])
    for statement in (f"UPDATE lovia_lines SET data = CAST(x'ff41' AS TEXT) WHERE {OF_RUN['lovia_lines']}",):
        change(path, statement)
        is_mended(path, check(path))
        assert row(path, "lovia_lines", OF_RUN["lovia_lines"]) == before
    assert [kept["data"] for origin, kept in quarantine(path) if origin == "lovia_lines"] == [{"hex": "ff41"}]
    change(path, f"DELETE FROM lovia_lines WHERE {OF_RUN['lovia_lines']}")
    is_mended(path, check(path))
    await run_is(path, long_run())


@pytest.mark.parametrize("number", [2, 3, 4])
async def test_d3_a_damaged_save_takes_the_run_back_to_the_one_before(tmp_path: Path, number: int) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    cut = "log = (SELECT log FROM lovia_runs WHERE run_id = 'r') AND number >= "
    flip(path, "lovia_saves", "data", f"{cut} {number} ORDER BY number LIMIT 1".replace(">=", "="))
    with raw(path) as connection:
        expected = [found[0] for found in connection.execute(f"SELECT data FROM lovia_saves WHERE {cut} {number}")]
    (found,) = check(path)
    assert f"save {number} of run 'r'" in found.what
    assert f"saves 1 to {number - 1} can be kept; calls whose results are in none of them run again" in found.what
    is_mended(path, [found])
    runs = SQLiteCheckpointer(path)
    snapshot = await runs.load("r")
    assert snapshot is not None
    assert (snapshot.head.save, snapshot.status) == (number - 1, "interrupted")
    assert [kept["data"] for origin, kept in quarantine(path) if origin == "lovia_saves"] == expected
    await write(runs, "r", *long_run()[number - 1 :])
    await run_is(path, long_run())
    await others_are_whole(path)


@pytest.mark.parametrize("table", ["lovia_lines", "lovia_saves"])
async def test_r7_a_settled_run_stays_settled_unless_it_goes_back(tmp_path: Path, table: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    await SQLiteCheckpointer(path).settle("r")
    flip(path, table, "data", OF_RUN[table])
    is_mended(path, check(path))
    async with SQLiteCheckpointer(path).open_runs("s") as opened:
        assert sorted(line.run_id for line in opened) == (["other"] if table == "lovia_lines" else ["other", "r"])


async def test_d3_a_run_without_a_whole_save_goes_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    flip(path, "lovia_saves", "data", OF_RUN["lovia_saves"].replace("= 3", "= 1"))
    is_mended(path, check(path))
    assert await SQLiteCheckpointer(path).load("r") is None
    assert [line.run_id for line in await SQLiteCheckpointer(path).runs()] == ["other"]
    assert [origin for origin, _ in quarantine(path)].count("lovia_saves") == 4
    await write(SQLiteCheckpointer(path), "r", *long_run())
    await run_is(path, long_run())


async def test_d3_a_log_that_is_gone_or_names_another_run_is_put_right(tmp_path: Path) -> None:
    for statement in ("UPDATE lovia_logs SET run_id = 'x' WHERE log = 1", "DELETE FROM lovia_logs WHERE log = 1"):
        path = tmp_path / f"{len(statement)}.db"
        await fill(path)
        change(path, statement)
        is_mended(path, check(path))
        await run_is(path, long_run())


async def test_d3_saves_that_no_run_names_go_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_runs WHERE run_id = 'r'")
        connection.execute("DELETE FROM lovia_logs WHERE run_id = 'r'")
    is_mended(path, check(path))
    assert [origin for origin, _ in quarantine(path)].count("lovia_saves") == 4
    await others_are_whole(path)


async def test_d3_a_kept_history_is_mended_without_bringing_the_run_back(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    await SQLiteCheckpointer(path).delete("r", keep_history=True)
    flip(path, "lovia_saves", "data", OF_RUN["lovia_saves"])
    is_mended(path, check(path))
    assert await SQLiteCheckpointer(path).load("r") is None
    assert [line.number for line in await SQLiteCheckpointer(path).history("r")] == [2, 1]
    assert [line.run_id for line in await SQLiteCheckpointer(path).kept_histories()] == ["r"]


async def test_d1_what_a_later_version_wrote_is_reported_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        log, before = connection.execute(f"SELECT log, sum FROM lovia_saves WHERE {OF_RUN['lovia_saves']}").fetchone()
        data = b'{"save":4,"step":1,"at":1004.0,"event":"response","entries":[{"type":"hologram"}]}'
        total = save_sum(before, "r", 4, "interrupted", 3, data)
        connection.execute(
            "UPDATE lovia_saves SET data = ?, sum = ? WHERE log = ? AND number = 4", (data.decode(), total, log)
        )
    whole = path.read_bytes()
    (found,) = check(path)
    assert ("hologram" in found.what, found.repairable) == (True, False)
    assert [finding.repairable for finding in repair(path)] == [False]
    assert path.read_bytes() == whole


async def test_d3_a_damaged_segment_goes_aside_and_the_others_stay_in_order(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    flip(path, "lovia_segments", "entries", OF_SEGMENT)
    is_mended(path, check(path))
    session = SQLiteSession(path)
    kept = await session.segments("s")
    assert [(segment.run_id, segment.meta) for segment in kept] == [("r1", {"n": 1}), ("r3", {"n": 3})]
    assert [origin for origin, _ in quarantine(path)].count("lovia_segments") == 1
    await session.append("s", [say("segment 2")], run_id="r2")
    assert [segment.run_id for segment in await session.segments("s")] == ["r1", "r3", "r2"]
    (line,) = [line for line in await session.sessions() if line.session_id == "s"]
    assert (line.segments, line.entries) == (3, 3)
    await others_are_whole(path)


@pytest.mark.parametrize("statement", ["UPDATE lovia_sessions SET segments = 7", "DELETE FROM lovia_sessions"])
async def test_d3_the_row_of_a_session_is_made_again(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, f"{statement} WHERE session_id = 's'")
    is_mended(path, check(path))
    assert [segment.run_id for segment in await SQLiteSession(path).segments("s")] == ["r1", "r2", "r3"]


async def test_d3_a_session_without_a_whole_segment_goes_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await SQLiteSession(path).append("s", [say("one")], run_id="r")
    flip(path, "lovia_segments", "entries", "n = 1")
    is_mended(path, check(path))
    assert await SQLiteSession(path).sessions() == []
    assert sorted(origin for origin, _ in quarantine(path)) == ["lovia_segments", "lovia_sessions"]


async def test_r11_a_run_being_executed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    async with SQLiteCheckpointer(path).lease("r") as lease:
        await lease.save(saved(5, say("more")))
        flip(path, "lovia_lines", "sum", OF_RUN["lovia_lines"])
        (finding,) = repair(path)
        assert ("being executed" in finding.what, finding.repairable) == (True, False)
    is_mended(path, check(path))


async def test_d3_a_damaged_index_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        index = connection.execute("SELECT * FROM sqlite_master WHERE name = 'lovia_runs_open'").fetchone()
        connection.execute("DELETE FROM sqlite_master WHERE name = 'lovia_runs_open'")
    await write(SQLiteCheckpointer(path), "not in the index", *long_run())
    with raw(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
    async with SQLiteCheckpointer(path).open_runs("s") as opened:
        assert len(opened) == 2
    is_mended(path, check(path))
    async with SQLiteCheckpointer(path).open_runs("s") as opened:
        assert len(opened) == 3
    assert "store.db.damaged" not in names(tmp_path)


@pytest.mark.parametrize("part", [0.2, 0.4, 0.7, 0.9])
async def test_d3_of_a_truncated_file_all_that_can_be_read_is_kept(tmp_path: Path, part: float) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    await write(SQLiteCheckpointer(path), "long", saved(1, say("x" * 20_000), status="interrupted"))
    for n in range(20):
        await SQLiteSession(path).append("late", [say("y" * 3000)], run_id=f"late {n}")
    data = path.read_bytes()
    cut = data[: int(len(data) * part)]
    path.write_bytes(cut)
    found = check(path)
    assert [finding.repairable for finding in found] == [True]
    assert repair(path)
    assert check(path) == []
    assert (tmp_path / "store.db.damaged").read_bytes() == cut
    assert (path.stat().st_mode & 0o777) == 0o600
    late = await SQLiteSession(path).segments("late")
    assert len(late) < 20
    if part > 0.5:
        await others_are_whole(path)
    await every_run_is_whole(path)


async def every_run_is_whole(path: Path) -> None:
    for line in await SQLiteCheckpointer(path).runs():
        assert line.damage is None
        assert await SQLiteCheckpointer(path).load(line.run_id) is not None
    await write(SQLiteCheckpointer(path), "new", *long_run())
    exactly(await SQLiteCheckpointer(path).load("new"), fold("new", long_run()))


async def test_d3_a_damaged_page_in_a_file_shared_with_others_is_only_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 4096)
    before = path.read_bytes()
    assert [finding.repairable for finding in check(path)] == [False]
    assert [finding.repairable for finding in repair(path)] == [False]
    assert path.read_bytes() == before


async def test_d3_a_file_that_is_no_database_is_only_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"hello, world\n" * 500)
    before = path.read_bytes()
    assert [finding.repairable for finding in repair(path)] == [False]
    assert path.read_bytes() == before
    assert names(tmp_path) == ["store.db"]


async def test_d1_a_newer_version_is_only_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "UPDATE lovia_schema SET version = 999 WHERE part = 'runs'")
    assert [(finding.repairable, "999" in finding.what) for finding in repair(path)] == [(False, True)]


IDS = [
    ("lovia_sessions", "session_id = 's'", "session_id"),
    ("lovia_strands", "session_id = 's'", "session_id"),
    ("lovia_segments", OF_SEGMENT, "session_id"),
    ("lovia_segments", OF_SEGMENT, "run_id"),
    ("lovia_segments", OF_SEGMENT, "n"),
    ("lovia_runs", "run_id = 'r'", "run_id"),
    ("lovia_logs", "run_id = 'r'", "run_id"),
    ("lovia_lines", "run_id = 'r'", "run_id"),
    ("lovia_saves", OF_RUN["lovia_saves"], "log"),
    ("lovia_saves", OF_RUN["lovia_saves"], "number"),
]


@pytest.mark.parametrize("value", ["CAST({} AS BLOB)", "CAST(x'ff28fe' AS TEXT)", "2.5"])
async def test_d3_an_id_of_another_type_is_damage_like_any_other(tmp_path: Path, value: str) -> None:
    whole = tmp_path / "whole.db"
    await fill(whole)
    for n, (table, condition, column) in enumerate(IDS):
        path = tmp_path / f"{n}.db"
        place(path, content(whole))
        change(path, f"UPDATE {table} SET {column} = {value.format(column)} WHERE {condition}")
        assert {type(name) for names in known_ids(path) for name in names} <= {str}
        is_mended(path, check(path))
        await others_are_whole(path)
        info = {line.run_id: line.damage for line in await SQLiteCheckpointer(path).runs()}
        kept = {line.session_id: line.segments for line in await SQLiteSession(path).sessions()}
        assert (info, kept) == ({"r": None, "other": None}, {"s": 3, "other": 3})
        await run_is(path, long_run())


async def test_d3_a_log_and_a_row_that_are_damaged_both_leave_the_run(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "UPDATE lovia_logs SET run_id = CAST(run_id AS BLOB) WHERE run_id = 'r'")
    change(path, "UPDATE lovia_runs SET status = 'x' WHERE run_id = 'r'")
    is_mended(path, check(path))
    await run_is(path, long_run())


async def test_d1_an_entry_that_a_newer_lovia_wrote_into_a_segment_is_no_damage_and_hides_none(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    with raw(path) as connection:
        ((rowid,),) = connection.execute(f"SELECT rowid FROM lovia_segments WHERE {OF_SEGMENT}").fetchall()
        segment = read_segment(connection, rowid, where="")
        replace(segment, entries=b'[{"type":"hologram"}]').put(connection)
    newer = row(path, "lovia_segments", OF_SEGMENT)
    change(path, "DELETE FROM lovia_sessions WHERE session_id = 'other'")
    found = {finding.what.partition("; ")[0]: finding.repairable for finding in repair(path)}
    unknown = "run 'r2' has an unknown entry type 'hologram'"
    assert found == {"the row of session 'other' is missing": True, unknown: False}
    assert row(path, "lovia_segments", OF_SEGMENT) == newer
    assert [finding.what for finding in check(path)] == [unknown]


async def test_d3_an_older_copy_of_a_runs_row_takes_no_save_away(tmp_path: Path) -> None:
    path, store = tmp_path / "store.db", SQLiteCheckpointer(tmp_path / "store.db")
    await fill(path)
    old = row(path, "lovia_runs", "run_id = 'r'")
    async with store.lease("r") as lease:
        await lease.save(saved(5, say("more"), step=2))
    run = await store.load("r")
    columns = ", ".join(f"{name} = ?" for name in old)
    change(path, f"UPDATE lovia_runs SET {columns} WHERE run_id = 'r'", *old.values())
    (found,) = check(path)
    assert found.what == "the row of run 'r' is of save 4; it can be made from the saves"
    is_mended(path, [found])
    assert await store.load("r") == run


async def test_r11_a_run_whose_lock_is_held_just_now_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, "UPDATE lovia_runs SET step = step + 1 WHERE run_id = 'r'")
    lock = RunLock(Database(path), "r")
    assert lock.try_take()
    locks = tmp_path / "store.db.locks"
    for name in names(locks):
        if name.endswith(".owner.json"):
            (locks / name).unlink()  # as of one who is just starting
    (found,) = repair(path)
    assert (found.what.endswith("; left alone: the run is in use"), found.repairable) == (True, False)
    lock.release()
    is_mended(path, check(path))
