"""What a save costs, and where it goes: the numbers of the seal rule, counted."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from stores.errors import StoreError, StoreWriteError
from stores.file import FileStore
from stores.file.tail import FULL
from stores.protocols import RunLease
from stores.records import Save
from stores.worker import MOST_SPENT, SHORT_SECONDS, SPENT, Worker
from tests.store_file.kit import (
    chunk,
    everything,
    files,
    first,
    go_on,
    later,
    only,
    other_process,
    read,
    say,
    write_run,
)

pytestmark = pytest.mark.anyio

STEPS = 300


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


def typical(number: int, text: str) -> Save:
    """A save as the engine writes it: one entry, the usage so far, and what the response was."""
    usage = {"input_tokens": number, "output_tokens": number, "requests": number, "unknown": 0}
    head = {"usage": usage, "last_input_tokens": number, "active_seconds": 1.5 * number}
    info = {"model": "scripted", "usage": usage, "seconds": 0.25}
    entries = [say(text, number)]
    return Save(number=number, step=number, at=1.0 + number, event="response", entries=entries, head=head, info=info)


async def counted(lease: RunLease, path: Path, save: Save) -> tuple[int, int]:
    """Files written (two flushes each) and bytes written by one save."""
    before = {file: file.stat().st_ino for file in files(path, "**/*.json")}
    await lease.save(save)
    written = [file for file in files(path, "**/*.json") if before.get(file) != file.stat().st_ino]
    return len(written), sum(file.stat().st_size for file in written)


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("size", [1_000, 2_000])
async def test_saves_cost_at_most_9_times_their_payload_and_2_2_flushes(path: Path, size: int) -> None:
    async with FileStore(path).checkpointer.lease("r") as lease:
        await lease.save(first())
        costs = [await counted(lease, path, typical(number, "x" * size)) for number in range(2, STEPS + 2)]
    flushes = sum(2 * written for written, _ in costs) / STEPS
    assert flushes <= 2.2
    assert sum(size for _, size in costs) / (STEPS * size) <= 9
    assert {written for written, _ in costs} == {1, 2}


async def test_small_saves_share_a_chunk_and_large_ones_are_never_written_twice(path: Path) -> None:
    async with FileStore(path).checkpointer.lease("r") as lease:
        await lease.save(first())
        await lease.save(later(2, "", state={"page": "s" * 50_000}))
        state = chunk(path, 2).stat()
        await go_on(lease, *(later(number) for number in range(3, 63)))
    assert chunk(path, 2).stat().st_mtime_ns == state.st_mtime_ns
    assert len(read(chunk(path, 2))["records"]) == 1
    assert len(files(path, "data/*/*.json")) == 3
    assert chunk(path, 1).stat().st_size < chunk(path, 3).stat().st_size < FULL


async def test_few_of_the_files_that_were_replaced_stay_open_and_none_after_the_lease(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "before", 2)  # the store's thread is there
    idle = open_files()
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first())
        held = []
        for number in range(2, 100):
            await lease.save(later(number))
            held.append(open_files())
        await lease.load()  # behind what the thread had to close
    assert max(held) <= idle + 5 + MOST_SPENT
    assert open_files() == idle


async def test_a_save_is_made_in_place_while_saves_are_short_and_nobody_waits_for_the_thread() -> None:
    worker, gate = Worker(), threading.Event()
    assert not worker.is_prompt  # nothing is known of this disk yet
    worker.save_now(int)
    assert worker.is_prompt
    waits = asyncio.ensure_future(worker.call(gate.wait))
    await asyncio.sleep(0)
    assert not worker.is_prompt
    gate.set()
    await waits
    assert worker.is_prompt
    worker.save_now(time.sleep, SHORT_SECONDS)
    assert not worker.is_prompt


async def test_what_cannot_be_closed_keeps_nobody_waiting() -> None:
    worker, closed = Worker(), 1_000_000
    for _ in range(SPENT):
        worker.close_soon(closed)
    assert await worker.call(sum, [1, 2]) == 3
    worker.close_all(closed)


async def test_h1_every_save_is_found_by_its_chunks_header(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer, "r", 40, text="y" * 3_000)
    headers = [read(file) for file in files(path, "data/*/*.json")]
    assert [header["n"] for header in headers] == list(range(1, len(headers) + 1))
    assert [header["prev"] for header in headers[1:]] == [header["sum"] for header in headers[:-1]]
    for header in headers:
        number = header["first"]
        snapshot = await store.checkpointer.snapshot("r", number)
        assert snapshot is not None
        assert (snapshot.head.save, len(snapshot.entries)) == (number, header["entries"] + 1)
    assert [row.number for row in await store.checkpointer.history("r", limit=3)] == [40, 39, 38]


async def test_z9_a_cancelled_caller_waits_for_the_save_in_flight(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        task = asyncio.create_task(lease.save(first()))  # the first save of a store goes to its thread
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert read(chunk(path, 1))["records"][-1]["save"] == 1
        await lease.save(later(2))


FULL_DISK = """
import resource, signal
print("ready", flush=True)
async with store.checkpointer.lease("r") as lease:
    await lease.save(first("talk"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
    for attempt in (later(2, "x" * 9000), later(2)):
        try:
            await lease.save(attempt)
        except Exception as error:
            print(type(error).__name__, error.hint is not None, "earlier" in str(error) or error.where)
"""


async def test_r9_after_a_failed_save_the_lease_writes_nothing_more_and_no_temporary_file_stays(path: Path) -> None:
    with other_process(path, FULL_DISK) as process:
        output, _ = process.communicate("")
    assert output.splitlines() == [f"StoreWriteError True {chunk(path, 1)}", "StoreWriteError True True"]
    assert files(path, "**/*.tmp") == []
    snapshot = await FileStore(path).checkpointer.load("r")
    assert snapshot is not None
    assert (snapshot.status, snapshot.head.save) == ("interrupted", 1)


async def test_r9_a_store_that_cannot_be_written_is_an_error_with_file_reason_and_hint(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer)
    only(path, "runs/*.json").rename(path / "ref")
    (path / "runs").rmdir()
    (path / "runs").write_text("")
    before = everything(path)
    with pytest.raises(StoreError, match="not a folder") as caught:
        await write_run(store.checkpointer, "other")
    assert caught.value.where == str(path / "runs")
    assert everything(path) == before


async def test_a_lease_writes_nothing_after_its_end(path: Path) -> None:
    async with FileStore(path).checkpointer.lease("r") as lease:
        await lease.save(first())
    with pytest.raises(StoreWriteError, match="has ended"):
        await lease.save(later(2))
