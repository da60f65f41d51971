"""A ref that something has removed: its run is damaged, never unknown, and its tools do not run again (D3, Z3)."""

import os
from pathlib import Path

import pytest

from stores.errors import StoreDamagedError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import everything, files, first, only, rewrite, write_run

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
    assert (info.run_id, (info.damage or "").startswith(LOST)) == ("r", True)
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
    assert (info.run_id, (info.damage or "").startswith(LOST)) == ("r", True)
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
