"""What belongs to one session is found without its lock, and nothing is changed by looking."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stores.conformance.checks import exactly
from stores.file import FileStore
from tests.store_file.kit import chunk, entries, everything, first, only, read, rewrite, write_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


@pytest.mark.anyio
async def test_k6_a_lookup_tells_of_all_that_crashes_and_damage_leave_and_tidies_none_of_it(path: Path) -> None:
    store = FileStore(path)
    for run_id, saves in (("whole", 2), ("never", 1), ("lost", 3), ("damaged", 2), ("cut", 2), ("gone", 2)):
        await write_run(store.checkpointer, run_id, saves, session="talk")
    for run_id in ("never", "lost"):
        only(path, f"runs/{run_id}.*").unlink()
    only(path, "runs/damaged.*").write_text("{}")
    marker = only(path, "sessions/*/open/gone.*")
    marked = marker.read_bytes()
    await store.checkpointer.delete("gone", keep_history=True)
    marker.write_bytes(marked)
    refs = {ref.name: ref.read_bytes() for ref in (path / "runs").glob("cut.*")}
    old = path / "data" / str(read(only(path, "runs/cut.*"))["key"])
    shutil.copytree(old, path.with_name(old.name))
    await write_run(store.checkpointer, "cut", 1, session="talk")  # a restart whose ref was never placed
    shutil.move(path.with_name(old.name), old)
    for name, data in refs.items():
        (path / "runs" / name).write_bytes(data)
    (marker.parent / ".1234.tmp").write_text("half")
    shutil.rmtree(path / "locks" / "sessions", ignore_errors=True)
    before, folders = everything(path), entries(path / "locks")

    found = await store.checkpointer.open_infos("talk")
    assert await store.checkpointer.open_infos("unknown") == []
    assert (everything(path), entries(path / "locks")) == (before, folders)
    assert {info.run_id: bool(info.damage) for info in found} == {
        "whole": False,
        "cut": False,
        "lost": True,
        only(path, "runs/damaged.*").stem: True,
    }
    async with store.checkpointer.open_runs("talk") as told:
        exactly(sorted(found, key=lambda info: info.run_id), sorted(told, key=lambda info: info.run_id))


@pytest.mark.anyio
async def test_k6_a_run_that_begins_right_now_is_not_lost(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first("talk"))
        ref = only(path, "runs/*.json")
        ref.rename(path / "ref")
        assert await store.checkpointer.open_infos("talk") == []
        assert chunk(path, 1).exists()


@pytest.mark.anyio
async def test_d3_a_damaged_session_is_looked_up_as_such_under_its_id(path: Path) -> None:
    session = FileStore(path).session
    await session.append("talk", [], run_id="r")
    file = only(path, "sessions/*/session.json")
    rewrite(file, id="other")
    for what in ("the file holds another session than its folder's name says", "does not end as it was written"):
        info = await session.session_info("talk")
        assert info is not None
        assert (info.session_id, what in str(info.damage), str(file) in str(info.damage)) == ("talk", True, True)
        file.write_text('{"v":1,"kind":"session"')
