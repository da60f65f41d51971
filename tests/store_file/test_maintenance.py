"""Rewind, trim and archive on disk: what a crash leaves reads whole, and costs and space are what is promised."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stores import codec
from stores.conformance.samples import call, result, say, text
from stores.entries import Entry
from stores.errors import StoreDamagedError
from stores.file import FileCheckpointer, FileResultStore, FileSession
from stores.file.doctor.check import check, repair
from stores.records import Save, Segment
from stores.references import ResultRef

LONG = "rain " * 4000


def story(words: str) -> list[Entry]:
    return [say(words), call(1), call(2), result(1, output=LONG), result(2, output=LONG), text("done", 2)]


async def three_runs(path: Path) -> FileSession:
    session = FileSession(path)
    for run_id in ("r1", "r2", "r3"):
        await session.append("s", story(run_id), run_id=run_id, meta={"run": run_id})
    return session


def files(path: Path) -> dict[str, bytes]:
    found = (file for file in path.rglob("*") if file.is_file() and "locks" not in file.parts)
    return {str(file.relative_to(path)): file.read_bytes() for file in found}


def prefixes(before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Every state between two sets of files when new ones come first, then changed ones, and old ones go last."""
    state = dict(before)
    new = sorted(after.keys() - before.keys())
    changed = sorted(name for name in after.keys() & before.keys() if after[name] != before[name])
    for name in (*new, *changed):
        state[name] = after[name]
        yield dict(state)
    for name in sorted(before.keys() - after.keys()):
        del state[name]
        yield dict(state)


def place(path: Path, state: dict[str, bytes]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    for name, data in state.items():
        file = path / name
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        file.write_bytes(data)


async def everything(path: Path) -> list[Segment]:
    return await FileSession(path).segments("s")


@pytest.mark.anyio
@pytest.mark.parametrize("keep", [0, 1, 4, 6, 10, 12, 15])
async def test_m3_a_rewind_cut_off_anywhere_has_happened_or_not(tmp_path: Path, keep: int) -> None:
    path, crashed = tmp_path / "whole", tmp_path / "crashed"
    session = await three_runs(path)
    before, whole = files(path), await session.segments("s")
    await session.rewind("s", keep_entries=keep)
    after, left = files(path), await session.segments("s")
    states = list(prefixes(before, after))
    assert len(states) >= 2
    for state in states:
        place(crashed, state)
        assert await everything(crashed) in (whole, left)
        assert [finding for finding in check(crashed) if not finding.is_leftover] == []
        await FileSession(crashed).rewind("s", keep_entries=keep)
        assert await everything(crashed) == left
        assert files(crashed).keys() == after.keys()
        place(crashed, state)
        then = await everything(crashed)
        await FileSession(crashed).append("s", story("r4"), run_id="r4")
        assert await everything(crashed) == [*then, Segment(run_id="r4", entries=story("r4"))]
        await FileSession(crashed).rewind("s", keep_entries=2)
        assert sum(len(segment.entries) for segment in await everything(crashed)) <= 2
        place(crashed, state)
        await FileSession(crashed).clear("s")
        await FileSession(crashed).append("s", story("r1"), run_id="r1")
        assert await everything(crashed) == [Segment(run_id="r1", entries=story("r1"))]


@pytest.mark.anyio
async def test_m3_what_a_rewind_that_never_took_effect_has_left_does_not_come_to_life(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    session = await three_runs(path)
    before = files(path)
    await session.rewind("s", keep_entries=1)
    (cut,) = files(path).keys() - before.keys()
    leftover = files(path)[cut]
    for keep in (0, 2, 6, 12):
        place(path, before | {cut: leftover})
        await FileSession(path).rewind("s", keep_entries=keep)
        left = await everything(path)
        await FileSession(path).append("s", story("r9"), run_id="r9")
        assert await everything(path) == [*left, Segment(run_id="r9", entries=story("r9"))]


@pytest.mark.anyio
async def test_m3_a_rewind_of_the_last_run_reads_and_writes_the_same_however_long_the_session(tmp_path: Path) -> None:
    costs = []
    for runs in (3, 40):
        path = tmp_path / str(runs)
        session = FileSession(path)
        for n in range(runs):
            await session.append("s", [say(f"{n:04d}")], run_id=f"r{n:04d}")
        folder = next((path / "sessions").iterdir())
        old = sorted(folder.glob("0*.json"))[: runs - 2]
        for file in old:
            file.write_bytes(b"damaged, so nobody reads it")
        unchanged = {file.name: file.stat().st_mtime_ns for file in old}
        assert await session.rewind("s", keep_entries=runs - 1) == 1
        assert {file.name: file.stat().st_mtime_ns for file in old} == unchanged
        costs.append(len(files(path)) - runs)
    assert costs[0] == costs[1]


@pytest.mark.anyio
async def test_m3_a_rewind_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    session = await three_runs(path)
    before = files(path)
    for keep in (18, 19, 10**9):
        assert await session.rewind("s", keep_entries=keep) == 0
    assert await session.trim_tool_results("s", keep_runs=3) == 0
    assert files(path) == before


@pytest.mark.anyio
async def test_m3_rewind_and_trim_create_no_store(tmp_path: Path) -> None:
    session = FileSession(tmp_path / ".lovia")
    assert [await session.rewind("s", keep_entries=0), await session.trim_tool_results("s", keep_runs=0)] == [0, 0]
    assert files(tmp_path) == {}


@pytest.mark.anyio
async def test_m3_the_open_mark_of_a_run_that_went_goes_too(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    runs, session = FileCheckpointer(path), FileSession(path)
    async with runs.lease("r1") as lease:
        head = {"status": "running", "session_id": "s"}
        await lease.save(Save(number=1, step=0, at=1.0, event="started", entries=[say("go")], head=head))
        await lease.save(Save(number=2, step=1, at=2.0, event="completed", head={"status": "completed"}))
    await session.append("s", [say("go")], run_id="r1")
    await session.rewind("s", keep_entries=0)
    async with runs.open_runs("s") as lines:
        assert lines == []
    assert await runs.load("r1") is not None


@pytest.mark.anyio
@pytest.mark.parametrize("keep_runs", [0, 1])
async def test_m1_a_trim_cut_off_anywhere_goes_on(tmp_path: Path, keep_runs: int) -> None:
    path, crashed = tmp_path / "whole", tmp_path / "crashed"
    session = await three_runs(path)
    before = files(path)
    await session.trim_tool_results("s", keep_runs=keep_runs, archive=FileResultStore(path))
    after, left = files(path), await session.segments("s")
    changed = sorted(name for name in after if before.get(name) != after[name])
    steps = [(name, after[name]) for name in changed if not name.endswith("session.json")]
    if keep_runs == 0:
        (session_file,) = (name for name in changed if name.endswith("session.json"))
        steps[-1:-1] = [(session_file, without_last_sum(after[session_file]))]
        steps.append((session_file, after[session_file]))
    assert [name.partition("/")[0] for name, _ in steps] == sorted(name.partition("/")[0] for name, _ in steps)
    state = dict(before)
    for name, data in steps:
        state[name] = data
        place(crashed, state)
        assert [segment.run_id for segment in await everything(crashed)] == ["r1", "r2", "r3"]
        assert check(crashed) == []
        await FileSession(crashed).trim_tool_results("s", keep_runs=keep_runs, archive=FileResultStore(crashed))
        assert await everything(crashed) == left
        assert await FileResultStore(crashed).get(ResultRef("r1", 1, 2)) == LONG


def without_last_sum(data: bytes) -> bytes:
    """session.json as it is while the last segment is replaced."""
    fields = codec.decode(data, "session", where="session.json")
    kept = {name: value for name, value in fields.items() if name not in ("v", "sum")}
    return codec.encode(kept | {"last_sum": None})


@pytest.mark.anyio
async def test_m1_the_space_is_really_freed(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    session = await three_runs(path)
    size = sum(len(data) for data in files(path).values())
    await session.trim_tool_results("s")
    freed = size - sum(len(data) for data in files(path).values())
    assert freed > 4 * (len(LONG) - 600)
    await session.rewind("s", keep_entries=6)
    assert sum(len(data) for data in files(path).values()) < 4000


@pytest.mark.anyio
async def test_m1_old_segments_are_trimmed_without_a_look_at_the_ones_that_stay(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    session = await three_runs(path)
    folder = next((path / "sessions").iterdir())
    last = max(folder.glob("0*.json"))
    last.write_bytes(b"damaged")
    assert await session.trim_tool_results("s") == 4
    assert last.read_bytes() == b"damaged"


@pytest.mark.anyio
async def test_m2_a_result_is_one_file_of_mode_0600_in_its_runs_folder(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    before = os.umask(0o022)
    try:
        await FileResultStore(path).put(ResultRef("../r", 2, 1), "rain")
    finally:
        os.umask(before)
    (file,) = (path / "results").rglob("*.json")
    assert (file.name, file.parent.parent, file.stat().st_mode & 0o777) == ("2-1.json", path / "results", 0o600)
    assert {folder.stat().st_mode & 0o777 for folder in (file.parent, file.parent.parent)} == {0o700}


@pytest.mark.anyio
async def test_d3_a_damaged_result_names_its_file_and_hurts_no_other(tmp_path: Path) -> None:
    store = FileResultStore(tmp_path / ".lovia")
    for position in (1, 2):
        await store.put(ResultRef("r", 1, position), "rain")
    (damaged,) = (tmp_path / ".lovia" / "results").rglob("1-1.json")
    damaged.write_bytes(damaged.read_bytes().replace(b"rain", b"snow"))
    with pytest.raises(StoreDamagedError) as error:
        await store.get(ResultRef("r", 1, 1))
    assert error.value.where == str(damaged)
    assert await store.get(ResultRef("r", 1, 2)) == "rain"
    shutil.copy(damaged.with_name("1-2.json"), damaged)
    with pytest.raises(StoreDamagedError, match="another result than its name says"):
        await store.get(ResultRef("r", 1, 1))


@pytest.mark.anyio
async def test_d3_the_doctor_moves_a_damaged_result_aside_and_sweeps_what_a_kill_left(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    store = FileResultStore(path)
    for position in (1, 2):
        await store.put(ResultRef("r", 1, position), "rain")
    (damaged,) = (path / "results").rglob("1-1.json")
    damaged.write_bytes(b"{}")
    damaged.with_name(".0.tmp").write_bytes(b"")
    assert [(Path(finding.file).name, finding.is_leftover) for finding in check(path)] == [
        (".0.tmp", True),
        ("1-1.json", False),
    ]
    repair(path)
    assert check(path) == []
    assert [await store.get(ResultRef("r", 1, position)) for position in (1, 2)] == [None, "rain"]
    assert len(list((path / "quarantine").iterdir())) == 1
