"""What a look of the doctor promises of a repair, which mends one thing after the other (D3)."""

from pathlib import Path

import pytest

from stores.conformance.checks import saved, write
from stores.conformance.samples import say
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from tests.sqlite.kit import change, raw
from tests.sqlite.test_damage import flip
from tests.sqlite.test_losses import forked_talk, talk

pytestmark = pytest.mark.anyio

UNLESS = ", unless what is mended before it tells more"
LOST = "no save of run {!r} can be kept, and its id would start over"
ASIDE = "what was there was moved aside into the table lovia_quarantine"
FIRST_SAVE = "number = 1 AND log = (SELECT log FROM lovia_runs WHERE run_id = 'a2')"


@pytest.mark.parametrize(
    "harm", ["UPDATE lovia_strands SET upto = 1", "UPDATE lovia_segments SET strand = 99 WHERE run_id = 'a2'"]
)
async def test_d3_a_run_is_not_said_to_be_lost_that_its_session_will_tell_of(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    await write(SQLiteCheckpointer(path), "alone", saved(1, say("hello")))
    with raw(path) as connection:
        connection.execute(harm)
    flip(path, "lovia_saves", "data", FIRST_SAVE)
    _, of_run = check(path)
    assert of_run.what.endswith(f"; {LOST.format('a2')}{UNLESS}")
    assert (of_run.is_lost, [finding.is_lost for finding in repair(path)]) == (False, [False, False])
    run = await SQLiteCheckpointer(path).load("a2")
    assert (check(path), run and run.entries, await SQLiteSession(path).load("talk")) == ([], before[2:], before)
    flip(path, "lovia_saves", "data", "log = (SELECT log FROM lovia_runs WHERE run_id = 'alone')")
    (of_run,) = check(path)
    assert (of_run.what.partition("; ")[2], of_run.is_lost) == (LOST.format("alone"), True)


async def test_d3_a_session_is_not_said_to_lose_what_a_run_that_is_mended_before_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await forked_talk(path)
    change(path, "UPDATE lovia_runs SET status = 'failed' WHERE run_id = 'a2'")
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE run_id IN ('a2', 'a3')")
    of_run, of_talk, of_fork = [finding.what.partition("; ")[2] for finding in check(path)]
    without = f"the session can be kept without {{}}{UNLESS}"
    assert (of_run, of_fork) == ("it can be made from the saves", without.format("it"))
    assert of_talk.endswith(f"; {without.format('the others')}")
    assert [finding.is_lost for finding in repair(path)] == [False] * 3
    session = SQLiteSession(path)
    assert (check(path), {name: await session.load(name) for name in before}) == ([], before)


async def test_r4_a_run_is_not_given_up_while_it_cannot_be_told_what_its_session_holds(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    change(path, "UPDATE lovia_strands SET upto = 1")
    flip(path, "lovia_saves", "data", FIRST_SAVE)
    with raw(path) as connection:
        connection.execute("CREATE TRIGGER guard BEFORE UPDATE ON lovia_strands BEGIN SELECT RAISE(ABORT, 'no'); END")
    of_strand, of_run = repair(path)
    assert of_strand.what.endswith("; left alone: the tables do not fit together: no")
    damaged = "the row that says where the segments of session 'talk' are is not what was written (strand 1)"
    assert of_run.what.endswith(f"; left alone: {damaged}")
    assert (of_strand.repairable, of_run.repairable) == (False, False)
    with raw(path) as connection:
        connection.execute("DROP TRIGGER guard")
    assert [finding.repairable for finding in repair(path)] == [True, True]
    run = await SQLiteCheckpointer(path).load("a2")
    assert (check(path), run and run.entries) == ([], before[2:])


@pytest.mark.parametrize("harm", ["state = 'prepared'", "session_id = 'a fork'"])
async def test_d3_rows_that_stand_in_each_others_way_are_all_put_right(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await forked_talk(path)
    with raw(path) as connection:
        rows = connection.execute("SELECT * FROM lovia_strands").fetchall()
        connection.execute("UPDATE lovia_strands SET session_id = 'x' WHERE strand = 2")
        connection.execute(f"UPDATE lovia_strands SET {harm} WHERE strand = 1")
        connection.execute("UPDATE lovia_strands SET session_id = 'talk' WHERE strand = 2")
    first, second = repair(path)
    assert first.what.endswith("; it was made again as it was written, for session 'talk'; " + ASIDE)
    assert second.what.endswith("; it is whole again")
    session = SQLiteSession(path)
    assert (check(path), {name: await session.load(name) for name in before}) == ([], before)
    with raw(path) as connection:
        assert connection.execute("SELECT * FROM lovia_strands").fetchall() == rows


async def test_d3_a_run_whose_row_has_lost_its_id_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1")
    change(path, "UPDATE lovia_runs SET run_id = NULL")
    assert [finding.repairable for finding in repair(path)] == [True]
    run = await SQLiteCheckpointer(path).load("a1")
    assert (check(path), run and run.head.status) == ([], "completed")


async def test_d3_what_a_later_round_of_a_repair_has_mended_is_not_said_to_be_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1")
    await SQLiteSession(path).append("other", [say("hello")], run_id="b1")
    flip(path, "lovia_sessions", "sum", "session_id = 'other'")
    change(path, "UPDATE lovia_strands SET upto = 1 WHERE session_id = 'talk'")
    with raw(path) as connection:
        (total,) = connection.execute("SELECT sum FROM lovia_sessions WHERE session_id = 'other'").fetchone()
        until = f"(SELECT sum FROM lovia_sessions WHERE session_id = 'other') = '{total}'"
        refusal = f"BEFORE UPDATE ON lovia_strands WHEN {until} BEGIN SELECT RAISE(ABORT, 'not yet'); END"
        connection.execute(f"CREATE TRIGGER guard {refusal}")
    findings = repair(path)
    assert [(finding.repairable, "left alone" in finding.what) for finding in findings] == [(True, False)] * 2
    assert check(path) == []


async def test_d3_a_run_whose_segment_nothing_counts_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2", "a3")
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE run_id = 'a3'")
        connection.execute("DELETE FROM lovia_sessions")
    doubt = "whether run 'a3' stood in it as well, or was undone, cannot be told"
    (found,) = check(path)
    assert found.what.partition("; ")[2] == f"its row can be made from its segments; {doubt}"
    (done,) = repair(path)
    assert done.what.partition("; ")[2] == f"the row of session 'talk' was made again from its segments; {doubt}"
    session = SQLiteSession(path)
    assert (check(path), await session.load("talk")) == ([], before[:4])
    await session.append("talk", before[4:], run_id="a3")  # as its replay does (R6)
    assert await session.load("talk") == before
