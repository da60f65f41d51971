"""Segments of a conversation that was removed, put back into that of another one with the same id (D3)."""

import shutil
from pathlib import Path

import pytest

from stores.errors import StoreDamagedError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import files, only, say
from tests.store_file.test_restoring import talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def talk_again(path: Path, *run_ids: str) -> tuple[FileStore, list[Path]]:
    """A session of that id that had three other runs before it was removed, and copies of what they had appended."""
    store = await talk(path, "old1", "old2", "old3")
    kept = path.parent / "kept"
    kept.mkdir()
    copies = [Path(shutil.copy(file, kept)) for file in files(path, "sessions/talk.*/0*.json")]
    await store.session.clear("talk")
    for run_id in ("old1", "old2", "old3"):
        await store.checkpointer.delete(run_id)
    return await talk(path, *run_ids), copies


@pytest.mark.parametrize("n", [1, 2, 3])
async def test_d3_another_runs_segment_beside_the_one_that_counts_is_not_taken_for_it(path: Path, n: int) -> None:
    store, old = await talk_again(path, "r1", "r2", "r3")
    before = await store.session.segments("talk")
    copy = shutil.copy(old[n - 1], only(path, "sessions/talk.*/session.json").parent)
    assert await store.session.segments("talk") == before
    (finding,) = check(path)
    assert (finding.file, finding.is_leftover) == (copy, True)
    assert finding.what == "not the segment that stands here, which is another run's"
    repair(path)
    assert (check(path), await store.session.segments("talk")) == ([], before)
    assert any(old[n - 1].name in file.name for file in files(path, "quarantine/*"))


@pytest.mark.parametrize("n", [1, 2, 3])
async def test_d3_another_runs_segment_in_the_place_of_a_lost_one_is_told_and_mended(path: Path, n: int) -> None:
    store, old = await talk_again(path, "r1", "r2", "r3")
    before = await store.session.segments("talk")
    lost = only(path, f"sessions/talk.*/{n:06d}.*")
    shutil.copy(old[n - 1], lost.parent)
    lost.unlink()
    with pytest.raises(StoreDamagedError, match=r"follow the one before it|segment 3 of session 'talk' is missing"):
        await store.session.load("talk")
    (finding,) = check(path)
    assert (finding.file, finding.repairable) == (str(lost), True)
    repair(path)
    after = await store.session.segments("talk")
    assert [(one.run_id, one.entries) for one in after] == [(one.run_id, one.entries) for one in before]
    assert check(path) == []


async def test_s3_another_runs_segment_behind_the_last_one_is_no_append_that_was_cut_off(path: Path) -> None:
    store, old = await talk_again(path, "r1", "r2")
    before = await store.session.load("talk")
    shutil.copy(old[2], only(path, "sessions/talk.*/session.json").parent)
    assert await store.session.load("talk") == before
    await store.session.append("talk", [say("more")], run_id="r3")
    assert await store.session.load("talk") == [*before, say("more")]
