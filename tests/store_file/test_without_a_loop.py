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


@pytest.mark.parametrize("others", [0, 1])
def test_a_load_goes_to_a_thread_where_another_task_would_have_to_wait(tmp_path: Path, others: int) -> None:
    async def main() -> set[threading.Thread]:
        waiting = [asyncio.create_task(asyncio.sleep(60)) for _ in range(others)]
        before = set(threading.enumerate())
        assert await FileStore(tmp_path / "store").checkpointer.load("r") is None
        started = set(threading.enumerate()) - before
        for task in waiting:
            task.cancel()
        return started

    assert len(asyncio.run(main())) == others
