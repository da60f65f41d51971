"""What a `RunLease` promises: one executor a run (R11), and how it is asked to stop (Z9)."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack

from stores.conformance.checks import Contract, exactly, refused, saved, write
from stores.conformance.samples import IDS, say
from stores.errors import LoviaError, RunLockedError
from stores.protocols import Checkpointer
from stores.records import fold


class LeaseContract(Contract[Checkpointer]):
    """What no other process is needed for; that a dead owner's lease is free is shown by killing one."""

    async def test_r11_a_second_executor_is_refused_and_told_the_owner(self) -> None:
        store = await self.open()
        async with store.lease("r"):
            with refused(RunLockedError) as refusal:
                async with store.lease("r"):
                    pass
        assert str(os.getpid()) in str(refusal.error)
        assert socket.gethostname() in str(refusal.error)

    async def test_r11_a_second_handle_is_refused_too(self) -> None:
        async with (await self.open()).lease("r") as lease:
            await lease.save(saved(1, say("hello")))
            other = await self.open()
            with refused(RunLockedError):
                async with other.lease("r"):
                    pass

    async def test_r11_of_many_tasks_one_gets_the_run(self) -> None:
        stores = [await self.open(), await self.open()]
        everybody = asyncio.Barrier(8)

        async def execute(store: Checkpointer) -> bool:
            try:
                async with store.lease("r"):
                    await everybody.wait()
                    return True
            except RunLockedError:
                await everybody.wait()
                return False

        ends = await asyncio.gather(*(execute(stores[n % 2]) for n in range(8)))
        assert sorted(ends) == [False] * 7 + [True]

    async def test_r11_other_runs_can_be_executed_meanwhile(self) -> None:
        store = await self.open()
        async with store.lease("a") as first, store.lease("b") as second:
            await first.save(saved(1, say("for a")))
            await second.save(saved(1, say("for b")))
        for run_id in ("a", "b"):
            snapshot = await store.load(run_id)
            assert snapshot is not None
            exactly(snapshot.entries, [say(f"for {run_id}")])

    async def test_r11_ids_that_look_alike_have_leases_of_their_own(self) -> None:
        store = await self.open()
        async with AsyncExitStack() as stack:
            for run_id in IDS:
                await stack.enter_async_context(store.lease(run_id))

    async def test_r11_a_refused_second_executor_leaves_the_first_one_at_work(self) -> None:
        store = await self.open()
        saves = [saved(1, say("hello")), saved(2, say("more"))]
        async with store.lease("r") as lease:
            await lease.save(saves[0])
            for _ in range(2):
                with refused(RunLockedError):
                    async with store.lease("r"):
                        pass
            await lease.save(saves[1])
            exactly(await store.load("r"), fold("r", saves))

    async def test_r11_the_lease_ends_with_its_context(self) -> None:
        store, other = await self.open(), await self.open()
        for handle in (store, other, store):
            async with handle.lease("r"):
                pass

    async def test_r11_the_lease_ends_with_an_exception(self) -> None:
        store = await self.open()
        with refused(ZeroDivisionError):
            async with store.lease("r") as lease:
                await lease.save(saved(1, say("hello")))
                raise ZeroDivisionError
        async with (await self.open()).lease("r") as lease:
            assert await lease.load() is not None

    async def test_r11_the_lease_ends_with_a_cancelled_task(self) -> None:
        store, held = await self.open(), asyncio.Event()

        async def execute() -> None:
            async with store.lease("r"):
                held.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(execute())
        await held.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with store.lease("r"):
            pass

    async def test_r11_a_task_that_is_cancelled_on_its_way_to_the_lease_keeps_nothing(self) -> None:
        store = await self.open()

        async def execute() -> None:
            async with store.lease("r"):
                await asyncio.Event().wait()

        for moments in range(5):
            task = asyncio.create_task(execute())
            for _ in range(moments):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with store.lease("r"):
                pass

    async def test_r11_a_refused_save_ends_with_the_lease(self) -> None:
        store = await self.open()
        with refused(LoviaError):
            await write(store, "r", saved(7))
        await write(store, "r", saved(1, say("hello")))
        assert await store.load("r") is not None

    async def test_r11_an_executor_whose_lease_has_ended_writes_nothing_more(self) -> None:
        store = await self.open()
        async with store.lease("r") as ended:
            await ended.save(saved(1, say("hello")))
        with refused(LoviaError):
            await ended.save(saved(2, say("too late")))
        saves = [saved(1, say("hello")), saved(2, say("the next one"))]
        async with store.lease("r") as lease:
            with refused(LoviaError):
                await ended.save(saved(2, say("too late")))
            await lease.save(saves[1])
            exactly(await store.load("r"), fold("r", saves))

    async def test_r11_leasing_an_unknown_run_creates_nothing(self) -> None:
        store = await self.open()
        async with store.lease("r") as lease:
            assert await lease.load() is None
            assert await store.load("r") is None
        assert await (await self.open()).load("r") is None
        assert await store.delete("r") is False

    async def test_r11_the_run_can_be_read_while_it_is_executed(self) -> None:
        other = await self.open()
        async with (await self.open()).lease("r") as lease:
            await lease.save(saved(1, say("hello")))
            snapshot = await other.load("r")
            exactly(snapshot, fold("r", [saved(1, say("hello"))]))
            assert snapshot is not None
            assert snapshot.status == "running"

    async def test_r11_a_run_being_executed_is_not_deleted(self) -> None:
        other = await self.open()
        async with (await self.open()).lease("r") as lease:
            await lease.save(saved(1, say("hello")))
            for keep_history in (False, True):
                with refused(RunLockedError):
                    await other.delete("r", keep_history=keep_history)
            exactly(await other.load("r"), fold("r", [saved(1, say("hello"))]))

    async def test_z9_a_cancel_request_reaches_the_owner_and_names_it(self) -> None:
        other = await self.open()
        async with (await self.open()).lease("r") as lease:
            assert await lease.cancel_requested() is False
            owner = await other.request_cancel("r")
            assert owner is not None
            assert (owner.pid, owner.host) == (os.getpid(), socket.gethostname())
            assert await lease.cancel_requested() is True
            assert await lease.cancel_requested() is True

    async def test_z9_a_cancel_request_reaches_no_other_run(self) -> None:
        store = await self.open()
        async with store.lease("a") as asked, store.lease("A") as other:
            await store.request_cancel("a")
            assert (await asked.cancel_requested(), await other.cancel_requested()) == (True, False)

    async def test_z9_a_cancel_request_outlives_no_owner(self) -> None:
        store = await self.open()
        async with store.lease("r") as lease:
            await lease.save(saved(1, say("hello")))
            await store.request_cancel("r")
        async with (await self.open()).lease("r") as lease:
            assert await lease.cancel_requested() is False

    async def test_z9_without_an_owner_nothing_is_asked_and_nothing_left_behind(self) -> None:
        store = await self.open()
        assert await store.request_cancel("nobody") is None
        await write(store, "r", saved(1, say("hello")))
        assert await store.request_cancel("r") is None
        for run_id in ("nobody", "r"):
            async with store.lease(run_id) as lease:
                assert await lease.cancel_requested() is False
        assert await store.load("nobody") is None

    async def test_z9_a_cancel_request_changes_nothing_stored(self) -> None:
        store = await self.open()
        saves = [saved(1, say("hello")), saved(2, say("more"), status="interrupted")]
        async with store.lease("r") as lease:
            await lease.save(saves[0])
            await store.request_cancel("r")
            await lease.save(saves[1])
        exactly(await store.load("r"), fold("r", saves))
