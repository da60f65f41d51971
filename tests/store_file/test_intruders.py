"""What stands in the place of one of the store's folders is told of, goes aside, and keeps nothing else up (D3)."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from stores.file import FileResultStore, FileStore
from stores.file.disk import remove_folder
from stores.file.doctor.check import check, repair
from stores.references import ResultRef
from tests.store_file.kit import everything, first, only, read, say, write_run
from tests.store_file.test_restoring import talk
from tests.store_file.test_unreadable import closed, ordinary_user

pytestmark = pytest.mark.anyio

PLACES = ["locks", "locks/runs", "locks/sessions", "locks/owners", "locks/results", "runs", "data", "data/KEY"]
PLACES += ["sessions", "sessions/talk.*", "sessions/f.*", "sessions/talk.*/open", "sessions/talk.*/forks"]
PLACES += ["results", "results/*", "cancel", "quarantine"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def fill(path: Path) -> FileStore:
    """A session with a fork, an unfinished run and an archived output; beside it a run that has lost its ref."""
    store = await talk(path, "r1", "r2")
    await write_run(store.checkpointer, "open", 2, session="talk")
    await write_run(store.checkpointer, "hurt", 2, status="failed")
    await store.session.fork_session("talk", "f", upto="r1")
    await store.session.confirm_fork("f")
    await store.session.append("f", [say("own")], run_id="f1")
    await FileResultStore(path).put(ResultRef("r1", 1, 1), "out")
    only(path, "runs/hurt.*").write_bytes(b"")
    return store


def as_file(place: Path) -> None:
    place.write_bytes(b"mine")


def as_link(place: Path) -> None:
    place.symlink_to(place.parent)


def as_pipe(place: Path) -> None:
    os.mkfifo(place)


def intrude(path: Path, pattern: str, make: Callable[[Path], None]) -> Path:
    """Put something in the place of a folder, and of all in it."""
    key = read(only(path, "runs/r1.*"))["key"]
    place = next(path.glob(pattern.replace("KEY", key)), path / pattern)
    remove_folder(str(place))
    make(place)
    return place


def numbers(folder: Path) -> list[int]:
    """What is in it, by what a rename leaves the same."""
    return [file.lstat().st_ino for file in folder.iterdir()]


@pytest.mark.parametrize("pattern", PLACES)
async def test_d3_what_is_no_folder_goes_aside_and_all_else_is_mended(path: Path, pattern: str) -> None:
    before = [entry.text for entry in await (await fill(path)).session.load("talk")]
    place = intrude(path, pattern, as_file)
    whole = everything(path)
    found = {(finding.file, finding.what.partition(";")[0]) for finding in check(path)}
    assert (str(place), "a file in the place of a folder of the store") in found
    assert pattern == "runs" or (str(only(path, "runs/hurt.*")), "the file is empty") in found
    assert everything(path) == whole
    done = repair(path)
    assert all(finding.repairable for finding in done)
    (where,) = (finding.what.rpartition(" ")[2] for finding in done if "place of a folder" in finding.what)
    assert (path / where).read_bytes() == b"mine"
    assert check(path) == []
    store = FileStore(path)
    assert [entry.text for entry in await store.session.load("talk")] == before
    async with store.checkpointer.open_runs("talk") as runs:
        assert [run.run_id for run in runs] == (["open"] if pattern != "data" else [])
    async with store.checkpointer.lease("new") as lease:
        await lease.save(first("talk"))


@pytest.mark.parametrize(("make", "kind"), [(as_link, "a link"), (as_pipe, "a pipe")])
async def test_d3_a_link_or_a_pipe_is_no_folder_either(path: Path, make: Callable[[Path], None], kind: str) -> None:
    await fill(path)
    (link := path.with_name("link")).symlink_to(path)
    for pattern in ("locks", "sessions/talk.*/open"):
        place = intrude(path, pattern, make)
        before = place.lstat().st_ino
        assert f"{kind} in the place of a folder of the store" in [one.what.partition(";")[0] for one in check(link)]
        repair(link)
        assert check(link) == []
        assert before in numbers(path / "quarantine")


async def test_d3_what_cannot_be_moved_aside_holds_up_nothing_else() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        await fill(path)
        repair(path)
        results, marker = intrude(path, "results", as_file), only(path, "sessions/*/open/*.json")
        marker.unlink()
        with ordinary_user(Path(folder)), closed(path, 0o500):
            done = {(one.file, one.what.partition("; it ")[2], one.repairable) for one in repair(path)}
        assert done == {
            (str(results), f"could not be mended: cannot write: Permission denied ({results})", False),
            (str(marker), "", True),
        }
        assert results.read_bytes() == b"mine"
