"""What this user may not read, or a newer lovia wrote, may be well: the doctor leaves it where it is (D3)."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from stores.conformance.checks import saved, write
from stores.errors import StoreUnreadableError, StoreVersionError
from stores.file import FileCheckpointer, FileStore
from stores.file.doctor.check import check, repair
from stores.sqlite import SQLiteCheckpointer
from tests.store_file.kit import chunk, everything, exists, files, make, only, say, write_run
from tests.store_file.test_doctor import fill
from tests.store_file.test_forks import BIG, fork, forked
from tests.store_file.test_salvage import cut_in_third, finished

pytestmark = pytest.mark.anyio

DENIED = "the file cannot be read: Permission denied"
DENIED_FOLDER = "not a folder that can be read: Permission denied"


@contextmanager
def ordinary_user(folder: Path) -> Iterator[None]:
    """Be one to whom ``folder`` belongs: permissions hold nobody back who is root."""
    if os.geteuid() != 0:
        yield
        return
    for file in (folder, *folder.rglob("*")):
        os.chown(file, 12345, -1)
    os.seteuid(12345)
    try:
        yield
    finally:
        os.seteuid(0)


def only_one(path: Path, pattern: str) -> Path:
    """The one file or folder that matches."""
    (found,) = path.glob(pattern)
    return found


@contextmanager
def closed(file: Path, mode: int = 0) -> Iterator[None]:
    file.chmod(mode)
    try:
        yield
    finally:
        file.chmod(0o700)


@pytest.mark.parametrize("file", ["runs/long.*.json", "data/*/000002.json", "sessions/*/session.json"])
async def test_d3_a_file_that_may_not_be_read_is_not_moved_aside(file: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        await fill(path)
        before = everything(path)
        with ordinary_user(Path(folder)), closed(only(path, file)):
            found = {(finding.what, finding.repairable) for finding in repair(path)}
        assert found == {("the file cannot be read: Permission denied", False)}
        assert everything(path) == before


async def test_a_store_is_made_in_a_folder_that_stands_where_nobody_may_look() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "ours", ".lovia")
        make(path.parent)
        make(path)
        with ordinary_user(Path(folder)):
            path.parent.chmod(0o111)
            await write_run(FileStore(path).checkpointer)
            assert [run.run_id for run in await FileStore(path).checkpointer.runs()] == ["r"]
            path.parent.chmod(0o700)


async def test_d3_a_folder_that_may_not_be_read_is_no_damage() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        store = await fill(path)
        with ordinary_user(Path(folder)), closed(path / "runs"):
            with pytest.raises(StoreUnreadableError, match="Permission denied") as caught:
                await store.checkpointer.runs()
            with pytest.raises(StoreUnreadableError, match="Permission denied"):
                check(path)
        assert (caught.value.code, caught.value.where) == ("store_unreadable", str(path / "runs"))
        assert caught.value.hint == f"let this user read and write it: chmod u+rwX {path / 'runs'}"


@pytest.mark.parametrize("closed_folder", ["data/*/forks", "sessions/s.*/forks", "sessions/s.*"])
async def test_d3_marks_where_nobody_may_look_are_not_missing(closed_folder: str) -> None:
    """Nor is a fork of which they may tell begun anew without what it began with."""
    with TemporaryDirectory() as folder, ordinary_user(Path(folder)):
        path = Path(folder, ".lovia")
        store = FileStore(path)
        await write_run(store.checkpointer, "r", 20, text=BIG)
        await fork(path, "r", "f", 12)
        await store.session.append("s", [say("go")], run_id="r1")
        await forked(store.session, "s", "f", "r1")
        await store.session.append("f", [say("more")], run_id="r2")
        before, where = everything(path), only_one(path, closed_folder)
        with closed(where):
            assert {(finding.file, finding.repairable) for finding in repair(path)} == {(str(where), False)}
        assert (check(path), everything(path)) == ([], before)
        (lost := only(path, "sessions/f.*/session.json")).unlink()
        with closed(where):
            found = [finding.repairable for finding in repair(path) if finding.file == str(lost)]
        assert (found, exists(lost)) == ([is_read := "data" in closed_folder], is_read)


async def test_r4_a_run_whose_segment_may_not_be_read_is_not_made_unfinished() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        await finished(path, 4)
        chunk(path, 1).write_bytes(cut_in_third(chunk(path, 1).read_bytes()))
        before = everything(path)
        with ordinary_user(Path(folder)), closed(segment := only(path, "sessions/*/000001.*")):
            looked, repaired = check(path), repair(path)
        assert looked == repaired
        assert [(finding.file, finding.what, finding.repairable) for finding in looked] == [
            (str(segment), DENIED, False)
        ]
        assert everything(path) == before


@pytest.mark.parametrize(
    ("ref", "hidden", "expected"),
    [
        ("gone", ["data/*/000001.json"], {DENIED}),
        ("hidden", ["data/*", "runs/r.*"], {DENIED, DENIED_FOLDER}),
        ("empty", ["data/*"], {"the file is empty; its data may be what cannot be read", DENIED_FOLDER}),
    ],
)
async def test_d3_data_that_may_not_be_read_is_not_that_of_an_unknown_run(
    ref: str, hidden: list[str], expected: set[str]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        await write_run(FileStore(path).checkpointer)
        if ref == "gone":
            only(path, "runs/r.*").unlink()
        if ref == "empty":
            only(path, "runs/r.*").write_bytes(b"")
        before = everything(path)
        with ordinary_user(Path(folder)), ExitStack() as stack:
            for pattern in hidden:
                stack.enter_context(closed(only_one(path, pattern)))
            findings = repair(path)
        assert {finding.what for finding in findings} == expected
        assert not any(finding.repairable for finding in findings)
        assert everything(path) == before


async def test_d1_data_that_a_newer_lovia_wrote_is_not_that_of_an_unknown_run(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    await write_run(FileStore(path).checkpointer)
    for file in (only(path, "runs/r.*"), chunk(path, 1)):
        file.write_bytes(file.read_bytes().replace(b'{"v":1', b'{"v":2'))
    before = everything(path)
    assert {(finding.what, finding.repairable) for finding in repair(path)} == {
        ("a newer lovia wrote this file, in format 2", False)
    }
    assert everything(path) == before


async def test_d1_a_finished_run_whose_last_chunk_a_newer_lovia_wrote_is_left_alone(tmp_path: Path) -> None:
    path, store = tmp_path / ".lovia", FileStore(tmp_path / ".lovia")
    await write_run(store.checkpointer, "r", 8, session="s", text="x" * 9_000)
    await store.session.append("s", [say("go")], run_id="r")
    last = files(path, "data/*/*.json")[-1]
    last.write_bytes(last.read_bytes().replace(b'{"v":1', b'{"v":2'))
    before = everything(path)
    assert [(finding.file, finding.repairable) for finding in repair(path)] == [(str(last), False)]
    assert everything(path) == before


async def test_d3_an_id_whose_ref_is_gone_and_whose_data_cannot_be_looked_into_is_not_free(tmp_path: Path) -> None:
    path, store = tmp_path / ".lovia", FileStore(tmp_path / ".lovia")
    await write_run(store.checkpointer, "r", 3)
    only(path, "runs/*.json").unlink()
    (data := only(path, "data/*/*.json")).write_bytes(data.read_bytes().replace(b'{"v":1', b'{"v":2'))
    with pytest.raises(StoreVersionError, match="a newer lovia wrote this file"):
        await store.checkpointer.load("r")


async def test_d3_what_cannot_be_mended_does_not_end_the_repair_of_all_else() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        await fill(path)
        (path / "quarantine").mkdir(mode=0o700)
        (ref := only(path, "runs/short.*")).write_bytes(b"")
        (marker := only(path, "sessions/*/open/*.json")).unlink()
        with ordinary_user(Path(folder)), closed(path / "quarantine"):
            findings = {finding.file: (finding.what, finding.repairable) for finding in repair(path)}
        reason = f"not a folder that can be read: Permission denied ({path / 'quarantine'})"
        assert findings.pop(str(ref)) == (f"the file is empty; it could not be mended: {reason}", False)
        assert findings == {str(marker): ("the session does not know of this unfinished run", True)}
        assert len(files(path, "sessions/*/open/*.json")) == 1


@pytest.mark.parametrize("make", [FileCheckpointer, SQLiteCheckpointer])
async def test_d3_a_store_that_may_not_be_reached_is_unreadable(
    make: type[FileCheckpointer | SQLiteCheckpointer],
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "above", "store")
        await write(make(path), "r", saved(1, say("hello")))
        refused = pytest.raises(StoreUnreadableError, match=r"be (read|reached): Permission denied$")
        with ordinary_user(Path(folder)), closed(path.parent), refused as caught:
            await make(path).runs()
        hint = "let this user into every folder above it, or choose another place with --store"
        assert (caught.value.where, caught.value.hint) == (str(path), hint)
