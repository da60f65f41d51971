"""The doctor and what forks share: all that is whole stands in quarantine or where it stood, never nowhere (D3, H2)."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.findings import CAN_ANSWER, Finding
from tests.store_file.kit import entries, everything, exists, files, later, only, read, say, write_run
from tests.store_file.test_forks import BIG, fork, forked, key_of, texts
from tests.store_file.test_salvage import finished
from tests.store_file.test_unreadable import closed, ordinary_user

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


def chunks(path: Path) -> Counter[bytes]:
    """The contents of all chunks, wherever they stand."""
    return Counter({data: 1 for data in everything(path).values() if b'"kind":"chunk"' in data})


def damage(path: Path, run_id: str, number: int) -> Path:
    """Cut off the end of a chunk of the run, and with that its last save."""
    file = path / "data" / key_of(path, run_id) / f"{number:06d}.json"
    file.write_bytes(file.read_bytes()[:-500])
    return file


async def test_d3_what_forks_read_of_a_run_that_goes_aside_is_in_quarantine_too(path: Path) -> None:
    store = (await finished(path, 20, BIG)).checkpointer
    await fork(path, "r", "f", 19)
    await fork(path, "r", "g", 8)
    damage(path, "r", 4)
    before, key = chunks(path), key_of(path, "r")
    assert "; the checkpoint was kept in quarantine/data__" in repair(path)[0].what
    assert (check(path), before - chunks(path)) == ([], Counter())
    assert (len(await texts(path, "g")), await store.load("f")) == (8, None)
    before = Counter({data: 1 for data in before if data.startswith(b'{"v":1,"kind":"chunk","id":"r"')})
    await store.delete("g")
    assert key not in entries(path / "data")
    assert (check(path), before - chunks(path)) == ([], Counter())


async def test_d3_what_a_fork_in_quarantine_shares_of_a_deleted_run_follows_it(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 12, *(later(number, BIG) for number in range(14, 24)))
    await fork(path, "f", "g", 22)
    shared = [key_of(path, "r"), key_of(path, "f")]
    for run_id in ("r", "f"):
        await store.delete(run_id)
    own = path / "data" / key_of(path, "g") / "000001.json"
    own.write_bytes(b"")
    before = chunks(path)
    assert [finding.is_lost for finding in repair(path)][:1] == [True]
    assert (check(path), before - chunks(path), entries(path / "data")) == ([], Counter(), [])
    assert {f"data__{key}" for key in shared} <= set(entries(path / "quarantine"))


async def kept_for_a_fork(path: Path) -> tuple[Path, bytes]:
    """The first chunk of a run in quarantine, whose data a fork reads that is then damaged, and what was in it: it is
    gone."""
    await finished(path, 20, BIG)
    await fork(path, "r", "g", 8)
    damage(path, "r", 4)
    repair(path)
    aside = only(path, "quarantine/*/000001.json")
    kept = aside.read_bytes()
    aside.unlink()  # which is the data's own file by another name
    only(path, f"data/{key_of(path, 'g')}/000001.json").write_bytes(b"")
    return aside, kept


async def test_d3_what_is_missing_in_quarantine_goes_there_before_the_data_is_deleted(path: Path) -> None:
    aside, kept = await kept_for_a_fork(path)
    key = aside.parent.name.removeprefix("data__")
    followed = [finding.what for finding in repair(path) if Path(finding.file).name == key]
    what = "data of a run that is gone, kept for forks that are gone too"
    assert followed == [f"{what}; it stands in quarantine/data__{key}"]
    assert (check(path), aside.read_bytes()) == ([], kept)
    assert key not in entries(path / "data")


async def test_d3_another_file_of_the_same_name_in_quarantine_is_neither_replaced_nor_taken_for_it(path: Path) -> None:
    aside, kept = await kept_for_a_fork(path)
    aside.write_bytes(b"another")
    repair(path)
    assert (check(path), aside.parent.name.removeprefix("data__") in entries(path / "data")) == ([], False)
    assert (aside.read_bytes(), aside.with_name("000001.json.1").read_bytes()) == (b"another", kept)
    assert [entry for entry in entries(aside.parent) if entry.endswith(".1")] == ["000001.json.1", "000004.json.1"]


async def test_d3_what_a_fork_reads_stays_for_it_though_its_mark_is_lost(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 20, text=BIG)
    await fork(path, "r", "f", 12)
    await store.checkpointer.delete("r")
    await store.session.append("s", [say("go")], run_id="r0")
    await forked(store.session, "s", "z", "r0")
    await store.session.clear("s")
    before = everything(path)
    for mark in files(path, "*/*/forks/*.json"):
        mark.unlink()
    assert len(repair(path)) == 2
    assert (check(path), everything(path)) == ([], before)


@pytest.mark.parametrize("fork_id", ["a", "z"])
async def test_h2_a_fork_whose_last_shared_chunk_loses_its_end_goes_aside_whole(path: Path, fork_id: str) -> None:
    """Also one that stands before its source in the folder, or goes on from it through another fork."""
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", fork_id, 10)
    last = read(only(path, f"data/{key_of(path, fork_id)}/000001.json"))["base"]["chunk"]
    file = damage(path, "r", last)
    before, key = chunks(path), key_of(path, fork_id)
    done = [finding for finding in repair(path) if not finding.is_leftover]
    assert [(finding.file, finding.is_lost) for finding in done] == [(str(file), False), (str(file), True)]
    assert done[1].what == (
        f"the chunk is not as it was when it was forked, which fork {fork_id!r} shares; fork {fork_id!r} cannot be "
        f"kept without it: its data was moved to quarantine/data__{key}, and its id is free"
    )
    assert (check(path), before - chunks(path)) == ([], Counter())
    assert await store.load(fork_id) is None
    await fork(path, "r", fork_id, 3)


async def test_d3_junk_behind_a_shared_chunk_costs_no_fork_whatever_its_name(path: Path) -> None:
    await write_run(FileStore(path).checkpointer, "r", 20, text=BIG)
    await fork(path, "r", "a", 10)
    file = path / "data" / key_of(path, "r") / "000002.json"
    file.write_bytes(file.read_bytes() + b"junk")
    repair(path)
    assert (check(path), len(await texts(path, "a"))) == ([], 10)


async def test_h3_the_session_of_a_fork_that_goes_aside_goes_with_it(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 20, text=BIG, session="s")
    await store.session.append("s", [say("go")], run_id="r0")
    for name in ("bare", "more"):
        await store.session.fork_session("s", name, upto="r0")
        await fork(path, "r", name, 10, session=name)
        await store.session.confirm_fork(name)
    await store.session.append("more", [say("more")], run_id="r1")
    for name in ("bare", "more"):
        only(path, f"data/{key_of(path, name)}/000001.json").write_bytes(b"")
    ends = [finding.what.rpartition(", ")[2].rpartition("; ")[2] for finding in repair(path) if finding.is_lost]
    assert ends == ["and its id would start over", "its session stays"]
    assert check(path) == []
    assert [segment.run_id for segment in await store.session.segments("more")] == ["r0", "r1"]
    await store.session.fork_session("s", "bare", upto="r0")


@pytest.mark.parametrize("ref", ["gone", "damaged"])
async def test_r4_a_finished_run_without_ref_and_first_chunk_is_what_its_session_holds(path: Path, ref: str) -> None:
    store = (await finished(path, 20, BIG)).checkpointer
    key = lose_ref(path, ref)
    only(path, f"data/{key}/000001.json").write_bytes(b"")
    (finding,) = check(path)
    assert finding.what.endswith(f"; {CAN_ANSWER}")
    (done,) = repair(path)
    assert done.what.endswith(f"the checkpoint was moved to quarantine/data__{key}")
    run = await store.load("r")
    assert (check(path), run and (run.status, run.entries)) == ([], ("completed", [say("go"), say("yes", 1)]))


@pytest.mark.parametrize("ref", ["gone", "damaged"])
async def test_d3_a_run_without_ref_and_first_chunk_goes_aside_as_a_whole(path: Path, ref: str) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 10)
    key = lose_ref(path, ref)
    only(path, f"data/{key}/000001.json").unlink()
    done = [finding for finding in repair(path) if not finding.is_leftover]
    assert [finding.is_lost for finding in done] == [True, True]
    assert done[0].what.endswith(
        f"; no save of run 'r' can be kept: it was moved to quarantine/data__{key}, and its id would start over"
    )
    assert (check(path), await store.load("r")) == ([], None)
    await write_run(store, "r", 2)


async def test_d3_a_run_without_ref_whose_data_forks_read_may_have_been_deleted(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 10)
    await store.delete("r")
    only(path, "data/*/dropped.json").unlink()
    (finding,) = check(path)
    assert finding.what == (
        "the ref of run 'r' is missing; it can be made from the data; "
        "where the run had been deleted, delete it again with: lovia rm run:r"
    )


def lose_ref(path: Path, how: str) -> str:
    """Damage the ref of run r, or remove it; its key."""
    key, file = key_of(path, "r"), only(path, "runs/r.*.json")
    file.write_bytes(b"{}") if how == "damaged" else file.unlink()
    return key


async def test_h3_what_is_unreadable_in_one_source_does_not_hide_a_lost_mark_in_the_next() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".lovia")
        store = FileStore(path).session
        await store.append("s", [say("go")], run_id="r0")
        await forked(store, "s", "z", "r0")
        await store.append("z", [say("more")], run_id="r1")
        await forked(store, "z", "y", "r1")
        repair(path)
        marks = only(path, "sessions/s.*/forks/z.*.json").parent
        lost = only(path, "sessions/z.*/forks/y.*.json")
        lost.unlink()
        unread = Finding(str(marks), "not a folder that can be read: Permission denied", False)
        what = "the mark of forked session 'y', which keeps what it begins with, is missing"
        with ordinary_user(Path(folder)), closed(marks):
            assert check(path) == [unread, Finding(str(lost), what, True)]
            repair(path)
            assert check(path) == [unread]
        assert exists(lost)
