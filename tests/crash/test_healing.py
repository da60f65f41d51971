"""What the sweep found, one by one."""

from pathlib import Path

import pytest

from stores.entries import InputEntry
from stores.file import FileSession, FileStore
from stores.records import Save


@pytest.mark.anyio
async def test_s3_an_append_that_was_cut_off_is_counted_when_it_is_repeated(tmp_path: Path) -> None:
    """Killed between the segment and session.json: the same append again heals the listing too (R7)."""
    session = FileSession(tmp_path / ".lovia")
    await session.append("s", [InputEntry(text="go")], run_id="r1")
    [counts] = (tmp_path / ".lovia" / "sessions").glob("*/session.json")
    before = counts.read_bytes()
    await session.append("s", [InputEntry(text="on")], run_id="r2")
    counts.write_bytes(before)
    await session.append("s", [InputEntry(text="on")], run_id="r2")
    assert [(info.segments, info.entries) for info in await session.sessions()] == [(2, 2)]
    assert [segment.run_id for segment in await session.segments("s")] == ["r1", "r2"]


@pytest.mark.anyio
async def test_m4_a_removal_that_was_cut_off_leaves_no_ghost_in_the_session(tmp_path: Path) -> None:
    """Killed between the ref's last word and the marker: the run is gone, and not one whose ref is lost."""
    store = FileStore(tmp_path / ".lovia")
    async with store.checkpointer.lease("r1") as lease:
        for number in (1, 2):
            await lease.save(Save(number=number, step=0, at=1.0, event="started", head={"session_id": "s"}))
    [marker] = (tmp_path / ".lovia" / "sessions").glob("*/open/*.json")
    begun = marker.read_bytes()
    await store.checkpointer.delete("r1", keep_history=True)
    marker.write_bytes(begun)
    async with store.checkpointer.open_runs("s") as found:
        assert found == []
    assert not marker.exists()
