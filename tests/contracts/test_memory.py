"""The memory stores keep the whole contract."""

import asyncio
import sys
from types import FrameType

import pytest

from stores.conformance import (
    CheckpointerContract,
    ForkContract,
    HistoryContract,
    KeptHistoriesContract,
    KeptHistoryLookupContract,
    LeaseContract,
    OpenRunLookupContract,
    ResultStoreContract,
    RewindContract,
    RunIndexContract,
    RunLogContract,
    SessionContract,
    SessionForkContract,
    SessionImportContract,
    SessionIndexContract,
    SessionLookupContract,
    StepEntriesContract,
    TrimContract,
)
from stores.conformance.checks import saved, write
from stores.errors import StoreBusyError
from stores.memory import InMemoryCheckpointer, InMemoryResultStore, InMemorySession


@pytest.mark.anyio
class TestInMemorySession(
    SessionContract,
    SessionIndexContract,
    SessionLookupContract,
    RewindContract,
    TrimContract,
    SessionForkContract,
    SessionImportContract,
):
    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.store = InMemorySession()

    async def open(self) -> InMemorySession:
        return self.store


@pytest.mark.anyio
class TestInMemoryCheckpointer(
    CheckpointerContract,
    LeaseContract,
    RunIndexContract,
    OpenRunLookupContract,
    HistoryContract,
    KeptHistoriesContract,
    KeptHistoryLookupContract,
    ForkContract,
    StepEntriesContract,
    RunLogContract,
):
    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.store = InMemoryCheckpointer()

    async def open(self) -> InMemoryCheckpointer:
        return self.store


@pytest.mark.anyio
class TestInMemoryResultStore(ResultStoreContract):
    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.store = InMemoryResultStore()

    async def open(self) -> InMemoryResultStore:
        return self.store


@pytest.mark.anyio
async def test_k6_a_session_that_stays_locked_is_busy() -> None:
    store = InMemoryCheckpointer(busy_timeout=0.01)
    async with store.open_runs("s"):
        with pytest.raises(StoreBusyError, match="'s' stayed locked"):
            async with store.open_runs("s"):
                pass
    async with store.open_runs("s") as lines:
        assert lines == []


@pytest.mark.anyio
async def test_k6_looking_for_a_sessions_runs_makes_nothing_of_other_runs_and_of_earlier_saves() -> None:
    store = InMemoryCheckpointer()

    async def work() -> int:
        """How many heads are folded, and records copied, to list the one open run of ``s``."""
        made = 0

        def count(frame: FrameType, event: str, _: object) -> None:
            nonlocal made
            made += event == "call" and frame.f_code.co_name in ("apply_head", "deepcopy")

        sys.setprofile(count)
        try:
            found = await store.open_infos("s")
        finally:
            sys.setprofile(None)
        assert [info.run_id for info in found] == ["r"]
        return made

    await write(store, "r", saved(1, session_id="s"))
    alone = await work()
    for run_id, session_id in (("r", "s"), ("other", "t"), ("another", "u")):
        await write(store, run_id, saved(1, session_id=session_id), *(saved(n, step=1) for n in range(2, 9)))
    assert await work() == alone


def test_a_memory_store_can_be_used_in_one_event_loop_after_another() -> None:
    store = InMemoryCheckpointer()

    async def wait_for_each_other() -> None:
        async def look() -> None:
            async with store.open_runs("s"):
                await asyncio.sleep(0)

        await asyncio.gather(look(), look(), look())

    for _ in range(2):
        asyncio.run(wait_for_each_other())
