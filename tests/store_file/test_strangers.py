"""What the doctor says of files that are not the store's, and of those that are about to be (D3)."""

from pathlib import Path

import pytest

from stores.file import FileResultStore, FileStore
from stores.file.doctor.check import check, repair
from stores.references import ResultRef
from tests.store_file.kit import everything, files, only, write_run
from tests.store_file.test_restoring import talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


@pytest.mark.parametrize("name", ["notes.txt", "sub/notes.txt"])
async def test_d3_what_is_not_the_stores_is_told_in_every_folder_of_records_and_left_alone(
    path: Path, name: str
) -> None:
    store = await talk(path, "r1", "r2")
    await store.session.fork_session("talk", "f", upto="r1")
    await store.session.confirm_fork("f")
    await FileResultStore(path).put(ResultRef("r1", 1, 1), "out")
    assert check(path) == []
    for folder in folders(path):
        stray = leave(folder / name)
        before, top = everything(path), str(folder / name.split("/")[0])
        for findings in (check(path), repair(path)):
            assert [(one.file, one.what) for one in findings] == [(top, "not a file of this store; it is left alone")]
        assert everything(path) == before
        remove(stray, folder)


def folders(path: Path) -> list[Path]:
    """One folder of each kind that holds records."""
    kinds = [".", "runs", "data", "data/*", "sessions", "sessions/*", "sessions/*/open", "sessions/*/forks"]
    kinds += ["results", "results/*"]
    return [path if kind == "." else next(one for one in sorted(path.glob(kind)) if one.is_dir()) for kind in kinds]


def leave(file: Path) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    return file


def remove(file: Path, folder: Path) -> None:
    file.unlink()
    if file.parent != folder:
        file.parent.rmdir()


async def test_a_run_that_begins_right_now_keeps_its_marker(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 1, session="talk")
    async with store.checkpointer.lease("r"):
        only(path, "runs/r.*.json").unlink()  # as if it were still to be written
        assert repair(path) == check(path) == []
        assert files(path, "sessions/*/open/r.*.json")
