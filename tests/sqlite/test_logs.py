"""The rows that say which saves a run's log goes on from: what changes in them is noticed and found again (D3)."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from stores.conformance.checks import saved, write
from stores.conformance.samples import say
from stores.errors import LoviaError, StoreDamagedError
from stores.findings import Finding
from stores.records import RunSnapshot, Save
from stores.sqlite import SQLiteCheckpointer
from stores.sqlite.database import Database
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.doctor.check_log import LOGS
from stores.sqlite.doctor.quarantine import QUARANTINE
from stores.sqlite.logs import Log
from tests.sqlite.kit import change, content, place, raw, runs_of_version_2

pytestmark = pytest.mark.anyio

ASIDE = "; what was there was moved aside into the table lovia_quarantine"

_MADE: list[tuple[bytes, dict[str, RunSnapshot | None]]] = []


def long_run(count: int) -> list[Save]:
    head = {"session_id": None, "agent": "a", "status": "interrupted"}
    return [saved(n, say(f"{n}"), step=n, **(head if n == 1 else {})) for n in range(1, count + 1)]


async def fork(path: Path, source: str, new_id: str, number: int, *also: Save) -> None:
    store = SQLiteCheckpointer(path)
    parent = {"run_id": source, "save": number - 1, "step": number - 1}
    async with store.lease(new_id) as lease:
        await store.fork(lease, source, saved(number, step=number - 1, event="forked", parent=parent))
        for save in also:
            await lease.save(save)


async def filled(path: Path) -> dict[str, RunSnapshot | None]:
    """Log 1 is of run ``r``, 2 of ``other``; 3, of ``f``, which is removed, goes on from 1, and 4, of ``g``, from 3."""
    if not _MADE:
        store = SQLiteCheckpointer(path)
        for run_id in ("r", "other"):
            await write(store, run_id, *long_run(6))
        await fork(path, "r", "f", 4, saved(5, say("f"), step=5))
        await fork(path, "f", "g", 5, saved(6, say("g"), step=6))
        await store.delete("f")
        _MADE.append((content(path), await runs(path)))
    place(path, _MADE[0][0])
    return dict(_MADE[0][1])


async def runs(path: Path) -> dict[str, RunSnapshot | None]:
    return {run_id: await SQLiteCheckpointer(path).load(run_id) for run_id in ("r", "other", "f", "g")}


def logs(path: Path) -> list[Any]:
    with raw(path) as connection:
        return connection.execute("SELECT * FROM lovia_logs ORDER BY log").fetchall()


def count(path: Path, table: str, condition: str = "1") -> int:
    with raw(path) as connection:
        found: int = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()[0]
        return found


HARMS = ["run_id = 'x'", "run_id = CAST(run_id AS BLOB)", "base = 2", "base = 77", "upto = 9", "dropped = 1 - dropped"]
CHANGES = [
    *((number, harm) for number in (1, 3, 4) for harm in [*HARMS, "log = 66", "sum = 'x'"]),
    *((number, harm) for number in (3, 4) for harm in ("base = NULL", "upto = 1", "upto = 0", "run_id = 'other'")),
]


@pytest.mark.parametrize(("number", "harm"), CHANGES)
async def test_d3_a_log_of_which_one_value_changed_is_found_again(tmp_path: Path, number: int, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    rows = logs(path)
    change(path, f"UPDATE lovia_logs SET {harm} WHERE log = {number}")
    needs = {1: ("r", "g"), 3: ("g",), 4: ("g",)}[number]
    store = SQLiteCheckpointer(path)
    for run_id in needs:
        for ask in (store.load, store.history, store.read_log):
            with pytest.raises(
                StoreDamagedError, match=f"the row of log {number}, which run '{run_id}' needs"
            ) as error:
                await ask(run_id)
            assert (error.value.where, "lovia doctor" in (error.value.hint or "")) == (str(path), True)
    for run_id in {"r", "other"} - {*needs}:
        assert await store.load(run_id) == before[run_id]
    (found,) = check(path)
    assert (found.repairable, found.is_lost) == (True, False)
    (done,) = repair(path)
    assert done.what.endswith(f", for run {rows[number - 1][1]!r}{ASIDE}")
    assert (check(path), repair(path), logs(path), await runs(path)) == ([], [], rows, before)
    assert count(path, "lovia_quarantine") == count(path, "lovia_quarantine", "origin = 'lovia_logs'") == 1


@pytest.mark.parametrize("number", [1, 3, 4])
@pytest.mark.parametrize("harm", ["DELETE FROM lovia_logs", "UPDATE lovia_logs SET sum = '', upto = 2, base = NULL"])
async def test_d3_a_log_whose_row_is_gone_is_told_by_its_first_save(tmp_path: Path, number: int, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    rows = logs(path)
    change(path, f"{harm} WHERE log = {number}")
    (done,) = repair(path)
    assert "it was made again as its first save tells, for run" in done.what
    assert (check(path), logs(path), await runs(path)) == ([], rows, before)


async def test_d3_whose_a_removed_log_was_is_told_by_what_began_from_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    await fork(path, "g", "h", 6)
    await SQLiteCheckpointer(path).delete("g")
    before, rows = await SQLiteCheckpointer(path).load("h"), logs(path)
    change(path, "UPDATE lovia_logs SET run_id = 'no such' WHERE log = 3")
    assert repair(path)[0].what.endswith(f"as it was written, for run 'f'{ASIDE}")
    assert (check(path), await SQLiteCheckpointer(path).load("h"), logs(path)) == ([], before, rows)


async def test_d3_a_letter_that_changed_in_a_runs_id_is_found_again(tmp_path: Path) -> None:
    path, store = tmp_path / "store.db", SQLiteCheckpointer(tmp_path / "store.db")
    await write(store, "a run", *long_run(4))
    async with store.lease("f") as lease:
        await store.fork(lease, "a run", saved(4, event="forked"))  # which does not say what it began from
    await store.delete("a run")
    before = await store.load("f")
    change(path, "UPDATE lovia_logs SET run_id = 'a rwn' WHERE log = 1")
    assert repair(path)[0].what.endswith(f"as it was written, for run 'a run'{ASIDE}")
    assert (check(path), await store.load("f")) == ([], before)


async def test_d3_logs_that_lead_in_a_circle_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    with raw(path) as connection:
        Log(1, "r", 4, 3).put(connection)
    with pytest.raises(StoreDamagedError, match="log 1, which run 'g' needs, goes on from a later one"):
        await SQLiteCheckpointer(path).load("g")


async def test_d3_all_rows_of_logs_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), logs(path)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_logs")
    assert {finding.repairable for finding in repair(path)} == {True}
    assert (check(path), logs(path), await runs(path)) == ([], rows, before)


@pytest.mark.parametrize("harm", ["base = 2", "upto = 9", "sum = 'x'"])
async def test_d3_a_damaged_log_whose_source_is_missing_is_made_again_before_it(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), logs(path)
    change(path, "DELETE FROM lovia_logs WHERE log = 3")
    change(path, f"UPDATE lovia_logs SET {harm} WHERE log = 4")
    assert [finding.repairable for finding in repair(path)] == [True, True]
    assert (check(path), logs(path), await runs(path)) == ([], rows, before)


@pytest.mark.parametrize("harm", ["DELETE FROM lovia_logs", "UPDATE lovia_logs SET run_id = 'x', base = 9 * base"])
async def test_d3_a_log_costs_the_same_to_make_again_however_many_are_lost(tmp_path: Path, harm: str) -> None:
    costs = []
    for others in (2, 12):
        database = Database(tmp_path / f"{others}.db")
        for n in range(others):
            await write(SQLiteCheckpointer(database), f"r{n}", *long_run(4))
            await fork(database.path, f"r{n}", f"f{n}", 4)
        with raw(database.path) as connection:
            connection.execute(harm)
        work: list[int] = []
        with database.writing(QUARANTINE) as connection:
            connection.set_progress_handler(lambda work=work: work.append(1), 10)  # every ten steps of SQLite's machine
            for number in (1, 2):
                assert LOGS.mend(connection, number, aside="").startswith("it was made again")
            connection.set_progress_handler(None, 0)
        costs.append(len(work))
    assert 0 < costs[1] < 1.2 * costs[0]


async def test_d3_a_log_that_nothing_tells_of_is_lost_and_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, "UPDATE lovia_logs SET base = 2, upto = 3, sum = 'x' WHERE log = 4")
    change(path, "UPDATE lovia_saves SET entries = 99 WHERE log = 4 AND number = 5")
    of_log, *of_run = repair(path)
    assert "it was made again as it stands, which nothing proves, for run 'g'" in of_log.what
    assert [(finding.is_lost, finding.is_leftover) for finding in of_run] == [(True, False), (False, True)]
    assert "fork 'g' cannot be kept without it: it was moved aside" in of_run[0].what
    assert (check(path)[:1], await runs(path)) == ([], before | {"g": None})
    assert count(path, "lovia_quarantine", "origin = 'lovia_saves'") == 2 + 1, "the fork's own, and what only it read"


LOST = ["base = NULL", "base = 2", "upto = 1", "upto = 'x'", "sum = 'x'", "log = 66"]


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("harm", [*LOST, "DELETE"])
async def test_h2_what_a_fork_may_need_stays_while_a_row_is_damaged(tmp_path: Path, number: int, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    statement = "DELETE FROM lovia_logs" if harm == "DELETE" else f"UPDATE lovia_logs SET {harm}"
    change(path, f"{statement} WHERE log = {number}")
    assert await SQLiteCheckpointer(path).delete("r") is True
    assert await SQLiteCheckpointer(path).load("r") is None
    mended, *left = repair(path)
    assert (mended.is_leftover, [finding.is_leftover for finding in left]) == (False, [True])
    assert "nobody reads what is left of a removed run, 'r' (log 1); it was moved aside" in left[0].what
    assert (check(path), await runs(path)) == ([], before | {"r": None})
    assert count(path, "lovia_saves", "log = 1") == 3, "what the fork reads of it"
    assert await SQLiteCheckpointer(path).delete("g") is True
    assert (count(path, "lovia_logs"), count(path, "lovia_saves")) == (1, 6)


async def test_h2_a_run_that_begins_anew_leaves_what_a_fork_may_need(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, "UPDATE lovia_logs SET base = 2 WHERE log = 3")
    await write(SQLiteCheckpointer(path), "r", saved(1, say("anew"), status="interrupted"))
    repair(path)
    found = await runs(path)
    assert (found.pop("r") is None, found) == (False, {key: before[key] for key in ("other", "f", "g")})
    assert check(path) == []


@pytest.mark.parametrize("harm", ["dropped = 1", "run_id = 'x'", "log = 66"])
async def test_d3_a_run_whose_own_row_is_damaged_is_not_removed_on_its_strength(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, f"UPDATE lovia_logs SET {harm} WHERE log = 1")
    store = SQLiteCheckpointer(path)
    for ask in (
        lambda: store.delete("r"),
        lambda: fork(path, "r", "new", 4),
        lambda: write(store, "r", saved(1, say("anew"), status="interrupted")),
    ):
        with pytest.raises(StoreDamagedError, match="the row of log 1, which run 'r' needs"):
            await ask()
    assert await store.delete("g") is True, "which leaves what its source's damaged row says"
    repair(path)
    assert (check(path), await runs(path)) == ([], before | {"g": None})


async def test_m4_a_removed_run_does_not_come_back_with_a_damaged_row(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, "UPDATE lovia_logs SET dropped = 0 WHERE log = 3")
    repair(path)
    assert sorted(run.run_id for run in await SQLiteCheckpointer(path).runs()) == ["g", "other", "r"]
    assert (check(path), await runs(path)) == ([], before)


async def test_m4_what_was_removed_beside_a_damaged_row_goes_with_the_repair(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, store = await filled(path), SQLiteCheckpointer(path)
    change(path, "UPDATE lovia_logs SET sum = 'x' WHERE log = 3")
    for run_id in ("other", "g"):
        assert await store.delete(run_id) is True
    assert [finding.is_leftover for finding in check(path)] == [False], "it cannot be told yet"
    _, *left = repair(path)
    said = "nobody reads what is left of a removed run, {} (log {}); it was moved aside into the table lovia_quarantine"
    assert left == [Finding(str(path), said.format(*one), True, True) for one in (("'g'", 4), ("'other'", 2))]
    assert (check(path), await runs(path)) == ([], {"r": before["r"], "other": None, "f": None, "g": None})
    assert (count(path, "lovia_logs"), count(path, "lovia_saves")) == (1, 6)
    assert count(path, "lovia_quarantine", "origin = 'lovia_saves'") == 6 + 2 + 1


async def test_d3_a_damaged_log_hides_no_damage_of_other_runs(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    change(path, "UPDATE lovia_logs SET upto = 2 WHERE log = 4")
    change(path, "UPDATE lovia_saves SET data = data || ' ' WHERE log = 2 AND number = 5")
    assert [finding.what for finding in check(path)] == [
        "the row of log 4, of run 'g', is not what was written; it can be made again as it was written",
        "save 5 of run 'other' is missing or not what was written; saves 1 to 4 can be kept"
        "; calls whose results are in none of them run again",
    ]


async def test_r11_the_log_of_a_run_being_executed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    async with SQLiteCheckpointer(path).lease("g"):
        change(path, "UPDATE lovia_logs SET upto = 2 WHERE log = 4")
        (found,) = repair(path)
        assert ("being executed" in found.what, found.repairable) == (True, False)
    repair(path)
    assert (check(path), await runs(path)) == ([], before)


async def test_d1_logs_without_a_checksum_get_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), logs(path)
    runs_of_version_2(path)
    assert (check(path), len(logs(path)[0])) == ([], 5)
    assert (await runs(path), logs(path)) == (before, rows)


OLD_HARMS = ["run_id = 'x'", "run_id = CAST(x'ff28fe' AS TEXT)", "base = 2", "base = NULL", "upto = 2", "upto = 'x'"]


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("harm", [*OLD_HARMS, "dropped = 1 - dropped"])
async def test_d1_a_damaged_log_of_an_older_file_is_damage_after_the_migration_too(
    tmp_path: Path, number: int, harm: str
) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), logs(path)
    runs_of_version_2(path)
    change(path, f"UPDATE lovia_logs SET {harm} WHERE log = {number}")
    with pytest.raises(StoreDamagedError, match="which run 'g' needs"):
        await SQLiteCheckpointer(path).load("g")
    assert [finding.repairable for finding in repair(path)][:1] == [True]
    found = await runs(path)
    if (number, harm) == (3, "dropped = 1 - dropped"):
        del found["f"], before["f"]  # whether it was removed, such a file does not tell
    else:
        assert logs(path) == rows
    assert (check(path), found) == ([], before)


async def test_d1_an_older_file_of_which_a_log_is_gone_is_migrated_and_hurts_no_other_run(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), logs(path)
    runs_of_version_2(path)
    change(path, "DELETE FROM lovia_logs WHERE log = 3")
    (finding,) = check(path)
    assert finding.what == "the row of log 3 is missing; it can be made again as its first save tells" + (
        "; whether its run was removed cannot be told, so what there is of it is for forks alone"
    )
    assert await SQLiteCheckpointer(path).load("r") == before["r"]
    with pytest.raises(StoreDamagedError, match="the row of log 3, which run 'g' needs, is missing"):
        await SQLiteCheckpointer(path).load("g")
    assert [finding.repairable for finding in repair(path)] == [True]
    assert (check(path), await runs(path), logs(path)) == ([], before, rows)


async def test_d3_whatever_is_asked_of_a_damaged_log_is_an_error_of_ours_or_right(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    for column in ("log", "run_id", "base", "upto", "dropped", "sum"):
        for value in ("x'00ff'", "CAST(x'ff28fe' AS TEXT)", "2.5", "-1", "9223372036854775807", "'1'"):
            await filled(path)
            with raw(path) as connection:
                try:
                    connection.execute(f"UPDATE lovia_logs SET {column} = {value} WHERE log = 3")
                except sqlite3.IntegrityError:
                    continue  # a number that SQLite itself keeps
            try:
                assert await SQLiteCheckpointer(path).load("g") == before["g"]
            except LoviaError:
                repair(path)
            assert (check(path), await runs(path)) == ([], before), (column, value)
