"""The doctor looks at histories of runs that are gone as at those of others, and brings no run back by it (D3, H1)."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.records import RunSnapshot
from tests.store_file.kit import only, write_run
from tests.store_file.test_forks import BIG, fork, key_of, texts
from tests.store_file.test_restoring import cut, talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def kept(path: Path, **end: object) -> Path:
    """The data folder of run ``r``, which is gone all but its history."""
    store = FileStore(path).checkpointer
    await write_run(store, "r", 12, text=BIG, **end)
    await store.delete("r", keep_history=True)
    assert check(path) == []
    return path / "data" / key_of(path, "r")


@pytest.mark.parametrize("end", [{}, {"status": "completed"}])
async def test_d3_what_stands_before_the_damage_of_a_kept_history_is_kept(path: Path, end: dict[str, object]) -> None:
    file = await kept(path, **end) / "000002.json"
    file.write_bytes(b"junk")
    (finding,) = check(path)
    assert (finding.file, finding.repairable, finding.what[-26:]) == (str(file), True, "; saves 1 to 4 can be kept")
    assert "; what was there was moved to quarantine/" in repair(path)[0].what
    store = FileStore(path).checkpointer
    assert (check(path), await store.load("r"), await store.runs()) == ([], None, [])
    assert [info.run_id for info in await store.kept_histories()] == ["r"]
    assert [row.number for row in await store.history("r")] == [4, 3, 2, 1]
    await fork(path, "r", "f", 3)
    assert (check(path), len(await texts(path, "f"))) == ([], 3)


def junk(data: Path) -> None:
    (data / "000001.json").write_bytes(b"junk")


@pytest.mark.parametrize("damage", [shutil.rmtree, junk])
async def test_d3_a_kept_history_of_which_nothing_can_be_read_is_named_until_it_is_removed(
    path: Path, damage: Callable[[Path], None]
) -> None:
    damage(await kept(path))
    for findings in (check(path), repair(path), check(path)):
        (finding,) = findings
        assert (finding.repairable, finding.is_lost) == (False, False)
        assert finding.what.endswith(
            "; no save of the history kept of run 'r' can be read: remove it with: lovia rm run:r"
        )
    await FileStore(path).checkpointer.delete("r")
    assert check(path) == []


async def test_h2_a_kept_history_tells_of_what_it_shares_and_has_lost_and_of_its_mark(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 12, text=BIG)
    await fork(path, "r", "f", 10)
    shared = path / "data" / key_of(path, "r")
    for run_id in ("f", "r"):
        await store.delete(run_id, keep_history=run_id == "f")
    mark = only(shared, "forks/*.json")
    whole = mark.read_bytes()
    mark.unlink()
    assert [finding.repairable for finding in repair(path)] == [True]
    assert (check(path), mark.read_bytes()) == ([], whole)
    (shared / "000001.json").unlink()
    (finding,) = check(path)
    assert (finding.repairable, "which the history kept of fork 'f' shares" in finding.what) == (False, True)
    assert repair(path) == [finding]


def changed(ref: Path) -> None:
    ref.write_bytes(ref.read_bytes().replace(b'"key":"', b'"key": "', 1))


def cut_behind_its_status(ref: Path) -> None:
    ref.write_bytes(ref.read_bytes().partition(b'"deleted"')[0] + b'"deleted"')


async def load(store: FileStore, run_id: str) -> RunSnapshot:
    run = await store.checkpointer.load(run_id)
    assert run is not None
    return run


@pytest.mark.parametrize("damage", [changed, cut_behind_its_status, Path.unlink])
@pytest.mark.parametrize("end", [{}, {"status": "completed"}])
async def test_m4_a_run_that_was_deleted_is_not_brought_back_when_its_ref_is_lost(
    path: Path, end: dict[str, object], damage: Callable[[Path], None]
) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 4, session="talk", **end)
    if end:  # as lovia rewind does
        await store.session.append("talk", (await load(store, "r")).entries, run_id="r")
        await store.checkpointer.settle("r")
    await store.checkpointer.delete("r", keep_history=True)
    await store.session.rewind("talk", keep_entries=2)
    before = await store.checkpointer.history("r")
    damage(only(path, "runs/r.*"))
    (done,) = repair(path)
    assert "made from the data, as the history kept of run 'r', which had been deleted" in done.what
    assert (check(path), await store.checkpointer.runs(), await store.checkpointer.load("r")) == ([], [], None)
    assert await store.checkpointer.history("r") == before
    async with store.checkpointer.open_runs("talk") as runs:
        assert runs == []


@pytest.mark.parametrize("damage", [changed, Path.unlink])
async def test_d3_an_unfinished_run_whose_ref_is_lost_is_no_deleted_one(
    path: Path, damage: Callable[[Path], None]
) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 4, session="talk", config={"status": "deleted"})
    damage(only(path, "runs/r.*"))
    assert "deleted" not in repair(path)[0].what
    assert (check(path), [run.run_id for run in await store.runs()]) == ([], ["r"])


async def test_d3_where_nothing_tells_of_a_lost_ref_the_run_may_have_been_deleted(path: Path) -> None:
    await kept(path)
    only(path, "runs/r.*").unlink()
    advice = "; where the run had been deleted, delete it again with: lovia rm run:r"
    assert (check(path)[0].what[-len(advice) :], repair(path)[0].what[-len(advice) :]) == (advice, advice)
    assert [run.run_id for run in await FileStore(path).checkpointer.runs()] == ["r"]


@pytest.mark.parametrize("damage", [changed, cut_behind_its_status])
async def test_m4_what_is_left_of_its_ref_tells_of_a_deleted_run_without_a_session(
    path: Path, damage: Callable[[Path], None]
) -> None:
    await kept(path)
    damage(only(path, "runs/r.*"))
    repair(path)
    store = FileStore(path).checkpointer
    assert (check(path), await store.runs()) == ([], [])
    assert [run.run_id for run in await store.kept_histories()] == ["r"]


@pytest.mark.parametrize(
    ("run_id", "damage"), [("r1", cut), ("r2", cut), ("r3", cut), ("r1", Path.unlink), ("r2", Path.unlink)]
)
async def test_r7_a_lost_segment_is_made_again_from_the_history_kept_of_its_run(
    path: Path, run_id: str, damage: Callable[[Path], None]
) -> None:
    store = await talk(path, "r1", "r2", "r3")
    before = await store.session.segments("talk")
    await store.checkpointer.delete(run_id, keep_history=True)
    damage(only(path, f"sessions/talk.*/00000{run_id[1]}*"))
    (done,) = repair(path)
    assert f"; made again from the history kept of run '{run_id}'" in done.what
    after = await store.session.segments("talk")
    assert (check(path), await store.checkpointer.load(run_id)) == ([], None)
    assert [(one.run_id, one.entries) for one in after] == [(one.run_id, one.entries) for one in before]


@pytest.mark.parametrize("lost", [[2], [1, 2]])
async def test_m4_nothing_that_was_undone_comes_back_with_a_segment_that_is_lost(path: Path, lost: list[int]) -> None:
    """Run r2 was cut by a rewind, so its history holds more than its segment did."""
    store = await talk(path, "r1", "r2")
    await store.checkpointer.delete("r2", keep_history=True)
    assert await store.session.rewind("talk", keep_entries=4) == 2
    await talk(path, "r3")
    await store.checkpointer.delete("r1")
    for number in lost:
        cut(only(path, f"sessions/talk.*/00000{number}*"))
    repair(path)
    left = [run_id for run_id in ("r1", "r3") if int(run_id[1]) not in lost]
    assert (check(path), [one.run_id for one in await store.session.segments("talk")]) == ([], left)


@pytest.mark.parametrize("was_undone", [True, False])
async def test_m4_a_last_segment_of_which_only_session_json_tells_is_not_made_again_from_a_kept_history(
    path: Path, was_undone: bool
) -> None:
    """Session.json may be from before `lovia rewind --keep-history`; a file that is gone looks the same."""
    store = await talk(path, "r1", "r2")
    file, last = only(path, "sessions/talk.*/session.json"), only(path, "sessions/talk.*/000002.*")
    older, before = file.read_bytes(), (await store.session.segments("talk"))[:1]
    await store.checkpointer.delete("r2", keep_history=True)
    if was_undone:
        await store.session.rewind("talk", keep_entries=3)
        file.write_bytes(older)
    else:
        last.unlink()
    what = "segment 2 of session 'talk' is missing; no checkpoint holds the same"
    doubt = "; that of run 'r2', whose history was kept, may have been undone"
    (finding,) = check(path)
    assert (finding.file, finding.what) == (str(last), f"{what}; the session can be kept without it{doubt}")
    assert [one.what for one in repair(path)] == [f"{what}, so the session goes on without it{doubt}"]
    assert (check(path), await store.session.segments("talk")) == ([], before)
    assert len(await store.checkpointer.history("r2")) == 3
