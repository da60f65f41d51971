"""A lost session.json is made again, and nothing that was undone comes back because a fork reads it (M3, H3, D3)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stores.entries import ToolCallEntry, ToolResultEntry
from stores.errors import StoreDamagedError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import entries, everything, files, only, say
from tests.store_file.test_restoring import cut, empty, runs, talk

pytestmark = pytest.mark.anyio

LEFT_OUT = "; what may have been undone was left out, and kept for its forks and in quarantine: "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def forked_at(path: Path, upto: str, *run_ids: str) -> FileStore:
    """Session ``talk`` of those completed runs, two and two entries each, of which fork ``f`` reads the first ones."""
    store = await talk(path, *run_ids)
    await store.session.fork_session("talk", "f", upto=upto)
    await store.session.confirm_fork("f")
    return store


async def lose(path: Path, damage: Callable[[Path], None] = Path.unlink) -> str:
    """Lose the session.json of session ``talk``, and have it made again: what is said of that."""
    damage(only(path, "sessions/talk.*/session.json"))
    before = {data for data in everything(path).values() if b'"kind":"segment"' in data}
    with pytest.raises(StoreDamagedError):
        await FileStore(path).session.segments("talk")
    (done,) = [finding for finding in repair(path) if not finding.is_leftover]
    assert (done.repairable, check(path)) == (True, [])
    assert before <= set(everything(path).values())
    return done.what


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink])
async def test_m3_what_was_rewound_does_not_come_back_from_what_a_fork_reads(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = await forked_at(path, "r2", "r1", "r2", "r3")
    for run_id in ("r2", "r3"):
        await store.checkpointer.delete(run_id)
    await store.session.rewind("talk", keep_entries=3)
    assert (await lose(path, damage)).endswith(f"{LEFT_OUT}run 'r2'")
    assert (await runs(store, "talk"), await runs(store, "f")) == (["r1"], ["r1", "r2"])
    await store.session.append("talk", [say("new")], run_id="r4")
    assert (await runs(store, "talk"), await runs(store, "f")) == (["r1", "r4"], ["r1", "r2"])
    assert check(path) == []


@pytest.mark.parametrize("damage", [empty, Path.unlink])
async def test_d3_a_session_of_which_nothing_can_be_read_goes_aside_as_a_whole(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = FileStore(path)
    for run_id in ("r1", "r2"):
        await store.session.append("talk", [say(run_id)], run_id=run_id)
    for segment in files(path, "sessions/*/0*"):
        empty(segment)
    damage(file := only(path, "sessions/*/session.json"))
    what = "session.json is missing" if damage is Path.unlink else "the file is empty"
    what += ", and none of its segments can be read; the folder {} as a whole"
    (finding,) = check(path)
    assert (finding.file, finding.what) == (str(file.parent), what.format("can go aside"))
    assert [finding.what for finding in repair(path)] == [
        what.format("was moved to").replace("as a whole", f"quarantine/sessions__{file.parent.name}")
    ]
    assert (check(path), entries(path / "sessions")) == ([], [])


async def test_d1_a_session_of_which_a_newer_lovia_wrote_the_segments_stays(path: Path) -> None:
    await FileStore(path).session.append("talk", [say("r1")], run_id="r1")
    segment, file = only(path, "sessions/*/0*"), only(path, "sessions/*/session.json")
    segment.write_bytes(segment.read_bytes().replace(b'{"v":1', b'{"v":2'))
    empty(file)
    before = everything(path)
    (finding,) = repair(path)
    assert (finding.what, finding.repairable) == ("a newer lovia wrote this file, in format 2", False)
    assert everything(path) == before


async def test_m4_a_session_that_was_removed_does_not_come_back(path: Path) -> None:
    store = await forked_at(path, "r1", "r1")
    await store.checkpointer.delete("r1")
    await store.session.clear("talk")
    assert (await lose(path)).endswith(f"{LEFT_OUT}run 'r1'")
    assert (await runs(store, "talk"), await runs(store, "f")) == ([], ["r1"])
    assert [info.session_id for info in await store.session.sessions()] == ["f"]
    assert any("__000001." in name for name in entries(path / "quarantine"))
    await store.session.clear("f")
    assert (check(path), files(path, "sessions/*/*.json")) == ([], [])


async def test_m3_what_stands_behind_a_cut_or_another_segment_was_undone(path: Path) -> None:
    """Whatever the checkpoints say: the rewind of the Python API leaves them."""
    for keep, more in ((2, []), (3, ["r4"])):
        store = await forked_at(path / str(keep), "r3", "r1", "r2", "r3")
        await store.session.rewind("talk", keep_entries=keep)
        for run_id in more:
            await store.session.append("talk", [say(run_id)], run_id=run_id)
        before = await store.session.segments("talk")
        assert LEFT_OUT not in await lose(path / str(keep))
        assert await store.session.segments("talk") == before
        assert await runs(store, "f") == ["r1", "r2", "r3"]


async def test_d3_all_of_a_session_that_a_fork_reads_counts_while_checkpoints_or_later_runs_tell(path: Path) -> None:
    for name, kept in (("checkpoints", ["r2"]), ("later", [])):
        store = await forked_at(path / name, "r2", "r1", "r2")
        for run_id in {"r1", "r2"} - set(kept):
            await store.checkpointer.delete(run_id)
        if not kept:
            await store.session.append("talk", [say("more")], run_id="r3")
        before = await store.session.segments("talk")
        assert LEFT_OUT not in await lose(path / name)
        assert await store.session.segments("talk") == before


async def test_m1_what_a_trim_has_written_beside_for_forks_counts_with_what_stands_behind(path: Path) -> None:
    store = FileStore(path)
    call = ToolCallEntry(id="c", name="t", arguments="{}", step=1, position=1)
    for run_id in ("r1", "r2"):
        result = ToolResultEntry(call_id="c", output="o" * 999, step=1, position=1)
        await store.session.append("talk", [say("go"), call, result], run_id=run_id)
    await store.session.fork_session("talk", "f", upto="r2")
    await store.session.confirm_fork("f")
    await store.session.append("talk", [say("more")], run_id="r3")
    assert await store.session.trim_tool_results("talk", keep_chars=3) == 2
    before = [await store.session.segments(session_id) for session_id in ("talk", "f")]
    await lose(path)
    assert [await store.session.segments(session_id) for session_id in ("talk", "f")] == before


async def test_h3_a_session_made_again_never_gives_a_fork_another_beginning(path: Path) -> None:
    """A fork knows segments by epoch and number, and no other may ever stand there."""
    store = await talk(path, "r1")
    for n in (2, 3, 4):
        await store.session.append("talk", [say(f"{n}")], run_id=f"r{n}")
        await store.session.rewind("talk", keep_entries=3)
    await store.session.fork_session("talk", "f", upto="r1")
    await store.session.confirm_fork("f")
    await lose(path)
    assert (await runs(store, "talk"), await runs(store, "f")) == (["r1"], ["r1"])
    for n in (5, 6):
        await store.session.clear("talk")
        await store.session.append("talk", [say(f"{n}")], run_id=f"r{n}")
        assert (await runs(store, "talk"), await runs(store, "f")) == ([f"r{n}"], ["r1"])
    assert check(path) == []


async def test_d3_with_session_json_a_segment_in_the_middle_is_lost_and_none_behind_it(path: Path) -> None:
    store = await talk(path, "r1", "r2", "r3", "r4")
    for run_id in ("r2", "r4"):
        await store.checkpointer.delete(run_id)
    only(path, "sessions/talk.*/session.json").unlink()
    only(path, "sessions/talk.*/000002.*").unlink()
    cut(only(path, "sessions/talk.*/000004.*"))
    done = repair(path)
    assert "; segment 4 cannot be read, and went aside too" in done[0].what
    assert (check(path), await runs(store, "talk")) == ([], ["r1", "r3"])
    await store.session.append("talk", [say("more")], run_id="r5")
    assert (check(path), await runs(store, "talk")) == ([], ["r1", "r3", "r5"])


async def test_h3_a_fork_of_a_first_append_that_was_cut_off_leaves_a_whole_session(path: Path) -> None:
    store = await talk(path, "r1")
    only(path, "sessions/talk.*/session.json").unlink()
    await store.session.fork_session("talk", "f", upto="r1")
    await store.session.confirm_fork("f")
    assert (check(path), await runs(store, "talk"), await runs(store, "f")) == ([], ["r1"], ["r1"])


@pytest.mark.parametrize(
    ("is_forked", "keep", "more", "left"),
    [(False, 6, ["r4"], ["r1", "r2", "r4"]), (False, 7, [], ["r1", "r2", "r3"]), (True, 6, ["r4"], ["r1", "r2", "r4"])],
)
async def test_m3_an_older_copy_of_session_json_does_not_undo_a_rewind(
    path: Path, is_forked: bool, keep: int, more: list[str], left: list[str]
) -> None:
    """Where a segment of a later epoch tells of it, though a fork keeps all that the older copy names."""
    store = await (forked_at(path, "r3", "r1", "r2", "r3") if is_forked else talk(path, "r1", "r2", "r3"))
    file = only(path, "sessions/talk.*/session.json")
    older = file.read_bytes()
    await store.checkpointer.delete("r3")
    await store.session.rewind("talk", keep_entries=keep)
    for run_id in more:
        await store.session.append("talk", [say(run_id)], run_id=run_id)
    before = await store.session.load("talk")
    file.write_bytes(older)
    for refused in (store.session.load("talk"), store.session.append("talk", [say("new")])):
        with pytest.raises(StoreDamagedError, match="an older copy of the file"):
            await refused
    (finding,) = repair(path)
    assert (finding.file, "an older copy of the file" in finding.what) == (str(file), True)
    assert (check(path), await runs(store, "talk"), await store.session.load("talk")) == ([], left, before)


async def test_h3_a_fork_reads_on_when_a_segment_is_put_back_before_the_repair(path: Path) -> None:
    store = await forked_at(path, "r3", "r1", "r2", "r3")
    await store.checkpointer.delete("r2")
    file = only(path, "sessions/talk.*/000002.*")
    whole = file.read_bytes()
    cut(file)
    assert sorted("forked session 'f'" in finding.what for finding in check(path)) == [False, True]
    file.write_bytes(whole)
    assert (check(path), await runs(store, "f")) == ([], ["r1", "r2", "r3"])
    cut(file)
    repair(path)
    assert (await runs(store, "talk"), await runs(store, "f")) == (["r1", "r3"], ["r1", "r3"])
    assert check(path) == []


@pytest.mark.parametrize("more", [["r7"], ["r7", "r8"]])
async def test_m4_session_json_of_a_removed_conversation_takes_the_place_of_no_completed_run(
    path: Path, more: list[str]
) -> None:
    """Nor does the removed run come back from the history that was kept of it."""
    store = await talk(path, "r5")
    older = only(path, "sessions/talk.*/session.json").read_bytes()
    await store.checkpointer.delete("r5", keep_history=True)
    await store.session.clear("talk")
    await talk(path, *more)
    for run_id in more[:-1]:
        await store.checkpointer.delete(run_id)
    before = await store.session.load("talk")
    file = only(path, "sessions/talk.*/session.json")
    file.write_bytes(older)
    with pytest.raises(StoreDamagedError, match="segment 1 of session 'talk' is missing"):
        await store.session.load("talk")
    what = "an older copy of the file: where the last segment that it counts stood, a completed run has another"
    (finding,) = check(path)
    assert (finding.file, finding.what) == (str(file), f"{what}; it can be made again")
    aside = f"moved to quarantine/sessions__{file.parent.name}__session.json"
    (done,) = repair(path)
    assert done.what == f"{what}; made again from the session's segments; what was there was {aside}"
    assert (check(path), await runs(store, "talk"), await store.session.load("talk")) == ([], more, before)
