"""A store where no event loop runs: its work is done right there, so a command that only looks needs none."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from stores.entries import InputEntry
from stores.file import FileStore
from stores.sqlite import SQLiteStore


def driven(work: Coroutine[Any, Any, Any]) -> Any:
    """What ``work`` returns, when it waits for nothing."""
    with pytest.raises(StopIteration) as done:
        work.send(None)
    return done.value.value


@pytest.mark.parametrize("kind", [FileStore, SQLiteStore])
def test_a_store_works_without_an_event_loop(tmp_path: Path, kind: Any) -> None:
    sessions = kind(tmp_path / "store").session
    assert driven(sessions.append("u1", [InputEntry(text="hi")], run_id="r1")) == "r1"
    assert [segment.run_id for segment in driven(sessions.segments("u1"))] == ["r1"]
    assert driven(sessions.rewind("u1", keep_entries=0)) == 1
    assert driven(sessions.load("u1")) == []


def test_what_needs_no_loop_starts_no_thread(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "store")
    before = set(threading.enumerate())
    assert driven(store.checkpointer.runs()) == []
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile


@pytest.mark.parametrize(("others", "longest", "threads"), [(0, 1.0, 0), (1, 1.0, 1), (0, 0.0, 1)])
def test_a_load_goes_to_a_thread_where_another_task_would_have_to_wait_or_the_last_was_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int, longest: float, threads: int
) -> None:
    monkeypatch.setattr("stores.worker.LOOK_SECONDS", longest)

    async def main() -> set[threading.Thread]:
        waiting = [asyncio.create_task(asyncio.sleep(60)) for _ in range(others)]
        before = set(threading.enumerate())
        store = FileStore(tmp_path / "store").checkpointer
        assert [await store.load("r") for _ in range(2)] == [None, None]
        started = set(threading.enumerate()) - before
        for task in waiting:
            task.cancel()
        return started

    assert len(asyncio.run(main())) == threads


def test_who_has_no_task_has_his_turn_between_two_loads(tmp_path: Path) -> None:
    async def main() -> list[int]:
        store, rang = FileStore(tmp_path / "store").checkpointer, list[int]()
        for number in range(3):
            asyncio.get_running_loop().call_soon(rang.append, number)
            await store.load("r")
        return rang

    assert asyncio.run(main()) == [0, 1, 2]
