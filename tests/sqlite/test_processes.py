"""Several processes at one file: nothing lost, nothing doubled, and leases that end with their process (R11)."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.errors import RunLockedError, StoreBusyError
from stores.records import fold
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from tests.sqlite.kit import long_run, names

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent

APPEND = """
import asyncio, sys
from stores.conformance.samples import say
from stores.sqlite import SQLiteSession
async def main(path, wal, name, count):
    session = SQLiteSession(path, wal=wal == "wal")
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(count)):
        await session.append("s", [say(f"{name} {n}")], run_id=f"{name} {n}")
        if n % 10 == 0:
            await session.append("s", [say(f"both {n}")], run_id=f"both {n}")
asyncio.run(main(*sys.argv[1:]))
"""

EXECUTE = """
import asyncio, sys
from stores.conformance.checks import saved
from stores.conformance.samples import say
from stores.sqlite import SQLiteCheckpointer
async def main(path, wal, until):
    runs = SQLiteCheckpointer(path, wal=wal == "wal")
    async with runs.lease("r") as lease:
        snapshot = await lease.load()
        number = snapshot.head.save if snapshot else 0
        while number < int(until):
            number += 1
            await lease.save(saved(number, say(f"entry {number}"), step=number, session_id="s"))
            print(number, flush=True)
        while not await lease.cancel_requested():
            await asyncio.sleep(0.2)
        print("cancelled", flush=True)
asyncio.run(main(*sys.argv[1:]))
"""

CHOOSE = """
import asyncio, sys
from stores.sqlite import SQLiteCheckpointer
async def main(path):
    async with SQLiteCheckpointer(path).open_runs("s") as lines:
        print("chosen", flush=True)
        await asyncio.Event().wait()
asyncio.run(main(*sys.argv[1:]))
"""


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of ours, which does not outlive the block."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as started:
        watchdog = threading.Timer(300, started.kill)  # so that a broken store is a failure and no endless wait
        watchdog.start()
        try:
            yield started
        finally:
            watchdog.cancel()
            if started.poll() is None:
                started.send_signal(signal.SIGCONT)
                started.kill()


def line(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


def go(started: subprocess.Popen[str]) -> None:
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()


@pytest.mark.parametrize("mode", ["rollback", "wal"])
async def test_s3_two_processes_append_500_times_each_and_nothing_is_lost_or_doubled(tmp_path: Path, mode: str) -> None:
    path, names, began = tmp_path / "store.db", ("a", "b"), time.monotonic()
    with process(APPEND, path, mode, "a", 500) as first, process(APPEND, path, mode, "b", 500) as second:
        for started in (first, second):
            assert line(started) == "ready"
        for started in (first, second):
            go(started)
        for started in (first, second):
            assert started.wait(timeout=240) == 0
    assert time.monotonic() - began < 240
    found = await SQLiteSession(path).segments("s")
    alone = [f"{name} {n}" for name in names for n in range(500)]
    assert sorted(segment.run_id for segment in found) == sorted([*alone, *(f"both {n}" for n in range(0, 500, 10))])
    assert all([say(segment.run_id)] == segment.entries for segment in found)
    for name in names:
        mine = [segment.run_id for segment in found if segment.run_id.startswith(name + " ")]
        assert mine == [f"{name} {n}" for n in range(500)]
    (listed,) = await SQLiteSession(path).sessions()
    assert (listed.segments, listed.entries) == (1050, 1050)


@pytest.mark.parametrize("mode", ["rollback", "wal"])
async def test_r11_a_killed_owner_loses_the_run_but_nothing_it_saved(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "store.db"
    runs = SQLiteCheckpointer(path)
    acknowledged = 0
    for _ in range(3):
        with process(EXECUTE, path, mode, 1000) as owner:
            for _ in range(4):
                acknowledged = int(line(owner))
            snapshot = await runs.load("r")
            assert snapshot is not None
            assert snapshot.status == "running"
            with pytest.raises(RunLockedError) as refusal:
                async with runs.lease("r"):
                    pass
            assert str(owner.pid) in refusal.value.message
            with pytest.raises(RunLockedError):
                await runs.delete("r")
            owner.kill()
            owner.wait()
            rest = owner.stdout.read().split() if owner.stdout else []
            acknowledged = max([acknowledged, *map(int, rest)])
        snapshot = await runs.load("r")
        info = await runs.info("r")
        assert snapshot is not None
        assert info is not None
        assert (snapshot.status, info.status, info.owner) == ("interrupted", "interrupted", None)
        assert snapshot.head.save >= acknowledged
        assert [entry.text for entry in snapshot.entries] == [f"entry {n}" for n in range(1, snapshot.head.save + 1)]
    async with runs.lease("r") as lease:
        assert await lease.load() is not None


async def test_r11_a_frozen_owner_is_not_taken_over_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    runs = SQLiteCheckpointer(path)
    with process(EXECUTE, path, "rollback", 3) as owner:
        assert [line(owner) for _ in range(3)] == ["1", "2", "3"]
        os.kill(owner.pid, signal.SIGSTOP)
        with pytest.raises(RunLockedError):
            async with runs.lease("r"):
                pass
        info = await runs.info("r")
        assert info is not None
        assert info.owner is not None
        assert (info.status, info.owner.pid) == ("running", owner.pid)
        assert (await runs.request_cancel("r")) is not None
        os.kill(owner.pid, signal.SIGCONT)
        assert line(owner) == "cancelled"


async def test_r11_whoever_got_past_the_lock_is_noticed_by_the_one_who_had_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first, second = SQLiteCheckpointer(path), SQLiteCheckpointer(path)
    async with first.lease("r") as frozen:
        await frozen.save(long_run()[0])
        for name in names(tmp_path / "store.db.locks"):
            (tmp_path / "store.db.locks" / name).unlink()
        async with second.lease("r") as lease:
            await lease.save(long_run()[1])
            for number in (1, 2, 3):
                with pytest.raises(Exception, match="another executor"):
                    await frozen.save(saved(number, say("from the frozen one")))
            await lease.save(long_run()[2])
        snapshot = await second.load("r")
        expected = fold("r", long_run()[:3])
        assert snapshot is not None
        assert expected is not None
        exactly(snapshot.entries, expected.entries)


async def test_z9_a_request_reaches_an_owner_in_another_process_and_no_later_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    runs = SQLiteCheckpointer(path)
    with process(EXECUTE, path, "wal", 1) as owner:
        assert line(owner) == "1"
        asked = await runs.request_cancel("r")
        assert asked is not None
        assert asked.pid == owner.pid
        assert line(owner) == "cancelled"
        assert owner.wait() == 0
    assert await runs.request_cancel("r") is None
    with process(EXECUTE, path, "wal", 2) as owner:
        assert line(owner) == "2"
        await runs.request_cancel("r")
        owner.kill()
    async with runs.lease("r") as lease:
        assert await lease.cancel_requested() is False


async def test_k6_the_lock_of_a_session_waits_for_no_writer_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    runs = SQLiteCheckpointer(path, busy_timeout=0.1)
    await write(runs, "r", saved(1, say("hello"), session_id="s"))
    with process(CHOOSE, path) as chooser:
        assert line(chooser) == "chosen"
        await write(runs, "r", saved(2, say("more"), session_id="s"))
        await SQLiteSession(path, busy_timeout=0.1).append("s", [say("one")], run_id="x")
        with pytest.raises(StoreBusyError):
            async with runs.open_runs("s"):
                pass
        async with runs.open_runs("another"):
            pass
        chooser.kill()
        chooser.wait()
    async with runs.open_runs("s") as lines:
        assert [found.run_id for found in lines] == ["r"]


def test_s8_two_processes_that_create_one_wal_file_at_once_both_succeed(tmp_path: Path) -> None:
    for n in range(3):
        path = tmp_path / f"{n}.db"
        with process(APPEND, path, "wal", "a", 1) as first, process(APPEND, path, "wal", "b", 1) as second:
            for started in (first, second):
                assert line(started) == "ready"
            for started in (first, second):
                go(started)
            assert (first.wait(timeout=60), second.wait(timeout=60)) == (0, 0)
        assert len(asyncio.run(SQLiteSession(path).segments("s"))) == 3
