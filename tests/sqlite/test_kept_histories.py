"""A run that was deleted, all but its history, stays so whatever happens to its row (H1, M4)."""

from pathlib import Path

import pytest

from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from tests.sqlite.kit import change, fill, long_run, raw
from tests.sqlite.test_losses import talk

pytestmark = pytest.mark.anyio

UNTOLD = "; whether the run was deleted, all but its history, cannot be told"
HARM = ["run_id = 'x'", "session_id = NULL", "settled = 7", "status = 'x'", "step = 9", "updated_at = 1", "last = 'x'"]


@pytest.mark.parametrize("harm", [*HARM, "sum = 'x'", "step = 9, entries = 9"])
@pytest.mark.parametrize("is_deleted", [True, False])
async def test_h1_a_damaged_row_brings_no_deleted_run_back(tmp_path: Path, harm: str, is_deleted: bool) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    runs = SQLiteCheckpointer(path)
    await runs.settle("r")
    if is_deleted:
        await runs.delete("r", keep_history=True)
    change(path, f"UPDATE lovia_runs SET {harm} WHERE run_id = 'r'")
    assert not any(UNTOLD in finding.what for finding in (*check(path), *repair(path)))
    assert check(path) == []
    kept, live = await runs.kept_histories(), await runs.runs()
    assert [one.run_id for one in kept] == ["r"] * is_deleted
    assert [one.run_id for one in live if one.run_id == "r"] == ["r"] * (not is_deleted)
    assert len(await runs.history("r")) == len(long_run())
    async with runs.open_runs("s") as opened:
        is_proven = not harm.startswith(("sum", "step = 9,"))
        assert [one.run_id for one in opened] == ["other"] + ["r"] * (not is_deleted and not is_proven)


@pytest.mark.parametrize("gone", ["session", "last run"])
async def test_m4_a_completed_run_that_no_session_has_any_more_stays_a_kept_history(tmp_path: Path, gone: str) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    session, runs = SQLiteSession(path), SQLiteCheckpointer(path)
    if gone == "session":
        await session.clear("talk")
    else:
        await session.rewind("talk", keep_entries=2)
    deleted = ["a1", "a2"] if gone == "session" else ["a2"]
    for run_id in deleted:
        await runs.delete(run_id, keep_history=True)
        change(path, f"DELETE FROM lovia_runs WHERE run_id = '{run_id}'")
    why = "; no session has it, so it is taken for deleted, and stays a kept history"
    assert [finding.what.endswith(f"{why}") for finding in check(path)].count(True) == len(deleted)
    repair(path)
    assert (check(path), sorted(one.run_id for one in await runs.kept_histories())) == ([], deleted)
    async with runs.open_runs("talk") as opened:
        assert [one.run_id for one in opened if one.run_id in deleted] == []
    assert await session.load("talk") == before[: 4 - 2 * len(deleted)]


@pytest.mark.parametrize("harm", ["DELETE FROM lovia_runs", "UPDATE lovia_runs SET status = 'x', step = 9"])
@pytest.mark.parametrize("is_forked", [False, True])
async def test_m4_a_run_that_a_rewind_cut_short_stays_a_kept_history(
    tmp_path: Path, harm: str, is_forked: bool
) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    session, runs = SQLiteSession(path), SQLiteCheckpointer(path)
    if is_forked:
        await session.fork_session("talk", "a fork", upto="a2")
        await session.confirm_fork("a fork")
    await runs.delete("a2", keep_history=True)
    await session.rewind("talk", keep_entries=3)
    change(path, f"{harm} WHERE run_id = 'a2'")
    why = "; a rewind has cut it short in its session, so it is taken for deleted, and stays a kept history"
    assert [finding.what.endswith(why) for finding in check(path)].count(True) == 1
    assert [finding.what.endswith(why) for finding in repair(path)].count(True) == 1
    assert (check(path), [one.run_id for one in await runs.kept_histories()]) == ([], ["a2"])
    assert (await runs.load("a2"), await session.load("talk")) == (None, before[:3])


async def test_h1_where_nothing_tells_whether_a_run_was_deleted_the_finding_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    await talk(path, "a1")
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_runs WHERE run_id IN ('r', 'a1')")
    findings = check(path)
    assert [finding.what for finding in findings if "the row of run" in finding.what] == [
        f"the row of run '{run_id}' is missing; it can be made from the saves{UNTOLD}" for run_id in ("a1", "r")
    ]
    assert [UNTOLD in finding.what for finding in repair(path) if "the row of run" in finding.what] == [True, True]
    run = await SQLiteCheckpointer(path).load("a1")
    assert (check(path), run and run.status) == ([], "completed")


@pytest.mark.parametrize("is_forked", [False, True])
async def test_r7_a_damaged_segment_is_made_again_from_a_kept_history_that_holds_the_same(
    tmp_path: Path, is_forked: bool
) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2", "a3")
    session, runs = SQLiteSession(path), SQLiteCheckpointer(path)
    if is_forked:
        await session.fork_session("talk", "a fork", upto="a3")
        await session.confirm_fork("a fork")
    for run_id in ("a2", "a3"):
        await runs.delete(run_id, keep_history=True)
    await session.rewind("talk", keep_entries=4)
    change(path, "UPDATE lovia_segments SET entries = 'x' WHERE run_id = 'a2'")
    (found, *_) = repair(path)
    assert "; segment 2 was made again from the checkpoint of run 'a2'; " in found.what
    assert (check(path), await session.load("talk")) == ([], before[:4]), "and what was undone stays so"
    if is_forked:
        assert await session.load("a fork") == before
