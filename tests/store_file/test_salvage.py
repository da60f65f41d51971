"""What the doctor keeps of a run whose newest chunk is damaged, and what it says of it (D3, Z3)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stores.entries import ToolCallEntry, ToolResultEntry
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.findings import CAN_ANSWER
from tests.store_file.kit import chunk, entries, later, only, read, say, write_run
from tests.store_file.kit import first as begun
from tests.store_file.test_forks import BIG, fork, key_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def damaged(path: Path, change: Callable[[bytes], bytes]) -> FileStore:
    """A run of four saves in one chunk, whose file was changed."""
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 4)
    file = chunk(path, 1)
    file.write_bytes(change(file.read_bytes()))
    return store


async def saves(store: FileStore) -> int:
    snapshot = await store.checkpointer.load("r")
    assert snapshot is not None
    return snapshot.head.save


def cut_in_third(data: bytes) -> bytes:
    return data[: data.index(b'{"save":3') + 20]


def cut_behind_third(data: bytes) -> bytes:
    return data[: data.index(b'{"save":4')]


def junk_over_fourth(data: bytes) -> bytes:
    at = data.index(b'{"save":4')
    return data[:at] + b"\0" * 30 + data[at + 30 :]


def cut_in_checksum(data: bytes) -> bytes:
    return data[:-40]


CASES = [(cut_in_third, 2), (cut_behind_third, 3), (junk_over_fourth, 3), (cut_in_checksum, 4)]


@pytest.mark.parametrize(("change", "kept"), CASES)
async def test_d3_the_saves_in_front_of_the_damage_are_kept(
    path: Path, change: Callable[[bytes], bytes], kept: int
) -> None:
    store = await damaged(path, change)
    doubt = f"(1 to {kept} are whole lines that no checksum vouches for)"
    (finding,) = check(path)
    assert finding.what.endswith(f"; saves 1 to {kept} can be kept {doubt}")
    before = chunk(path, 1).read_bytes()
    (done,) = repair(path)
    (aside,) = entries(path / "quarantine")
    assert (
        f"; saves 1 to {kept} of run 'r' were kept {doubt}; what was there was moved to quarantine/{aside}" in done.what
    )
    assert (path / "quarantine" / aside).read_bytes() == before
    assert check(path) == []
    assert await saves(store) == kept
    async with store.checkpointer.lease("r") as lease:
        await lease.save(later(kept + 1))
    assert await saves(store) == kept + 1


@pytest.mark.parametrize("change", [lambda data: b"", lambda data: data.replace(b"yes", b"yEs", 1)])
async def test_d3_where_no_save_can_be_trusted_the_run_goes_aside_and_is_named(
    path: Path, change: Callable[[bytes], bytes]
) -> None:
    store = await damaged(path, change)
    (finding,) = check(path)
    assert finding.what.endswith("; no save of run 'r' can be kept, and its id would start over")
    (done,) = repair(path)
    (aside,) = [name for name in entries(path / "quarantine") if name.startswith("data")]
    assert done.what.endswith(
        f"; no save of run 'r' can be kept: it was moved to quarantine/{aside}, and its id would start over"
    )
    assert await store.checkpointer.load("r") is None
    assert check(path) == []


async def test_d3_what_goes_aside_as_a_whole_is_said_to_be_lost(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "a", 8, text="x" * 9_000)
    async with store.checkpointer.lease("a fork") as lease:
        await store.checkpointer.fork(lease, "a", later(7, "no"))
    for name in ("b", "c"):
        await write_run(store.checkpointer, name)
    for name in ("a", "b", "c"):
        key = read(only(path, f"runs/{name}.*"))["key"]
        only(path, f"data/{key}/000001.json").write_bytes(b"")
    only(path, "runs/b.*").unlink()
    only(path, "runs/c.*").write_bytes(b"")
    assert [finding.is_lost for finding in repair(path)] == [True] * 5, "run a, its fork, data of b and c, the ref of c"
    assert check(path) == []


async def finished(path: Path, saves: int, text: str = "yes") -> FileStore:
    """A completed run whose segment is in its session."""
    store = FileStore(path)
    await write_run(store.checkpointer, "r", saves, session="s", text=text, status="completed", output="yes")
    await store.session.append("s", [say("go"), say("yes", 1)], run_id="r")
    await store.checkpointer.settle("r")
    return store


async def test_r4_a_run_that_its_session_holds_as_finished_is_not_begun_again(path: Path) -> None:
    store = await finished(path, 4)
    file = chunk(path, 1)
    file.write_bytes(cut_in_third(file.read_bytes()))
    (finding,) = check(path)
    assert finding.what.endswith(f"; {CAN_ANSWER}")
    (done,) = repair(path)
    assert "; its session holds run 'r' as finished: its result was kept from there, its history of saves" in done.what
    assert "is gone; the checkpoint was moved to quarantine/data__" in done.what
    assert check(path) == []
    run = await store.checkpointer.load("r")
    assert run is not None
    assert (run.entries, run.head.status, run.head.output) == ([say("go"), say("yes", 1)], "completed", "yes")
    assert (run.head.session_id, run.head.steps, run.head.save) == ("s", 1, 1)
    async with store.checkpointer.open_runs("s") as opened:
        assert opened == []
    assert len(await store.session.segments("s")) == 1


@pytest.mark.parametrize("is_shared", [False, True])
async def test_h2_a_run_that_is_made_again_keeps_its_parent_and_its_history(path: Path, is_shared: bool) -> None:
    """So that a fork of it begins with what it began with, and it stands in the tree where it stood."""
    store, name = FileStore(path), "f" if is_shared else "s"
    await store.session.append("s", [say("before")], run_id="r0")
    if is_shared:
        await store.session.fork_session("s", "f", upto="r0")
        await store.session.confirm_fork("f")
    parent, end = {"run_id": "r9", "save": 3, "step": 2}, {"status": "completed", "output": "yes"}
    async with store.checkpointer.lease("r") as lease:
        await lease.save(begun(name, history_upto="r0", parent=parent, history_limit=5))
        await lease.save(later(2, **end))
    await store.session.append(name, [say("go"), say("yes", 1)], run_id="r")
    chunk(path, 1).write_bytes(b"")
    repair(path)
    assert check(path) == []
    run, info = await store.checkpointer.load("r"), await store.checkpointer.info("r")
    assert run is not None
    assert info is not None
    assert (run.head.history_upto, run.head.parent, run.head.history_limit) == ("r0", parent, 5)
    assert (info.parent, info.session_id, info.status) == (parent, name, "completed")


async def test_r4_what_a_fork_reads_of_a_run_that_is_set_aside_stays(path: Path) -> None:
    store = await finished(path, 8, "x" * 9_000)
    async with store.checkpointer.lease("f") as lease:
        await store.checkpointer.fork(lease, "r", later(7, "no", session_id=None))
    before = await store.checkpointer.load("f")
    file = chunk(path, 2)
    file.write_bytes(file.read_bytes()[:-20_000])
    repair(path)
    assert check(path) == []
    run = await store.checkpointer.load("r")
    assert run is not None
    assert (run.head.status, await store.checkpointer.load("f")) == ("completed", before)


@pytest.mark.parametrize("is_archived", [True, False])
async def test_m2_a_run_that_is_made_again_has_its_archived_outputs_back(path: Path, is_archived: bool) -> None:
    store = FileStore(path)
    call = ToolCallEntry(id="c", name="t", arguments="{}", step=1, position=1)
    result = ToolResultEntry(call_id="c", output="o" * 999, step=1, position=1)
    await write_run(store.checkpointer, "r", 2, session="s", status="completed")
    await store.session.append("s", [say("go"), call, result], run_id="r")
    archive = store.results if is_archived else None
    assert await store.session.trim_tool_results("s", keep_chars=3, keep_runs=0, archive=archive) == 1
    trimmed = await store.session.load("s")
    chunk(path, 1).write_bytes(b"")
    repair(path)
    run = await store.checkpointer.load("r")
    assert run is not None
    assert run.entries == ([say("go"), call, result] if is_archived else trimmed)
    assert (check(path), await store.session.load("s")) == ([], trimmed)


async def test_r4_what_an_older_repair_began_again_is_put_right(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3, session="s")
    await store.session.append("s", [say("go")], run_id="r")
    done = repair(path)
    assert done[0].what.startswith("the checkpoint of run 'r' breaks off before its end; its session holds run 'r'")
    assert check(path) == []
    async with store.checkpointer.open_runs("s") as opened:
        assert opened == []


@pytest.mark.parametrize(("change", "kept"), [(lambda data: data + b"junk", 13), (lambda data: data[:-9_000], 12)])
async def test_h2_of_a_forks_first_chunk_too_what_stands_before_the_damage_is_kept(
    path: Path, change: Callable[[bytes], bytes], kept: int
) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "long", 20, text=BIG)
    await fork(path, "long", "r", 11, later(13, BIG))
    file = path / "data" / key_of(path, "r") / "000001.json"
    file.write_bytes(change(file.read_bytes()))
    (done,) = repair(path)
    assert (done.is_lost, check(path), await saves(store)) == (False, [], kept)


@pytest.mark.parametrize("is_link", [False, True])
async def test_r4_a_run_with_a_folder_or_a_link_in_a_chunks_place_is_answered_by_its_session(
    path: Path, is_link: bool
) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 40, session="u", text="x" * 2_000, status="completed")
    run = await store.checkpointer.load("r")
    assert run is not None
    await store.session.append("u", run.entries, run_id="r")
    file = chunk(path, 2)
    file.unlink()
    if is_link:
        file.symlink_to("000001.json")
    else:
        file.mkdir()
    assert [finding.repairable for finding in repair(path)] == [True]
    assert check(path) == []
    again = await store.checkpointer.load("r")
    assert again is not None
    assert (again.status, again.entries) == ("completed", run.entries)
