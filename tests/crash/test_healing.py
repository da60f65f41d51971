"""What the sweep found, one by one."""

from pathlib import Path

import pytest

from stores.entries import InputEntry
from stores.file import FileSession


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
