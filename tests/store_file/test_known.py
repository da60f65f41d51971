"""The ids that a shell completes: all that there are, and nothing that is gone."""

from pathlib import Path

import pytest

from stores.entries import InputEntry
from stores.file import FileCheckpointer, FileSession
from stores.file.known import known_ids
from stores.records import RunHead, Save, head_to_json

IDS = ["a", "A", "é", "x/../y", "a b", "." * 254]


async def begin(runs: FileCheckpointer, run_id: str, session_id: str | None = None) -> None:
    head = head_to_json(RunHead(status="running", session_id=session_id))
    async with runs.lease(run_id) as lease:
        await lease.save(Save(number=1, step=0, at=1.0, event="started", entries=[InputEntry(text="go")], head=head))


def test_a_store_that_is_not_there_knows_none(tmp_path: Path) -> None:
    assert known_ids(tmp_path / "none") == ([], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_every_run_and_every_session(tmp_path: Path) -> None:
    runs, sessions = FileCheckpointer(tmp_path), FileSession(tmp_path)
    for one in IDS:
        await begin(runs, one, "s" + one)
        await sessions.append("t" + one, [InputEntry(text="hi")])
    known = known_ids(tmp_path)
    assert sorted(known.runs) == sorted(IDS)
    assert sorted(known.sessions) == sorted(kind + one for kind in "st" for one in IDS)


@pytest.mark.anyio
async def test_what_is_deleted_or_cleared_is_not_known(tmp_path: Path) -> None:
    runs, sessions = FileCheckpointer(tmp_path), FileSession(tmp_path)
    for one in ("kept", "gone", "history"):
        await begin(runs, one)
    await runs.delete("gone")
    await runs.delete("history", keep_history=True)
    for one in ("open", "cleared"):
        await sessions.append(one, [InputEntry(text="hi")])
    await sessions.clear("cleared")
    assert known_ids(tmp_path) == (["kept"], ["open"])


@pytest.mark.anyio
async def test_d3_damage_hides_itself_only(tmp_path: Path) -> None:
    runs = FileCheckpointer(tmp_path)
    for one in ("good", "cut", "moved", "link"):
        await begin(runs, one)
    refs = {path.name.split(".")[0]: path for path in (tmp_path / "runs").iterdir()}
    refs["cut"].write_bytes(refs["cut"].read_bytes()[:30])
    refs["moved"].rename(refs["moved"].with_name("other.json"))
    refs["link"].rename(tmp_path / "elsewhere.json")
    refs["link"].symlink_to(tmp_path / "elsewhere.json")
    (tmp_path / "runs" / "deep.json").write_text("[" * 100_000)
    assert known_ids(tmp_path) == (["good"], [])
