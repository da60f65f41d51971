"""The store's folder: made by the first write, the user's own, and safe from any id."""

import os
from pathlib import Path

import pytest

from stores.errors import StoreDamagedError, StoreError, StoreVersionError, UserError
from stores.file import FileCheckpointer, FileSession, FileStore
from stores.file.names import name_of
from stores.protocols import Checkpointer, History, RunIndex, Session, SessionIndex
from tests.store_file.kit import entries, everything, exists, files, first, make, modes, read, say, write_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / ".lovia"


async def look(store: FileStore) -> None:
    """Every way to read."""
    assert await store.checkpointer.load("r") is None
    assert await store.checkpointer.info("r") is None
    assert await store.checkpointer.runs() == []
    assert await store.checkpointer.history("r") == []
    assert await store.checkpointer.snapshot("r", 1) is None
    assert await store.checkpointer.request_cancel("r") is None
    assert await store.checkpointer.delete("r") is False
    await store.checkpointer.settle("r")
    assert await store.session.segments("s") == []
    assert await store.session.sessions() == []
    assert not await store.session.has_segment("s", "r")
    await store.session.clear("s")


async def test_reading_makes_nothing(path: Path) -> None:
    await look(FileStore(path))
    await look(FileStore(path, create=False))
    assert not exists(path.parent)


async def test_a_store_that_may_not_be_made_is_an_error_of_the_first_write(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store") as caught:
        await FileSession(path, create=False).append("s", [])
    assert caught.value.where == str(path)
    assert not exists(path.parent)


async def test_both_parts_are_what_the_protocols_ask_for(path: Path) -> None:
    session, checkpointer = FileSession(path), FileCheckpointer(path)
    assert isinstance(session, Session)
    assert isinstance(session, SessionIndex)
    assert isinstance(checkpointer, Checkpointer)
    assert isinstance(checkpointer, RunIndex)
    assert isinstance(checkpointer, History)


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o777])
async def test_x11_folders_are_0700_and_files_0600_whatever_the_umask(path: Path, umask: int) -> None:
    make(path.parent)
    before = os.umask(umask)
    try:
        store = FileStore(path)
        await write_run(store.checkpointer, session="s")
        await store.session.append("s", [say("x")], run_id="r")
        async with store.checkpointer.lease("r"):
            await store.checkpointer.request_cancel("r")
            found = modes(path)
    finally:
        os.umask(before)
    assert found == {(True, "0o700"), (False, "0o600")}
    assert (path / ".gitignore").read_text() == "*\n"


async def test_a_store_of_another_user_is_refused(path: Path) -> None:
    if os.geteuid() == 0:
        await write_run(FileStore(path).checkpointer)
        os.chown(path, 12345, -1)
    else:
        path = Path("/usr")  # certainly root's
    with pytest.raises(StoreError, match="belongs to user"):
        await FileStore(path).checkpointer.runs()
    with pytest.raises(StoreError, match="belongs to user"):
        await FileStore(path).session.append("s", [])


async def test_d1_a_store_of_a_newer_lovia_is_refused_and_left_as_it_is(path: Path) -> None:
    await write_run(FileStore(path).checkpointer)
    (path / "store.json").write_text('{"v":7,"kind":"store"}')
    before = everything(path)
    for use in (FileStore(path).checkpointer.runs(), FileStore(path).session.append("s", [])):
        with pytest.raises(StoreVersionError, match="format 7"):
            await use
    assert everything(path) == before


async def test_a_folder_of_something_else_is_not_made_a_store(path: Path) -> None:
    make(path)
    (path / "thesis.txt").write_text("all of it")
    with pytest.raises(StoreError, match="this is no store") as caught:
        await write_run(FileStore(path).checkpointer)
    assert "doctor" not in (caught.value.hint or "")
    assert entries(path) == ["thesis.txt"]


async def test_a_link_in_the_place_of_a_folder_is_not_followed(path: Path) -> None:
    await write_run(FileStore(path).checkpointer)
    outside = path.parent / "outside"
    make(outside)
    (path / "sessions").symlink_to(outside)
    with pytest.raises(StoreDamagedError):
        await FileSession(path).append("s", [])
    assert entries(outside) == []


IDS = [
    "a",
    "A",
    "é",
    "e\u0301",
    "a/b",
    "a.b",
    "../../etc/passwd",
    "..",
    "CON",
    "nul",
    " a",
    "日本",
    "x" * 255,
    "ä" * 255,
]


async def test_ids_reach_no_other_place_and_come_back_unchanged(path: Path) -> None:
    store = FileStore(path)
    for run_id in IDS:
        async with store.checkpointer.lease(run_id) as lease:
            await lease.save(first())
        await store.session.append(run_id, [], run_id=run_id)
    assert sorted(info.run_id for info in await store.checkpointer.runs()) == sorted(IDS)
    assert sorted(info.session_id for info in await store.session.sessions()) == sorted(IDS)
    assert sorted(read(file)["id"] for file in files(path, "runs/*.json")) == sorted(IDS)
    assert entries(path.parent) == [".lovia"]
    names = [file.name for file in files(path)]
    assert max(len(name) for name in names) <= 75
    assert all(name == name.lower() and name.isascii() for name in names)


def test_names_are_what_is_readable_of_the_id_and_its_hash() -> None:
    assert name_of("Job-1 of Ünal") == "job-1ofnal.vgcuillx4itvqqp2zptu5jnwfz"
    assert name_of("日本").startswith("_.")


@pytest.mark.parametrize("bad", ["", "   ", "a\nb", "a\x00", "\ud800", "x" * 256, None])
async def test_what_may_be_no_id_is_refused_everywhere(path: Path, bad: str) -> None:
    store = FileStore(path)
    for use in (
        store.checkpointer.load(bad),
        store.checkpointer.delete(bad),
        store.checkpointer.settle(bad),
        store.session.load(bad),
        store.session.append(bad, []),
        store.session.clear(bad),
    ):
        with pytest.raises(UserError):
            await use
    with pytest.raises(UserError):
        await store.checkpointer.lease(bad).__aenter__()
    assert not exists(path)
