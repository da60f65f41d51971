"""A ref that something has removed: its run is damaged, never unknown, and its tools do not run again (D3, Z3)."""

import errno
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stores.errors import StoreDamagedError, StoreWriteError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.file.names import name_of
from tests.store_file.kit import everything, files, first, later, only, rewrite, write_run
from tests.store_file.test_forks import BIG, fork, key_of

pytestmark = pytest.mark.anyio

LOST = "the ref of run 'r' is missing, and its data is there"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def lose(path: Path, session: str | None) -> FileStore:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3, session=session)
    only(path, "runs/r.*.json").unlink()
    return store


@pytest.mark.parametrize("session", [None, "talk"])
async def test_d3_a_run_without_its_ref_is_not_begun_anew(path: Path, session: str | None) -> None:
    store = await lose(path, session)
    before = everything(path)
    async with store.checkpointer.lease("r") as lease:
        with pytest.raises(StoreDamagedError, match=LOST):
            await lease.load()
        with pytest.raises(StoreDamagedError, match=LOST):
            await lease.save(first(session))
    with pytest.raises(StoreDamagedError, match=LOST):
        await store.checkpointer.load("r")
    info = await store.checkpointer.info("r")
    assert info is not None
    assert (info.run_id, str(info.damage).startswith(LOST)) == ("r", True)
    assert everything(path) == before
    repair(path)
    assert check(path) == []
    snapshot = await store.checkpointer.load("r")
    assert snapshot is not None
    assert snapshot.head.save == 3


async def test_d3_a_session_tells_of_a_run_without_its_ref_and_keeps_its_data(path: Path) -> None:
    store = await lose(path, "talk")
    async with store.checkpointer.open_runs("talk") as runs:
        (info,) = runs
    assert (info.run_id, str(info.damage).startswith(LOST)) == ("r", True)
    assert len(files(path, "data/*/*.json")) == 1


async def test_r4_an_id_whose_run_was_deleted_or_never_began_is_free(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3)
    await store.checkpointer.delete("r")
    await write_run(store.checkpointer, "r", 1)
    only(path, "runs/r.*.json").unlink()  # as a crash before the ref leaves it
    assert await store.checkpointer.load("r") is None
    assert await store.checkpointer.info("r") is None
    await write_run(store.checkpointer, "r", 2)
    assert await store.checkpointer.load("r") is not None


async def test_d3_the_data_of_other_runs_is_not_searched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, real, opened = FileStore(path).checkpointer, os.open, list[str]()
    for name in ("r", "s", "t"):
        await write_run(store, name, 3)
    await store.delete("r")

    def open_seen(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(name)
        return real(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_seen)
    assert (await store.info("r"), await store.load("r")) == (None, None)
    await write_run(store, "r", 1)
    assert [name for name in opened if name == "000001.json"] == []


async def test_d2_the_data_of_an_earlier_version_is_found_whatever_its_name(path: Path) -> None:
    store = await lose(path, None)
    data = only(path, "data/*/000001.json")
    rewrite(data, key="0123456789abcdef0123")
    data.parent.rename(path / "data" / "0123456789abcdef0123")
    with pytest.raises(StoreDamagedError, match=LOST):
        await store.checkpointer.load("r")
    repair(path)
    assert await store.checkpointer.load("r") is not None


async def fork_of_nothing(path: Path) -> None:
    """A fork that has not gone on yet: no save of its own stands behind the one that forks."""
    await write_run(FileStore(path).checkpointer, "source", 4)
    await fork(path, "source", "r", 3, session="r")


async def imported(path: Path) -> None:
    store = FileStore(path).checkpointer
    async with store.lease("r") as lease:
        await store.import_log(lease, [first("r"), later(2), later(3), later(4, status="interrupted")])


@pytest.mark.parametrize("begin", [fork_of_nothing, imported])
async def test_d3_a_fork_or_an_import_without_its_ref_is_no_run_that_was_cut_off(
    path: Path, begin: Callable[[Path], Awaitable[None]]
) -> None:
    await begin(path)
    store = FileStore(path).checkpointer
    before = await store.load("r")
    only(path, "runs/r.*.json").unlink()
    with pytest.raises(StoreDamagedError, match=LOST):
        await store.load("r")
    async with store.open_runs("r") as runs:
        assert [str(info.damage).startswith(LOST) for info in runs] == [True]
    async with store.lease("r") as lease:
        with pytest.raises(StoreDamagedError, match=LOST):
            await lease.save(first())
    assert [(one.is_leftover, one.what) for one in repair(path)] == [
        (False, "the ref of run 'r' is missing; it was made from the data")
    ]
    assert (check(path), await store.load("r")) == ([], before)


@pytest.mark.parametrize("begin", [fork_of_nothing, imported])
async def test_d3_a_fork_or_an_import_that_was_cut_off_before_its_ref_is_no_run(
    path: Path, begin: Callable[[Path], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def fail(source: str, target: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        if Path(f"/proc/self/fd/{dst_dir_fd}").readlink() / target == path / "runs" / f"{name_of('r')}.json":
            raise OSError(errno.EIO, "the disk failed")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", fail)
        with pytest.raises(StoreWriteError):
            await begin(path)
    store = FileStore(path).checkpointer
    assert (await store.load("r"), await store.info("r")) == (None, None)
    found = [(one.is_leftover, one.what) for one in check(path) if "/data/" in one.file]
    assert found == [(True, "a crash cut off run 'r' before it began")]
    async with store.open_runs("r") as runs:
        assert runs == []
    assert check(path) == []
    await write_run(store, "r", 2)


async def test_d3_with_a_lost_ref_and_a_lost_chunk_the_saves_behind_it_do_not_stand_in_the_way(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    only(path, "runs/r.*.json").unlink()
    only(path, "data/*/000003.json").unlink()
    assert [finding.is_lost for finding in repair(path)] == [False, False]
    assert (check(path), files(path, "data/*/000004.json")) == ([], [])
    snapshot = await store.load("r")
    assert snapshot is not None
    async with store.lease("r") as lease:
        await lease.load()
        for number in range(snapshot.head.save + 1, 30):
            await lease.save(later(number, BIG))
    assert check(path) == []


async def test_d3_a_chunk_behind_a_gap_goes_aside(path: Path) -> None:
    await write_run(FileStore(path).checkpointer, "r", 3)
    stray = only(path, "data/*/000001.json").with_name("000003.json")
    stray.write_bytes(b"stray")
    (finding,) = check(path)
    assert (finding.file, finding.repairable) == (str(stray), True)
    repair(path)
    assert (check(path), stray.exists()) == ([], False)


async def test_r4_of_several_data_the_newest_are_those_of_a_run_without_its_ref(path: Path) -> None:
    store = FileStore(path).checkpointer
    newest = ""
    while not newest:  # until the older one is looked at first
        await write_run(store, "r", 2)
        kept = only(path, "data/*/000001.json").parent
        shutil.copytree(kept, path.parent / kept.name)
        await write_run(store, "r", 3)
        shutil.move(path.parent / kept.name, kept)  # as if its removal had been cut off
        newest = key if kept.name < (key := key_of(path, "r")) else ""
        if not newest:
            shutil.rmtree(kept)
    only(path, "runs/r.*.json").unlink()
    repair(path)
    assert (check(path), key_of(path, "r")) == ([], newest)
