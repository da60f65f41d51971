"""The doctor makes a lost segment again from its run's checkpoint, in its place (S5, R7)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stores.entries import ToolCallEntry, ToolResultEntry
from stores.errors import StoreDamagedError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.file.locks import lock_of
from stores.file.names import name_of
from stores.records import Save
from tests.store_file.kit import everything, files, first, only, read, say, write_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def talk(path: Path, *run_ids: str) -> FileStore:
    """Completed runs of one session, each with its segment."""
    store = FileStore(path)
    for run_id in run_ids:
        await write_run(store.checkpointer, run_id, 3, session="talk", text=f"of {run_id}", status="completed")
        run = await store.checkpointer.load(run_id)
        assert run is not None
        await store.session.append("talk", run.entries, run_id=run_id, meta={"timing": {"started_at": 1.0}})
        await store.checkpointer.settle(run_id)
    return store


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def junk(file: Path) -> None:
    file.write_bytes(b"\0" * 300)


@pytest.mark.parametrize("damage", [cut, junk, Path.unlink])
@pytest.mark.parametrize("place", ["000001.*", "000002.*", "000003.*"])
async def test_r7_a_lost_segment_is_made_again_in_its_place(
    path: Path, place: str, damage: Callable[[Path], None]
) -> None:
    store = await talk(path, "r1", "r2", "r3")
    before = await store.session.segments("talk")
    file = only(path, f"sessions/*/{place}")
    run_id = read(file)["run"]
    damage(file)
    (finding,) = check(path)
    assert (Path(finding.file), finding.repairable) == (file, True)
    assert finding.what.endswith(f"; it can be made again from the checkpoint of run '{run_id}'")
    (done,) = repair(path)
    assert f"; made again from the checkpoint of run '{run_id}'" in done.what
    assert ("quarantine/" in done.what) == (damage is not Path.unlink)
    assert check(path) == []
    after = await FileStore(path).session.segments("talk")
    assert [(one.run_id, one.entries) for one in after] == [(one.run_id, one.entries) for one in before]
    await store.session.append("talk", before[0].entries, run_id="r1")  # S3: still the same
    await store.session.append("talk", [say("4")], run_id="r4")
    assert check(path) == []


async def test_r7_several_lost_segments_are_each_made_again(path: Path) -> None:
    store = await talk(path, "r1", "r2", "r3")
    before = await store.session.load("talk")
    for place in ("000001.*", "000002.*", "000003.*"):
        cut(only(path, f"sessions/*/{place}"))
    repair(path)
    assert check(path) == []
    assert await store.session.load("talk") == before


async def test_r7_to_make_many_lost_segments_again_costs_each_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, opened = os.open, list[str]()

    def open_counted(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(name)
        return real(name, flags, mode, dir_fd=dir_fd)

    async def cost(number: int) -> int:
        path = tmp_path / str(number)
        store = await talk(path, *(f"r{n}" for n in range(number)))
        before = await store.session.load("talk")
        for file in files(path, "sessions/*/0*"):
            empty(file)
        assert len(check(path)) == number
        opened.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", open_counted)
            repair(path)
        assert (check(path), await store.session.load("talk")) == ([], before)
        return len(opened)

    few, some, many = await cost(4), await cost(8), await cost(16)
    assert many - some == 2 * (some - few)


@pytest.mark.parametrize("is_whole_folder", [False, True])
async def test_m1_what_is_made_again_is_not_trimmed_and_says_so(path: Path, is_whole_folder: bool) -> None:
    store = FileStore(path)
    call = ToolCallEntry(id="c", name="look", step=1)
    result = ToolResultEntry(call_id="c", output="x" * 900, step=1)
    end = {"status": "completed"}
    async with store.checkpointer.lease("r1") as lease:
        await lease.save(first("our talk"))
        await lease.save(Save(number=2, step=1, at=2.0, event="result", entries=[call, result], head=end))
    await store.session.append("our talk", [say("go"), call, result], run_id="r1")
    await store.session.append("our talk", [say("more")], run_id="r2")
    assert await store.session.trim_tool_results("our talk") == 1
    file = only(path, "sessions/*/000001.*")
    shutil.rmtree(file.parent) if is_whole_folder else file.unlink()
    (done,) = repair(path)
    assert done.what.endswith(
        "; its tool outputs are whole: where it was trimmed, trim it again with: lovia trim 'our talk'"
    )
    await store.session.append("our talk", [say("last")], run_id="r3")
    assert (check(path), await store.session.trim_tool_results("our talk")) == ([], 1)


@pytest.mark.parametrize("damage", [cut, Path.unlink])
async def test_r7_an_only_segment_is_made_again_also_without_session_json(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = await talk(path, "r1")
    before = await store.session.load("talk")
    damage(only(path, "sessions/*/session.json"))
    cut(only(path, "sessions/*/000001.*"))
    repair(path)
    assert check(path) == []
    assert await store.session.load("talk") == before


async def test_r7_where_a_place_is_not_known_a_marker_is_left(path: Path) -> None:
    store = await talk(path, "r1", "r2", "r3")
    only(path, "sessions/*/000001.*").unlink()
    only(path, "sessions/*/000002.*").unlink()
    findings = repair(path)
    assert "made again from the checkpoint of run 'r2'" in findings[0].what
    assert "the next run of the session appends run 'r1' again" in findings[1].what
    assert check(path) == []
    async with store.checkpointer.open_runs("talk") as runs:
        assert [run.run_id for run in runs] == ["r1"]


async def test_d3_without_a_checkpoint_the_session_goes_on_without_the_segment(path: Path) -> None:
    store = await talk(path, "r1", "r2")
    await store.checkpointer.delete("r1")
    cut(only(path, "sessions/*/000001.*"))
    (finding,) = repair(path)
    assert (
        "no checkpoint holds the same, so the session goes on without it; what was there was moved to quarantine/"
        in (finding.what)
    )
    assert [segment.run_id for segment in await store.session.segments("talk")] == ["r2"]


async def test_m3_what_a_rewind_has_truncated_is_not_made_again_whole(path: Path) -> None:
    store = await talk(path, "r1", "r2")
    await store.session.rewind("talk", keep_entries=4)
    cut(only(path, "sessions/*/000002.*"))
    before = everything(path)
    (finding,) = check(path)
    assert "no checkpoint holds the same" in finding.what
    assert everything(path) == before


async def forked_talk(path: Path, *run_ids: str) -> FileStore:
    """Session ``talk`` of r1 and r2, and ``afork``, sorted before it, that begins with both and has those runs."""
    store = await talk(path, "r1", "r2")
    await store.session.fork_session("talk", "afork", upto="r2")
    await store.session.confirm_fork("afork")
    for run_id in run_ids:
        await store.session.append("afork", [say(run_id), say("yes", 1)], run_id=run_id)
    return store


def own_files(path: Path, start: str = "sessions/afork.") -> dict[str, bytes]:
    return {name: data for name, data in everything(path).items() if name.startswith(start)}


async def runs(store: FileStore, session_id: str = "afork") -> list[str]:
    return [segment.run_id for segment in await store.session.segments(session_id)]


@pytest.mark.parametrize("damage", [cut, Path.unlink])
async def test_d3_what_a_fork_shares_is_mended_at_its_source(path: Path, damage: Callable[[Path], None]) -> None:
    store = await forked_talk(path, "f1")
    mine = own_files(path)
    damage(only(path, "sessions/talk.*/000001*"))
    assert [finding.repairable for finding in repair(path)] == [True]
    assert (check(path), await runs(store)) == ([], ["r1", "r2", "f1"])
    assert own_files(path) == mine


@pytest.mark.parametrize("damage", [cut, Path.unlink])
async def test_d3_a_fork_that_loses_a_segment_of_its_own_counts_from_where_its_base_ends(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = await forked_talk(path, "f1", "f2", "f3")
    damage(only(path, "sessions/afork.*/000001*"))
    repair(path)
    assert (check(path), await runs(store)) == ([], ["r1", "r2", "f2", "f3"])
    await store.session.append("afork", [say("more")], run_id="f4")
    assert (check(path), await runs(store)) == ([], ["r1", "r2", "f2", "f3", "f4"])


async def test_r7_a_fork_has_its_own_lost_segment_again(path: Path) -> None:
    store = await forked_talk(path)
    await write_run(store.checkpointer, "f1", 3, session="afork", status="completed")
    run = await store.checkpointer.load("f1")
    assert run is not None
    await store.session.append("afork", run.entries, run_id="f1")
    await store.session.append("afork", [say("more")], run_id="f2")
    only(path, "sessions/afork.*/000001*").unlink()
    assert [finding.what.endswith("again from the checkpoint of run 'f1'") for finding in repair(path)] == [True]
    assert (check(path), await runs(store)) == ([], ["r1", "r2", "f1", "f2"])


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink])
@pytest.mark.parametrize("own", [[], ["f1"], ["f1", "f2"]])
async def test_d3_a_forks_lost_session_json_is_made_again_with_what_it_began_with(
    path: Path, damage: Callable[[Path], None], own: list[str]
) -> None:
    store = await forked_talk(path, *own)
    begun = first("afork")
    begun.head["history_upto"] = (own or ["r2"])[-1]
    async with store.checkpointer.lease("open") as lease:
        await lease.save(begun)
    marks = own_files(path, "sessions/talk.")
    damage(only(path, "sessions/afork.*/session.json"))
    assert [finding.repairable for finding in repair(path)] == [True]
    assert (check(path), await runs(store)) == ([], ["r1", "r2", *own])
    assert own_files(path, "sessions/talk.") == marks
    await store.session.append("afork", [say("more")], run_id="next")
    assert (check(path), await runs(store)) == ([], ["r1", "r2", *own, "next"])


async def test_d3_what_a_fork_with_an_empty_session_json_reads_is_not_removed(path: Path) -> None:
    store = await forked_talk(path, "f1")
    empty(only(path, "sessions/afork.*/session.json"))
    assert await store.session.rewind("talk", keep_entries=0) == 6
    repair(path)
    assert (check(path), await runs(store), await runs(store, "talk")) == ([], ["r1", "r2", "f1"], [])


@pytest.mark.parametrize("damage", [cut, empty])
async def test_d3_a_damaged_mark_is_made_again_and_a_fork_is_not_guessed_from_it(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = await forked_talk(path, "f1")
    mark = only(path, "sessions/talk.*/forks/*.json")
    whole = mark.read_bytes()
    damage(mark)
    (finding,) = repair(path)
    assert (finding.file, finding.repairable) == (str(mark), True)
    assert "the mark of forked session 'afork', which keeps what it begins with, is damaged: " in finding.what
    assert "; it was made again; what was there was moved to quarantine/sessions__talk." in finding.what
    assert (check(path), mark.read_bytes()) == ([], whole)
    damage(mark)
    cut(only(path, "sessions/afork.*/session.json"))
    before = everything(path)
    assert [finding.repairable for finding in repair(path)] == [False, False]
    assert everything(path) == before
    mark.write_bytes(whole)
    repair(path)
    assert (check(path), await runs(store)) == ([], ["r1", "r2", "f1"])


@pytest.mark.parametrize("kind", ["folder", "link"])
async def test_d3_what_is_no_file_in_a_marks_place_goes_aside(path: Path, kind: str) -> None:
    store = await forked_talk(path, "f1")
    mark = only(path, "sessions/talk.*/forks/*.json")
    mark.rename(path.parent / "kept")
    mark.mkdir() if kind == "folder" else mark.symlink_to(path.parent / "kept")
    (finding,) = repair(path)
    assert (finding.file, finding.repairable) == (str(mark), True)
    assert mark.read_bytes() == (path.parent / "kept").read_bytes()
    (path.parent / "kept").unlink()
    assert (check(path), await runs(store)) == ([], ["r1", "r2", "f1"])
    (aside,) = (path / "quarantine").iterdir()
    assert (aside.is_dir(), aside.is_symlink()) == (kind == "folder", kind == "link")


async def test_d3_a_fork_of_which_nothing_says_what_it_began_with_is_left_as_it_is(path: Path) -> None:
    await forked_talk(path, "f1")
    only(path, "sessions/talk.*/forks/*.json").unlink()
    cut(only(path, "sessions/afork.*/session.json"))
    before = everything(path)
    (finding,) = repair(path)
    assert (finding.repairable, "no mark says what the forked session began with" in finding.what) == (False, True)
    assert everything(path) == before


@pytest.mark.parametrize("damage", [cut, Path.unlink])
async def test_d3_a_fork_goes_on_without_what_cannot_be_mended_at_its_source(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = await forked_talk(path, "f1")
    await store.checkpointer.delete("r1")
    kept = (await store.session.load("afork"))[-5:]
    lost = only(path, "sessions/talk.*/000001*")
    damage(lost)
    assert "session 'talk', where it stands, comes first" in check(path)[1].what
    (done,) = [finding for finding in repair(path) if "forked session 'afork'" in finding.what]
    assert done.what.endswith("the fork goes on without it; of what it began with it keeps, as its own: 'r2'")
    assert (check(path), await runs(store), await runs(store, "talk")) == ([], ["r2", "f1"], ["r2"])
    assert await store.session.load("afork") == kept
    assert any(lost.name in name for name in everything(path / "quarantine")) == (damage is cut)
    assert await store.session.rewind("afork", keep_entries=1) == 4  # which no fork may of what it shares
    await store.session.append("afork", [say("more")], run_id="f2")
    assert (check(path), await runs(store), await runs(store, "talk")) == ([], ["r2", "f2"], ["r2"])


async def talk_with_tools(path: Path, *run_ids: str) -> FileStore:
    """Session ``talk`` of completed runs with a long output each: there is something to trim."""
    store, end = FileStore(path), {"status": "completed"}
    call, result = ToolCallEntry(id="c", name="look", step=1), ToolResultEntry(call_id="c", output="x" * 900, step=1)
    for run_id in run_ids:
        async with store.checkpointer.lease(run_id) as lease:
            await lease.save(first("talk"))
            await lease.save(Save(number=2, step=1, at=2.0, event="result", entries=[call, result], head=end))
        await store.session.append("talk", [say("go"), call, result], run_id=run_id)
        await store.checkpointer.settle(run_id)
    return store


@pytest.mark.parametrize("damage", [cut, Path.unlink])
@pytest.mark.parametrize("lost", ["000001.0-*", "000002.0-*"])
async def test_r7_a_lost_segment_that_only_a_fork_reads_is_made_again_too(
    path: Path, lost: str, damage: Callable[[Path], None]
) -> None:
    """Its source was trimmed since, and has it in a later epoch."""
    store = await talk_with_tools(path, "r1", "r2")
    await store.session.fork_session("talk", "afork", upto="r2")
    await store.session.confirm_fork("afork")
    assert await store.session.trim_tool_results("talk", keep_runs=0) == 2
    trimmed, whole = await store.session.load("talk"), await store.session.load("afork")
    file = only(path, f"sessions/talk.*/{lost}")
    damage(file)
    of_source, of_fork = check(path)
    assert (of_source.file, of_source.repairable) == (str(file), True)
    assert of_fork.what.endswith("session 'talk', where it stands, comes first")
    (done,) = repair(path)
    assert "made again from the checkpoint of run" in done.what
    assert (check(path), await store.session.load("talk"), await store.session.load("afork")) == ([], trimmed, whole)


@pytest.mark.parametrize("upto", ["n2", "n3"])
async def test_d3_what_was_undone_stands_for_no_lost_segment_of_a_fork(path: Path, upto: str) -> None:
    """r2 was undone before the fork was made, and is there for another one."""
    store = await talk_with_tools(path, "r1", "r2")
    await store.session.fork_session("talk", "of r2", upto="r2")
    await store.session.confirm_fork("of r2")
    await store.checkpointer.delete("r2")
    await store.session.rewind("talk", keep_entries=3)
    await talk_with_tools(path, "n2", "n3")
    await store.session.fork_session("talk", "afork", upto=upto)
    await store.session.confirm_fork("afork")
    await store.session.append("afork", [say("own")], run_id="f1")
    assert await store.session.trim_tool_results("talk", keep_runs=0) == 3
    before = await runs(store)
    only(path, "sessions/talk.*/000002.1-*").unlink()
    with pytest.raises(StoreDamagedError, match=r"does not follow the one before it|stood here when it was forked"):
        await runs(store)
    repair(path)
    assert (check(path), await runs(store), await runs(store, "of r2")) == ([], before, ["r1", "r2"])
    assert (before[:2], await runs(store, "talk")) == (["r1", "n2"], ["r1", "n2", "n3"])


async def test_d3_a_fork_waits_while_its_source_is_in_use(path: Path) -> None:
    store = await forked_talk(path, "f1")
    mine, whole = own_files(path), await store.session.load("afork")
    cut(only(path, "sessions/talk.*/000001*"))
    lock = lock_of(str(path / "locks" / "sessions"), name_of("talk"))
    assert lock.try_take()
    assert {finding.repairable for finding in repair(path)} == {False}
    assert own_files(path) == mine
    lock.release()
    repair(path)
    assert (check(path), await store.session.load("afork")) == ([], whole)
