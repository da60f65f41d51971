"""What a store promises that several processes share: one segment, one executor, and no owner that outlives its end."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from stores.conformance.checks import Contract, IndexedCheckpointer, exactly, refused, saved
from stores.conformance.samples import say
from stores.errors import RunLockedError
from stores.protocols import Checkpointer, Session
from stores.records import fold

Store = TypeVar("Store")
Recipe = Callable[[], Any]
Work = Callable[..., Coroutine[Any, Any, None]]

RACERS = 4
_PATIENCE = 60.0  # for a child that never comes; no promise is about time
_SPAWN = multiprocessing.get_context("spawn")


class SharedContract(Contract[Store]):
    """The root of the two classes here."""

    @abstractmethod
    def recipe(self) -> Callable[[], Store]:
        """A function that opens this test's store in another process; it can be pickled."""


class SharedSessionContract(SharedContract[Session]):
    """A `Session` that several processes append to (S3)."""

    async def test_s3_processes_that_race_for_one_run_id_store_one_segment(self) -> None:
        assert race(_append_the_same, self.recipe()) == ["r1"] * RACERS
        exactly(await (await self.open()).load("s"), [say("same")])

    async def test_s3_processes_that_race_with_different_runs_lose_none(self) -> None:
        run_ids = race(_append_its_own, self.recipe())
        found = [segment.run_id for segment in await (await self.open()).segments("s")]
        assert sorted(found) == sorted(run_ids)
        assert len(set(found)) == RACERS


class SharedCheckpointerContract(SharedContract[IndexedCheckpointer]):
    """A `Checkpointer` and `RunIndex` whose runs several processes execute (R11, R3, Z9)."""

    async def test_r11_a_run_that_another_process_executes_is_refused_and_its_owner_named(self) -> None:
        store = await self.open()
        with child(_execute, self.recipe()) as process:
            with refused(RunLockedError) as refusal:
                async with store.lease("r"):
                    pass
            assert str(process.pid) in str(refusal.error)
            exactly(await store.load("r"), fold("r", [saved(1, say("from the child"))]))
            info = await store.info("r")
            assert info is not None
            assert info.owner is not None
            assert (info.status, info.owner.pid) == ("running", process.pid)

    async def test_r11_of_many_processes_one_gets_the_run(self) -> None:
        assert sorted(race(_try_to_execute, self.recipe())) == ["executed"] + ["refused"] * (RACERS - 1)

    async def test_r11_the_lease_of_a_killed_process_is_taken_over(self) -> None:
        store = await self.open()
        with child(_execute, self.recipe()):
            pass
        snapshot = await store.load("r")
        assert snapshot is not None
        assert snapshot.status == "interrupted"
        saves = [saved(1, say("from the child")), saved(2, say("from the next owner"), status="failed")]
        async with store.lease("r") as lease:
            await lease.save(saves[1])
        exactly(await store.load("r"), fold("r", saves))

    async def test_k6_the_session_lock_of_a_killed_process_is_free(self) -> None:
        store = await self.open()
        with child(_look_at_open_runs, self.recipe()):
            pass
        async with store.open_runs("s") as lines:
            assert [(line.run_id, line.status) for line in lines] == [("r", "interrupted")]

    async def test_z9_a_cancel_request_reaches_the_owner_in_another_process(self) -> None:
        store = await self.open()
        with child(_execute_until_cancelled, self.recipe()) as process:
            owner = await store.request_cancel("r")
            assert owner is not None
            assert owner.pid == process.pid
            process.join(_PATIENCE)
            assert process.exitcode == 0
        snapshot = await store.load("r")
        assert snapshot is not None
        assert snapshot.status == "interrupted"

    async def test_z9_a_request_to_a_killed_process_reaches_no_later_owner(self) -> None:
        store = await self.open()
        with child(_execute, self.recipe()) as process:
            owner = await store.request_cancel("r")
            assert owner is not None
            assert owner.pid == process.pid
        async with store.lease("r") as lease:
            assert await lease.cancel_requested() is False


@contextmanager
def child(work: Work, recipe: Recipe) -> Iterator[BaseProcess]:
    """A process that does ``work`` and has come so far that it says it is ready. Killed at the end."""
    ready = _SPAWN.Event()
    process = _SPAWN.Process(target=_run, args=(work, recipe, ready), daemon=True)
    process.start()
    try:
        assert ready.wait(_PATIENCE), "the child did not get ready"
        yield process
    finally:
        process.kill()
        process.join()


def race(work: Work, recipe: Recipe) -> list[str]:
    """What each of several processes that start at the same moment says of its end."""
    start, said = _SPAWN.Barrier(RACERS), _SPAWN.SimpleQueue()
    racers = [_SPAWN.Process(target=_run, args=(work, recipe, start, said), daemon=True) for _ in range(RACERS)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(_PATIENCE)
    assert [racer.exitcode for racer in racers] == [0] * RACERS
    return [said.get() for _ in racers]


def _run(work: Work, *args: Any) -> None:
    asyncio.run(work(*args))


async def _append_the_same(recipe: Callable[[], Session], start: Any, said: Any) -> None:
    store = recipe()
    start.wait(_PATIENCE)
    said.put(await store.append("s", [say("same")], run_id="r1"))


async def _append_its_own(recipe: Callable[[], Session], start: Any, said: Any) -> None:
    store = recipe()
    start.wait(_PATIENCE)
    said.put(await store.append("s", [say("same")], run_id=f"run of {os.getpid()}"))


async def _try_to_execute(recipe: Callable[[], Checkpointer], start: Any, said: Any) -> None:
    store = recipe()
    start.wait(_PATIENCE)
    end = "refused"
    try:
        async with store.lease("r"):
            end = "executed"
            start.wait(_PATIENCE)  # all have tried
    except RunLockedError:
        start.wait(_PATIENCE)
    said.put(end)


async def _execute(recipe: Callable[[], Checkpointer], ready: Any) -> None:
    async with recipe().lease("r") as lease:
        await lease.save(saved(1, say("from the child")))
        ready.set()
        await asyncio.Event().wait()


async def _execute_until_cancelled(recipe: Callable[[], Checkpointer], ready: Any) -> None:
    async with recipe().lease("r") as lease:
        await lease.save(saved(1, say("from the child")))
        ready.set()
        while not await lease.cancel_requested():  # noqa: ASYNC110 - the request comes through the store
            await asyncio.sleep(0.01)
        await lease.save(saved(2, event="interrupted", status="interrupted"))


async def _look_at_open_runs(recipe: Callable[[], IndexedCheckpointer], ready: Any) -> None:
    store = recipe()
    async with store.open_runs("s"), store.lease("r") as lease:
        await lease.save(saved(1, session_id="s"))
        ready.set()
        await asyncio.Event().wait()
