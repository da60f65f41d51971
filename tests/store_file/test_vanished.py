"""The doctor and a session whose whole folder is gone: told, and made again from what its runs hold (S5, R7)."""

import shutil
from pathlib import Path

import pytest

from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import entries, everything, later, only, say, write_run
from tests.store_file.test_forks import fork
from tests.store_file.test_restoring import cut

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def finish(store: FileStore, run_id: str, upto: str | None, session: str = "talk") -> None:
    """A completed run that started from the history up to that run, with its segment."""
    end = {"status": "completed", "history_upto": upto}
    await write_run(store.checkpointer, run_id, 3, session=session, text=f"of {run_id}", **end)
    run = await store.checkpointer.load(run_id)
    assert run is not None
    await store.session.append(session, run.entries, run_id=run_id)
    await store.checkpointer.settle(run_id)


async def talk(path: Path) -> FileStore:
    """Session ``talk`` of z, b and a, in this order."""
    store = FileStore(path)
    for run_id, upto in (("z", None), ("b", "z"), ("a", "b")):
        await finish(store, run_id, upto)
    return store


def lose(path: Path, pattern: str = "sessions/talk.*") -> Path:
    (folder,) = path.glob(pattern)
    shutil.rmtree(folder)
    return folder


@pytest.mark.parametrize("pattern", ["sessions/talk.*", "sessions"])
async def test_r7_a_vanished_session_is_told_and_made_again_from_its_completed_runs(path: Path, pattern: str) -> None:
    store = await talk(path)
    await write_run(store.checkpointer, "open", 2, session="talk")
    before = await store.session.segments("talk")
    folder = only(path, "sessions/talk.*/session.json").parent
    lose(path, pattern)
    (finding,) = check(path)
    assert (finding.file, finding.repairable) == (str(folder), True)
    assert "the folder of session 'talk' is gone, and named by runs 'a', 'b', 'open', 'z'; " in finding.what
    assert "it can be made again from the checkpoints of runs 'z', 'b', 'a'" in finding.what
    assert [one.repairable for one in repair(path)] == [True]
    assert check(path) == []
    after = await FileStore(path).session.segments("talk")
    assert [(one.run_id, one.entries) for one in after] == [(one.run_id, one.entries) for one in before]
    async with store.checkpointer.open_runs("talk") as runs:
        assert [run.run_id for run in runs] == ["open"]
    await store.session.append("talk", before[0].entries, run_id="z")  # S3: still the same
    await store.session.append("talk", [say("more")], run_id="next")
    assert check(path) == []


async def test_r7_of_a_vanished_session_what_no_checkpoint_holds_is_named_and_not_made_up(path: Path) -> None:
    store = await talk(path)
    await store.checkpointer.delete("z")
    lose(path)
    (finding,) = repair(path)
    assert finding.what.endswith("; what no checkpoint holds is gone: run 'z'")
    assert [segment.run_id for segment in await store.session.segments("talk")] == ["b", "a"]
    assert check(path) == []


@pytest.mark.parametrize("keep_history", [False, True])
async def test_d3_a_removed_session_does_not_come_back(path: Path, keep_history: bool) -> None:
    store = await talk(path)
    for run_id in ("z", "b", "a"):
        await store.checkpointer.delete(run_id, keep_history=keep_history)  # in the order of lovia rm
    await store.session.clear("talk")
    assert check(path) == []
    lose(path)
    assert check(path) == repair(path) == []
    assert await store.session.segments("talk") == []


async def test_d3_a_session_that_was_cleared_and_kept_its_folder_is_not_made_again(path: Path) -> None:
    store = await talk(path)
    await store.session.clear("talk")
    assert check(path) == repair(path) == []
    assert await store.session.segments("talk") == []


async def test_d3_a_repair_that_was_cut_off_is_done_over(path: Path) -> None:
    store = await talk(path)
    before = await store.session.load("talk")
    folder = lose(path)
    begun = path / "quarantine" / f"sessions__{folder.name}.tmp"
    begun.mkdir(parents=True)
    (begun / "000009.0-x.json").write_bytes(b"half")
    repair(path)
    assert (check(path), await store.session.load("talk")) == ([], before)
    assert entries(path / "quarantine") == []


async def test_h3_a_vanished_fork_keeps_its_mark_and_begins_with_what_it_began_with(path: Path) -> None:
    store = await talk(path)
    await store.session.fork_session("talk", "f", upto="b")
    await fork(path, "a", "f", 1, session="f")
    await store.session.confirm_fork("f")
    before = await store.session.load("f")
    assert await store.session.load("f")
    marks = everything(path / "sessions")
    lose(path, "sessions/f.*")
    assert [finding.what.endswith("; unfinished in it: run 'f'") for finding in check(path)] == [True]
    repair(path)
    assert (check(path), await store.session.load("f")) == ([], before)
    assert {name for name in marks if "/forks/" in name} <= everything(path / "sessions").keys()


@pytest.mark.parametrize("lost", [[], ["z"]])
async def test_h3_a_fork_reads_of_a_source_made_again_only_what_it_read(path: Path, lost: list[str]) -> None:
    store = await talk(path)
    await store.session.fork_session("talk", "f", upto="b")
    await store.session.confirm_fork("f")
    before = await store.session.load("f")
    for run_id in lost:
        await store.checkpointer.delete(run_id)
    lose(path)
    findings = repair(path)
    if not lost:
        assert (check(path), await store.session.load("f")) == ([], before)
        return
    assert any(finding.what.endswith("of what it began with it keeps, as its own: nothing") for finding in findings)
    assert (check(path), await store.session.load("f")) == ([], [])
    assert [segment.run_id for segment in await store.session.segments("talk")] == ["b", "a"]


async def test_h3_a_vanished_fork_that_was_forked_is_read_by_its_fork_as_before(path: Path) -> None:
    store = await talk(path)
    await store.session.fork_session("talk", "f", upto="b")
    await fork(path, "a", "f", 1, later(3, "end", status="completed", history_upto="b"), session="f")
    await store.session.confirm_fork("f")
    run = await store.checkpointer.load("f")
    assert run is not None
    await store.session.append("f", run.entries, run_id="f")
    await store.checkpointer.settle("f")
    await store.session.append("f", [say("undone")], run_id="f1")
    await store.session.rewind("f", keep_entries=len(await store.session.load("f")) - 1)
    await finish(store, "f2", "f", "f")
    await store.session.fork_session("f", "g", upto="f2")
    await store.session.confirm_fork("g")
    before = await store.session.load("g")
    lose(path, "sessions/f.*")
    assert {finding.repairable for finding in repair(path)} == {True}
    assert (check(path), await store.session.load("g")) == ([], before)
    await store.checkpointer.delete("f2")
    await store.session.rewind("f", keep_entries=len(before) - 3)
    await finish(store, "f3", "f", "f")
    assert (check(path), await store.session.load("g")) == ([], before)


async def test_h3_a_fork_does_not_take_what_came_after_a_rewind_for_what_it_began_with(path: Path) -> None:
    store = await talk(path)
    await store.session.fork_session("talk", "f", upto="b")
    await store.session.confirm_fork("f")
    for run_id in ("a", "b"):  # in the order of lovia rewind
        await store.checkpointer.delete(run_id)
    await store.session.rewind("talk", keep_entries=len(await store.session.load("talk")) // 3)
    await finish(store, "c", "z")
    lose(path)
    repair(path)
    assert [segment.run_id for segment in await store.session.segments("talk")] == ["z", "c"]
    assert (check(path), await store.session.load("f")) == ([], [])


async def test_d3_a_fork_of_which_nothing_is_left_to_tell_can_be_removed(path: Path) -> None:
    store = await talk(path)
    await store.session.fork_session("talk", "f", upto="b")
    await fork(path, "a", "f", 1, session="f")
    await store.session.confirm_fork("f")
    cut(only(path, "sessions/talk.*/forks/*.json"))
    damaged = only(path, "sessions/f.*/session.json")
    cut(damaged)
    advice = "; where it is not wanted, move its folder elsewhere, and look again"
    assert [finding.what.endswith(advice) for finding in repair(path)] == [False, True]
    damaged.parent.rename(path.parent / "elsewhere")
    assert [finding.what.endswith("; where it is not wanted: lovia rm session:f") for finding in repair(path)] == [True]
    await store.checkpointer.delete("f")  # as lovia rm does
    await store.session.clear("f")
    repair(path)
    assert (check(path), len(await store.session.segments("talk"))) == ([], 3)
