"""One executor a run, seen from other processes (R11, Z9)."""

import os
from pathlib import Path

import pytest

from stores.errors import RunLockedError
from stores.file import FileStore
from tests.store_file.kit import (
    everything,
    files,
    first,
    freeze,
    kill,
    later,
    only,
    other_process,
    read,
    rewrite,
    write_run,
)

pytestmark = pytest.mark.anyio

HOLD = """
async with store.checkpointer.lease("r") as lease:
    await lease.save(first("talk"))
    print("ready", flush=True)
    sys.stdin.readline()
    print(await lease.cancel_requested(), flush=True)
    await lease.save(later(2))
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def status(path: Path) -> tuple[str, bool]:
    info = await FileStore(path).checkpointer.info("r")
    assert info is not None
    return info.status, info.owner is not None


async def test_r11_the_refusal_names_the_owner_of_another_process(path: Path) -> None:
    store = FileStore(path)
    with other_process(path, HOLD) as process:
        with pytest.raises(RunLockedError, match=f"process {process.pid} on {os.uname().nodename}"):
            await write_run(store.checkpointer)
        with pytest.raises(RunLockedError):
            await store.checkpointer.delete("r")
        assert await status(path) == ("running", True)


async def test_r11_a_killed_owner_is_no_owner_and_its_run_is_taken_over(path: Path) -> None:
    with other_process(path, HOLD) as process:
        kill(process)
        assert await status(path) == ("interrupted", False)
        async with FileStore(path).checkpointer.lease("r") as lease:
            await lease.save(later(2))
    assert await status(path) == ("interrupted", False)


async def test_r11_a_frozen_owner_keeps_its_run(path: Path) -> None:
    with other_process(path, HOLD) as process:
        freeze(process)
        with pytest.raises(RunLockedError):
            await write_run(FileStore(path).checkpointer)
        assert await status(path) == ("running", True)


async def test_r11_the_note_of_another_process_with_the_same_pid_is_not_believed(path: Path) -> None:
    store = FileStore(path)
    with other_process(path, HOLD):
        note = only(path, "locks/owners/*.json")
        rewrite(note, start="another start", pid=1)
        assert await status(path) == ("running", True)  # the lock is held all the same
    assert await status(path) == ("interrupted", False)
    async with store.checkpointer.lease("r"):
        note.write_bytes(b"not JSON")
        assert await status(path) == ("running", True)


async def test_z9_a_request_reaches_its_owner_and_outlives_none(path: Path) -> None:
    store = FileStore(path)
    with other_process(path, HOLD) as process:
        owner = await store.checkpointer.request_cancel("r")
        assert owner is not None
        assert owner.pid == process.pid
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "True\n"
    assert len(files(path, "cancel/*")) == 1
    async with store.checkpointer.lease("r") as lease:
        assert not await lease.cancel_requested()
        assert files(path, "cancel/*") == []


async def test_z9_a_request_meant_for_another_owner_is_void(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first())
        assert await FileStore(path).checkpointer.request_cancel("r")
        request = only(path, "cancel/*.json")
        assert await lease.cancel_requested()
        rewrite(request, since=read(request)["since"] + 1)
        assert not await lease.cancel_requested()
        request.write_bytes(b"half of it")
        assert not await lease.cancel_requested()


async def test_z9_a_run_that_nobody_executes_is_left_as_it_is(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer)
    before = everything(path)
    assert await store.checkpointer.request_cancel("r") is None
    assert await store.checkpointer.request_cancel("unknown") is None
    assert everything(path) == before


async def test_r11_readers_never_keep_a_run_from_starting(path: Path) -> None:
    store = FileStore(path)
    await write_run(store.checkpointer)
    with other_process(path, LOOK):
        for number in range(4, 24):
            async with store.checkpointer.lease("r") as lease:
                await lease.save(later(number))


LOOK = """
import pathlib
from stores.file.locks import RUNS, lock_of
from stores.file.names import name_of
print("ready", flush=True)
while True:
    lock_of(str(pathlib.Path(sys.argv[1], *RUNS)), name_of("r")).is_held()
"""
