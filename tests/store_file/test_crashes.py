"""The states that a crash leaves between two writes: each is resumable, and told apart from damage."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stores.errors import StoreError
from stores.file import FileResultStore, FileStore
from stores.file.doctor.check import check, repair
from stores.file.names import BEGINNING
from stores.records import Segment
from stores.references import ResultRef
from tests.store_file.kit import chunk, files, first, go_on, later, make, only, read, rewrite, say, write_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def test_a_chunk_beyond_the_ref_is_rolled_forward(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, first(), later(2, "x" * 20_000))
        ref = only(path, "runs/*.json").read_bytes()
        await lease.save(later(3, "x" * 20_000))
    only(path, "runs/*.json").write_bytes(ref)
    info = await store.checkpointer.info("r")
    snapshot = await store.checkpointer.load("r")
    assert info is not None
    assert snapshot is not None
    assert (info.save, snapshot.head.save) == (3, 3)
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, later(4))
    assert read(only(path, "runs/*.json"))["tail"] == 2


@pytest.mark.parametrize("status", ["completed", "failed", "interrupted", "awaiting_approval"])
async def test_r3_a_status_that_only_the_data_knows_is_the_status(path: Path, status: str) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await go_on(lease, first(), later(2))
        ref = only(path, "runs/*.json").read_bytes()
        await lease.save(later(3, status=status))
    only(path, "runs/*.json").write_bytes(ref)
    assert [info.status for info in await store.checkpointer.runs()] == [status]
    async with store.checkpointer.lease("r") as lease:
        snapshot = await lease.load()
        assert snapshot is not None
        assert snapshot.status == status
    assert read(only(path, "runs/*.json"))["status"] == status  # the next owner has put it right


async def test_r3_a_run_that_goes_on_is_never_shown_as_ended(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3, status="failed")
    before = chunk(path, 1).read_bytes()
    async with store.checkpointer.lease("r") as lease:
        await lease.save(later(4, status="running"))
        assert read(only(path, "runs/*.json"))["status"] == "running"
    chunk(path, 1).write_bytes(before)  # the crash came before the data
    info = await store.checkpointer.info("r")
    assert info is not None
    assert (info.status, info.save) == ("failed", 3)


async def test_unfinished_writes_of_a_killed_process_are_swept_by_the_next_owner(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, session="talk")
    for folder in (chunk(path, 1).parent, only(path, "sessions/*/open/*.json").parent):
        (folder / ".1234.tmp").write_text("half")
    async with store.checkpointer.open_runs("talk"), store.checkpointer.lease("r") as lease:
        await lease.load()
    assert files(path, "**/*.tmp") == []


async def test_r4_a_run_that_was_cut_off_before_its_ref_never_began(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 1, session="talk")
    only(path, "runs/*.json").unlink()
    assert await store.checkpointer.load("r") is None
    async with store.checkpointer.open_runs("talk") as runs:
        assert runs == []
    assert files(path, "data/*/*") == []
    assert files(path, "sessions/*/open/*") == []


async def test_an_import_that_was_cut_off_before_its_ref_never_began(path: Path) -> None:
    """However many saves it has: it is no run that has lost its ref."""
    store = FileStore(path)
    for name in ("r", "alone"):
        async with store.checkpointer.lease(name) as lease:
            log = [first("talk" if name == "r" else None), *(later(number, "x" * 20_000) for number in range(2, 9))]
            await store.checkpointer.import_log(lease, log)
        (path / "data" / read(only(path, "runs/*.json"))["key"] / BEGINNING).touch()
        only(path, "runs/*.json").unlink()
        again = FileStore(path).checkpointer
        assert (await again.load(name), await again.info(name), await again.runs()) == (None, None, [])
    async with again.open_runs("talk") as runs:
        assert runs == []
    async with again.lease("r") as lease:
        await again.import_log(lease, log)
        await lease.save(later(9))
    snapshot = await again.snapshot("r", 9)
    assert snapshot is not None
    assert len(snapshot.entries) == 9


@pytest.mark.parametrize("is_forked", [False, True])
async def test_m3_what_an_import_that_was_cut_off_has_left_does_not_outdate_the_session(
    path: Path, is_forked: bool
) -> None:
    store = FileStore(path).session
    await store.append("source", [say("go")], run_id="r")
    await store.import_segments("talk", [Segment(run_id=one, entries=[say("go")]) for one in ("i1", "i2")])
    zero = {"epoch": 0, "limit": 0, "count": 0, "entries": 0, "last": None, "last_sum": None, "cleared": True}
    rewrite(only(path, "sessions/talk.*/session.json"), **zero)
    if is_forked:
        await store.fork_session("source", "talk", upto="r")
        await store.confirm_fork("talk")
    else:
        await store.append("talk", [say("go")], run_id="r")
    assert [segment.run_id for segment in await store.segments("talk")] == ["r"]
    assert check(path) == []


async def test_a_run_that_begins_right_now_is_not_taken_for_one_that_never_began(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first("talk"))
        ref = only(path, "runs/*.json")
        ref.rename(path / "ref")
        async with FileStore(path).checkpointer.open_runs("talk") as runs:
            assert runs == []
        (path / "ref").rename(ref)
    assert await store.checkpointer.load("r")


async def test_r4_a_restart_that_was_cut_off_before_its_ref_left_the_run_as_it_was(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3, session="talk", status="failed")
    shutil.copytree(path, path.with_name("before"))
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first("talk"))
    ref, old = only(path.with_name("before"), "runs/*.json"), chunk(path.with_name("before"), 1).parent
    shutil.copy(ref, path / "runs")
    shutil.copytree(old, path / "data" / old.name)
    async with store.checkpointer.open_runs("talk") as runs:
        assert [(info.run_id, info.save, info.status) for info in runs] == [("r", 3, "failed")]
    assert [folder.name for folder in (path / "data").iterdir()] == [old.name]


async def test_r4_a_restart_that_was_cut_off_after_its_ref_drops_the_old_data_later(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 3, status="failed")
    old = chunk(path, 1).parent
    shutil.copytree(old, path.with_name("old"))
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first())
    shutil.copytree(path.with_name("old"), old)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(later(2))
    assert not old.exists()


async def test_a_deletion_that_was_cut_off_is_a_deletion(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 2)
    await store.checkpointer.delete("r", keep_history=True)
    assert [row.number for row in await store.checkpointer.history("r")] == [2, 1]
    assert await store.checkpointer.delete("r") is False
    assert await store.checkpointer.history("r") == []
    assert files(path, "runs/*.json") == files(path, "data/*/*") == []


async def test_s3_a_segment_behind_the_last_counted_one_is_counted(path: Path) -> None:
    store = FileStore(path)
    await store.session.append("talk", [], run_id="one")
    counted = only(path, "sessions/*/session.json").read_bytes()
    await store.session.append("talk", first().entries, run_id="two")
    for data in (counted, None):
        if data is None:
            only(path, "sessions/*/session.json").unlink()
            only(path, "sessions/*/000002.*").unlink()
        else:
            only(path, "sessions/*/session.json").write_bytes(data)
        runs = ["one"] if data is None else ["one", "two"]
        assert [segment.run_id for segment in await store.session.segments("talk")] == runs
        assert await store.session.has_segment("talk", runs[-1])
    assert [(info.session_id, info.segments) for info in await store.session.sessions()] == [("talk", 1)]
    await store.session.append("talk", [], run_id="three")
    assert read(only(path, "sessions/*/session.json"))["count"] == 2


async def test_a_fork_by_reference_is_read_with_what_it_shares(path: Path) -> None:
    """The format has room for forks: chunk 1 may go on from another run's chunk."""
    store = FileStore(path)
    await write_run(store.checkpointer, "source", 4, text="x" * 20_000)
    await write_run(store.checkpointer, "fork", 2)
    shared, own = read(only(path, "data/*/000002.json")), None
    for file in files(path, "data/*/000001.json"):
        own = file if read(file)["id"] == "fork" else own
    assert own is not None
    records = [record | {"save": shared["first"] + number} for number, record in enumerate(read(own)["records"][1:], 1)]
    base = {"id": "source", "key": shared["key"], "chunk": 2}
    rewrite(own, base=base, prev=shared["sum"], first=shared["first"] + 1, entries=3, records=records)
    for ref in files(path, "runs/fork.*.json"):
        rewrite(ref, save=shared["first"] + 1)
    snapshot = await store.checkpointer.load("fork")
    assert snapshot is not None
    assert len(snapshot.entries) == 4
    rows = await store.checkpointer.history("fork")
    assert [(row.number, row.entries) for row in rows] == [(4, 4), (3, 3), (2, 2), (1, 1)]
    at_two = await store.checkpointer.snapshot("fork", 2)
    assert at_two is not None
    assert len(at_two.entries) == 2


async def test_readers_of_a_run_that_is_written_all_the_time_always_see_a_whole_one(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first())
        reading = asyncio.Event()

        async def read_on() -> None:
            seen = 0
            while not reading.is_set():
                snapshot = await FileStore(path).checkpointer.load("r")
                assert snapshot is not None
                assert len(snapshot.entries) == snapshot.head.save >= seen
                seen = snapshot.head.save

        readers = [asyncio.create_task(read_on()) for _ in range(2)]
        for number in range(2, 80):
            await lease.save(later(number, "x" * 4_000))
        reading.set()
        await asyncio.gather(*readers)


@pytest.mark.parametrize("line", ["entries 1", "entries 3", "stopped", "completed", "begun", "deleted"])
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path, line: str) -> None:
    """A sample of the sweep: ``workload.py`` killed once it has said so, checked, and driven to its end."""
    workload = [sys.executable, "-m", "tests.store_file.workload"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "CRASH_STDOUT": "said", "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen([*workload, "run"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = []
    for printed in process.stdout:
        said.append(printed)
        if printed.strip() == line:
            process.kill()
            break
    said += process.stdout  # what it said before the signal came
    process.communicate()
    (tmp_path / "said").write_text("".join(said))
    checked = subprocess.run([*workload, "check"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.fixture
def half_made(path: Path) -> Path:
    path.mkdir()
    (path / ".gitignore").write_text("*\n")
    (path / ".12.tmp").write_text("half")
    return path


async def test_a_store_that_was_half_made_is_made(half_made: Path) -> None:
    path = half_made
    store = FileStore(path)
    assert await store.checkpointer.runs() == []
    await write_run(store.checkpointer)
    assert read(path / "store.json")["kind"] == "store"


@pytest.fixture
def flushed(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of the store that were flushed, in order; the store's own is ``.``."""
    flush, names = os.fsync, []

    def fsync(fd: int) -> None:
        target = Path(f"/proc/self/fd/{fd}").readlink()
        if target.is_dir() and target.is_relative_to(path):
            names.append(str(target.relative_to(path)))
        flush(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    return names


async def test_r1_what_a_killed_writer_left_of_a_run_is_flushed_before_it_goes_on(
    path: Path, flushed: list[str]
) -> None:
    """It may have renamed a file and not flushed its folder: a power cut could take that away again."""
    await write_run(FileStore(path).checkpointer, "r", 3)
    async with FileStore(path).checkpointer.lease("r") as lease:
        flushed.clear()
        await lease.load()
        assert flushed == ["runs", f"data/{read(only(path, 'runs/*.json'))['key']}"]


async def test_r1_what_a_killed_writer_left_of_a_run_is_flushed_before_the_doctor_makes_its_ref(
    path: Path, flushed: list[str]
) -> None:
    await write_run(FileStore(path).checkpointer, "r", 3)
    ref = only(path, "runs/*.json")
    data = f"data/{read(ref)['key']}"
    ref.unlink()
    flushed.clear()
    repair(path)
    assert [name for name in flushed if name in (data, "runs")] == [data, "runs"]


async def test_r7_what_a_killed_writer_left_of_a_session_is_flushed_before_anybody_acts_on_it(
    path: Path, flushed: list[str]
) -> None:
    store = FileStore(path)
    await store.session.append("s", [say("hello")], run_id="one")
    folder = str(only(path, "sessions/*/session.json").parent.relative_to(path))
    flushed.clear()
    await store.session.append("s", [say("hello")], run_id="one")  # it is there already: nothing is written
    assert flushed == [folder]
    flushed.clear()
    async with store.checkpointer.open_runs("s"):
        assert flushed == [folder]


async def test_m2_an_archived_output_that_is_there_is_flushed_before_it_counts(path: Path, flushed: list[str]) -> None:
    results = FileResultStore(path)
    assert await results.put(ResultRef("r", 1, 1), "the whole")
    flushed.clear()
    assert await results.put(ResultRef("r", 1, 1), "the whole")
    assert flushed == [str(only(path, "results/*/*.json").parent.relative_to(path))]


async def test_r1_an_empty_folder_is_made_durable_before_the_first_file_goes_in(path: Path, flushed: list[str]) -> None:
    """Who made it may have been killed before that."""
    await FileStore(path).session.append("s", [say("hello")], run_id="one")
    for name in ("runs", "data"):
        make(path / name)
    flushed.clear()
    await write_run(FileStore(path).checkpointer, "r", 1)
    key = read(only(path, "runs/*.json"))["key"]
    assert flushed == ["locks", "locks", ".", ".", "data", f"data/{key}", "runs"]


async def test_a_store_without_its_own_file_is_not_taken_for_empty(path: Path) -> None:
    await write_run(FileStore(path).checkpointer)
    (path / "store.json").unlink()
    with pytest.raises(StoreError, match=r"store\.json is missing"):
        await FileStore(path).checkpointer.runs()
