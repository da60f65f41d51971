"""What the doctor says of records that it cannot keep (D3), and lost segments made again from checkpoints (R7)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lovia_cli.engine.opening import to_heal
from stores.conformance.checks import saved, write
from stores.conformance.samples import call, result, say, text
from stores.entries import Entry
from stores.findings import CAN_ANSWER
from stores.sqlite import SQLiteCheckpointer, SQLiteResultStore, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from tests.sqlite.kit import change, names, raw, runs_of_version_2, sessions_of_version_2
from tests.sqlite.test_damage import flip

pytestmark = pytest.mark.anyio


async def talk(path: Path, *run_ids: str, size: int = 1) -> list[Entry]:
    """Session ``talk`` of completed runs, each of two entries, and what it holds."""
    store, session = SQLiteCheckpointer(path), SQLiteSession(path)
    for n, run_id in enumerate(run_ids):
        entries: list[Entry] = [say(f"{run_id} asks" * size), say(f"{run_id} is answered" * size)]
        first, last = saved(1, *entries, session_id="talk"), saved(2, status="completed", event="completed")
        await write(store, run_id, first, replace(last, at=2000.0 + n))
        await session.append("talk", entries, run_id=run_id)
    return await session.load("talk")


def delete(path: Path, n: int) -> None:
    change(path, f"DELETE FROM lovia_segments WHERE n = {n}")


def damage(path: Path, n: int) -> None:
    flip(path, "lovia_segments", "entries", f"n = {n}")


@pytest.mark.parametrize("harm", [delete, damage])
@pytest.mark.parametrize("n", [1, 2, 3])
async def test_r7_a_lost_segment_is_made_again_in_its_place(
    tmp_path: Path, harm: Callable[[Path, int], None], n: int
) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2", "a3")
    harm(path, n)
    (found,) = check(path)
    assert found.what.endswith(f"; segment {n} can be made again from the checkpoint of run 'a{n}'")
    (done,) = repair(path)
    aside = "" if harm is delete else "; what was there was moved aside into the table lovia_quarantine"
    assert done.what.endswith(f"; segment {n} was made again from the checkpoint of run 'a{n}'{aside}")
    assert check(path) == []
    session = SQLiteSession(path)
    assert [segment.run_id for segment in await session.segments("talk")] == ["a1", "a2", "a3"]
    assert await session.load("talk") == before
    await session.append("talk", before[:2], run_id="a1")  # S3: still the same
    await session.append("talk", [say("more")], run_id="a4")
    assert check(path) == []


async def test_r7_all_segments_and_the_row_of_a_session_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    for n in (1, 2):
        damage(path, n)
    flip(path, "lovia_sessions", "segments", "session_id = 'talk'")
    assert {finding.repairable for finding in repair(path)} == {True}
    assert check(path) == []
    assert await SQLiteSession(path).load("talk") == before


async def test_r7_a_fork_has_again_what_was_made_again_in_its_source(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    session = SQLiteSession(path)
    await session.fork_session("talk", "a fork", upto="a2")
    await session.confirm_fork("a fork")
    damage(path, 1)
    assert all("made again" in finding.what or "whole again" in finding.what for finding in repair(path))
    assert check(path) == []
    assert await session.load("a fork") == await session.load("talk") == before


async def test_d3_a_damaged_segment_in_the_place_of_a_shared_one_hides_it_from_no_repair(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await forked_talk(path)
    change(path, "UPDATE lovia_segments SET n = 2, entries = 'x' WHERE run_id = 'f1'")
    (done,) = repair(path)
    assert "segment 3 was made again from the checkpoint of run 'f1'" in done.what
    found = {name: await SQLiteSession(path).load(name) for name in before}
    assert (check(path), found) == ([], before)
    with raw(path) as connection:
        assert connection.execute("SELECT origin FROM lovia_quarantine").fetchall() == [
            ("lovia_sessions",),
            ("lovia_segments",),
        ]


async def test_r7_what_a_rewind_has_cut_is_not_brought_back(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1", "a2")
    await SQLiteSession(path).rewind("talk", keep_entries=3)
    damage(path, 2)
    (done,) = repair(path)
    assert "no checkpoint holds the same, so session 'talk' goes on without one of its segments" in done.what
    assert [segment.run_id for segment in await SQLiteSession(path).segments("talk")] == ["a1"]


async def test_d3_a_run_of_which_no_save_is_left_is_named_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write(SQLiteCheckpointer(path), "a1", saved(1, say("hello")))
    flip(path, "lovia_saves", "data", "number = 1")
    (found,) = check(path)
    assert found.what.endswith("; no save of run 'a1' can be kept, and its id would start over")
    (done,) = repair(path)
    lost = "no save of run 'a1' can be kept: it was moved aside into the table lovia_quarantine"
    assert done.what.endswith(f"; {lost}, and its id would start over")
    assert (done.repairable, done.is_lost, check(path)) == (True, True, [])


async def test_d3_what_a_truncated_file_has_lost_is_named_with_where_it_remains(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1", "a2", size=2000)
    with raw(path) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'").fetchall())
    whole = path.read_bytes()
    for table, names_session in (("lovia_runs", False), ("lovia_sessions", True)):
        path.write_bytes(whole[: (roots[table] - 1) * 4096])  # cut in front of the table
        aside = f"store.db.damaged{'-2' if names_session else ''}"
        of_file, *of_runs = repair(path)
        session = "; nothing of session 'talk' could be read but its runs"
        assert (aside in names(tmp_path), f"moved aside to {aside};" in of_file.what) == (True, True)
        assert of_file.what.endswith(f"not all of the runs and the sessions could be read{session * names_session}")
        assert [finding.what.partition("; ")[2] for finding in of_runs] == [
            f"no save of run {name!r} can be kept: it was moved aside into {aside}, and its id would start over"
            for name in ("a1", "a2")
        ]
        assert [finding.is_lost for finding in of_runs] == [True, True]
        assert (check(path), await SQLiteCheckpointer(path).runs()) == ([], [])


async def test_r7_runs_of_a_session_that_could_not_be_read_are_appended_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1", "a2")
    store = SQLiteCheckpointer(path)
    for run_id in ("a1", "a2"):
        await store.settle(run_id)
    with raw(path) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'lovia_sessions'").fetchone()
    path.write_bytes(path.read_bytes()[: (root - 1) * 4096])
    assert "nothing of session 'talk' could be read but its runs" in repair(path)[0].what
    async with store.open_runs("talk") as runs:
        assert to_heal(runs) == ["a1", "a2"], "in the order in which they were said"
    assert check(path) == []


async def test_r4_a_run_that_its_session_holds_as_finished_is_not_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    flip(path, "lovia_saves", "data", "number = 2 AND log = (SELECT log FROM lovia_runs WHERE run_id = 'a2')")
    (finding,) = check(path)
    assert finding.what.endswith(f"; {CAN_ANSWER}")
    (done,) = repair(path)
    assert "its session holds run 'a2' as finished: its result was kept from there, its history of saves" in done.what
    assert "is gone; the checkpoint was moved aside into" in done.what
    assert check(path) == []
    store = SQLiteCheckpointer(path)
    run = await store.load("a2")
    assert run is not None
    assert (run.entries, run.head.status, run.head.session_id, run.head.save) == (before[2:], "completed", "talk", 1)
    assert await SQLiteSession(path).load("talk") == before
    async with store.open_runs("talk") as opened:
        assert "a2" not in [run.run_id for run in opened]
    with raw(path) as connection:
        kept = connection.execute("SELECT count(*) FROM lovia_quarantine WHERE origin = 'lovia_saves'").fetchone()
    assert kept == (2,)


async def test_r4_a_run_is_made_again_once_also_where_a_fork_shared_what_is_lost(tmp_path: Path) -> None:
    """What was made for the one is not taken for what the other lacks: both begin with a save 1 of that run."""
    path = tmp_path / "store.db"
    said = await talk(path, "a1")
    store, session = SQLiteCheckpointer(path), SQLiteSession(path)
    async with store.lease("f1") as lease:
        await store.fork(lease, "a1", saved(2, say("instead"), session_id="fork"))
        await lease.save(saved(3, status="completed", event="completed"))
    await session.append("fork", [*said, say("instead")], run_id="f1")
    change(path, "DELETE FROM lovia_saves WHERE number = 1")
    assert [finding.what.endswith(f"; {CAN_ANSWER}") for finding in repair(path)] == [False, False]
    assert check(path) == []
    runs = [await store.load(run_id) for run_id in ("a1", "f1")]
    assert [run and run.entries for run in runs] == [said, [*said, say("instead")]]
    assert [run and run.head.status for run in runs] == ["completed", "completed"]


async def test_h2_a_run_that_is_made_again_keeps_its_parent_and_its_history(tmp_path: Path) -> None:
    path, parent = tmp_path / "store.db", {"run_id": "r9", "save": 3, "step": 2}
    before = await talk(path, "a1")
    store, session = SQLiteCheckpointer(path), SQLiteSession(path)
    begun = saved(1, say("go"), session_id="talk", history_upto="a1", parent=parent, history_limit=5)
    await write(store, "a2", begun, saved(2, status="completed", event="completed"))
    await session.append("talk", [say("go")], run_id="a2")
    for n in (1, 2):
        flip(path, "lovia_saves", "data", f"number = 1 AND log = (SELECT log FROM lovia_runs WHERE run_id = 'a{n}')")
    repair(path)
    assert check(path) == []
    runs = [await store.load(run_id) for run_id in ("a1", "a2")]
    assert [run and run.head.history_upto for run in runs] == [None, "a1"]
    assert [run and run.head.parent for run in runs] == [None, parent]
    assert [run and run.head.history_limit for run in runs] == [None, 5]
    info = await store.info("a2")
    assert info is not None
    assert (info.parent, await session.load("talk")) == (parent, [*before, say("go")])


async def test_r4_what_an_older_repair_began_again_is_put_right(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write(SQLiteCheckpointer(path), "a1", saved(1, say("hello"), session_id="talk"))
    await SQLiteSession(path).append("talk", [say("hello")], run_id="a1")
    (done,) = repair(path)
    assert done.what.startswith("the checkpoint of run 'a1' breaks off before its end; its session holds run 'a1'")
    run = await SQLiteCheckpointer(path).load("a1")
    assert run is not None
    assert (check(path), run.head.status, run.entries) == ([], "completed", [say("hello")])


async def test_r4_a_run_whose_session_a_newer_lovia_has_is_not_made_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1")
    flip(path, "lovia_saves", "data", "number = 2")
    change(path, "UPDATE lovia_schema SET version = 999 WHERE part = 'sessions'")
    of_run, of_sessions = repair(path)
    assert of_run.what.endswith(f"; left alone: {of_sessions.what}")
    assert (of_run.repairable, of_sessions.repairable) == (False, False)
    with raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM lovia_saves").fetchone() == (2,)


async def test_d3_what_cannot_be_mended_does_not_end_the_repair_of_all_else(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1", "a2", "a3")
    for name in ("a1", "a2", "a3"):
        flip(path, "lovia_saves", "data", f"number = 1 AND log = (SELECT log FROM lovia_runs WHERE run_id = '{name}')")
    with raw(path) as connection:
        refusal = "WHEN old.run_id = 'a2' BEGIN SELECT RAISE(ABORT, 'no'); END"
        connection.execute(f"CREATE TRIGGER guard BEFORE DELETE ON lovia_runs {refusal}")
    findings = repair(path)
    assert [finding.repairable for finding in findings] == [True, False, True]
    assert findings[1].what.endswith("; left alone: the tables do not fit together: no")
    saves = {info.run_id: info.save for info in await SQLiteCheckpointer(path).runs()}
    assert saves == {"a1": 1, "a2": 2, "a3": 1}, "a1 and a3 as their session has them, a2 as it was"


@pytest.mark.parametrize("is_newer", [False, True])
async def test_d3_what_is_still_there_after_its_repair_is_not_said_to_be_repaired(
    tmp_path: Path, is_newer: bool
) -> None:
    path = tmp_path / "store.db"
    await talk(path, "a1", "a2")
    await SQLiteSession(path).append("other", [say("hello")], run_id="b1")
    flip(path, "lovia_sessions", "sum", "session_id = 'other'")
    flip(path, "lovia_sessions", "sum", "session_id = 'talk'")
    with raw(path) as connection:
        ignored = "WHEN old.session_id = 'talk' BEGIN SELECT RAISE(IGNORE); END"
        connection.execute(f"CREATE TRIGGER guard BEFORE UPDATE ON lovia_sessions {ignored}")
        if is_newer:
            connection.execute("UPDATE lovia_schema SET version = 999 WHERE part = 'runs'")
    what = "the row of session {} is not what was written; {}"
    again = "the row of session 'other' was made again from its segments"
    findings = [(finding.what, finding.repairable) for finding in repair(path)]
    assert findings[:2] == [
        (what.format("'other'", again), True),
        (what.format("'talk'", "it is still so after the repair"), False),
    ]
    assert [("a newer lovia" in what, is_mended) for what, is_mended in findings[2:]] == [(True, False)] * is_newer
    assert [finding.what.partition("; ")[0] for finding in check(path) if finding.repairable] == [
        "the row of session 'talk' is not what was written"
    ]


async def forked_talk(path: Path, upto: str | None = "a2") -> dict[str, list[Entry]]:
    """Session ``talk``, and ``a fork`` that began with its first two runs; what both hold."""
    await talk(path, "a1", "a2", "a3")
    session, entries = SQLiteSession(path), [say("f1 asks"), say("f1 is answered")]
    await session.fork_session("talk", "a fork", upto="a2")
    await session.confirm_fork("a fork")
    first = saved(1, *entries, session_id="a fork", history_upto=upto)
    await write(SQLiteCheckpointer(path), "f1", first, saved(2, status="completed", event="completed"))
    await session.append("a fork", entries, run_id="f1")
    return {name: await session.load(name) for name in ("talk", "a fork")}


async def test_r7_a_session_of_which_only_the_row_is_left_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2")
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments")
        connection.execute("DELETE FROM lovia_strands")
    assert [finding.is_lost for finding in repair(path)] == [False]
    assert (check(path), await SQLiteSession(path).load("talk")) == ([], before)


@pytest.mark.parametrize("harm", ["DELETE FROM lovia_segments", "UPDATE lovia_segments SET entries = '[]'"])
async def test_r7_a_lost_segment_of_a_forks_own_is_made_again_too(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await forked_talk(path)
    change(path, f"{harm} WHERE run_id = 'f1'")
    (done,) = repair(path)
    assert "; segment 3 was made again from the checkpoint of run 'f1'" in done.what
    session = SQLiteSession(path)
    assert (check(path), {name: await session.load(name) for name in before}) == ([], before)


@pytest.mark.parametrize("whose", ["session_id = 'talk'", "session_id = 'a fork'", "1"])
async def test_d3_the_row_that_says_where_a_sessions_segments_are_is_made_again(tmp_path: Path, whose: str) -> None:
    path = tmp_path / "store.db"
    before = await forked_talk(path)
    with raw(path) as connection:
        connection.execute(f"DELETE FROM lovia_strands WHERE {whose}")
    assert {finding.repairable for finding in check(path)} == {True}
    found = repair(path)
    assert [finding.what for finding in found if "again" not in finding.what] == []
    assert check(path) == []
    session = SQLiteSession(path)
    assert {name: await session.load(name) for name in before} == before
    await session.append("a fork", [say("more")], run_id="f2")
    assert (check(path), await session.load("talk")) == ([], before["talk"])


async def test_d3_a_fork_whose_beginning_nothing_tells_is_kept_without_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await forked_talk(path, upto=None)
    change(path, "DELETE FROM lovia_strands WHERE session_id = 'a fork'")
    assert any("goes on without 2 of its segments" in finding.what for finding in repair(path))
    assert await SQLiteSession(path).load("a fork") == before["a fork"][4:]


async def test_m2_a_run_that_is_made_again_has_its_archived_outputs(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store, session, archive = SQLiteCheckpointer(path), SQLiteSession(path), SQLiteResultStore(path)
    for n in (1, 2, 3):
        entries = [say("go"), call(1), result(1, output=f"{n}" * 2000), text("done", step=2)]
        await write(store, f"a{n}", saved(1, *entries, session_id="talk"), saved(2, status="completed", event="end"))
        await session.append("talk", entries, run_id=f"a{n}")
    before = [await store.load(f"a{n}") for n in (1, 2, 3)]
    assert await session.trim_tool_results("talk", keep_runs=0, archive=archive) == 3
    cut = [segment.entries for segment in await session.segments("talk")]
    change(path, "DELETE FROM lovia_results WHERE run_id = 'a2'")
    flip(path, "lovia_results", "output", "run_id = 'a3'")
    with raw(path) as connection:
        connection.execute("UPDATE lovia_saves SET data = '{}' WHERE number = 1")
    assert check(path)[-1].what.endswith("; it would go aside, unless what is mended before it tells more")
    *of_runs, of_output = repair(path)
    assert ([finding.is_lost for finding in of_runs], of_output.is_lost) == ([False] * 3, True)
    assert " is not what was written; it is lost: nothing else holds it, and what its marker in " in of_output.what
    assert of_output.what.endswith(" promises is void; it was moved aside into the table lovia_quarantine")
    found = [run and run.entries for run in [await store.load(f"a{n}") for n in (1, 2, 3)]]
    assert found == [before[0] and before[0].entries, cut[1], cut[2]], "as far as the archive has what was appended"
    assert (check(path), [segment.entries for segment in await session.segments("talk")]) == ([], cut)


async def test_d1_the_doctor_asks_the_other_part_of_an_older_file_too(tmp_path: Path) -> None:
    for part in ("runs", "sessions"):
        path = tmp_path / f"{part}.db"
        before = await talk(path, "a1", "a2")
        (runs_of_version_2 if part == "runs" else sessions_of_version_2)(path)
        if part == "runs":
            damage(path, 1)
        else:
            flip(path, "lovia_saves", "data", "log = 1 AND number = 1")
        with raw(path) as connection:
            old = list(connection.iterdump())
        (found,) = check(path)
        told = "segment 1 can be made again from the checkpoint of run 'a1'" if part == "runs" else CAN_ANSWER
        assert found.what.endswith(f"; {told}")
        with raw(path) as connection:
            assert list(connection.iterdump()) == old
        repair(path)
        assert (check(path), await SQLiteSession(path).load("talk")) == ([], before)
