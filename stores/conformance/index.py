"""What the optional `RunIndex` promises: the listing of runs (R3), and a session's open ones under its lock (K6)."""

from __future__ import annotations

import asyncio

from stores.conformance.checks import Contract, IndexedCheckpointer, exactly, refused, saved, write
from stores.conformance.samples import IDS, REFUSED_IDS, full_head, say
from stores.errors import UserError
from stores.lines import RunInfo
from stores.protocols import RunIndex
from stores.records import Save

DONE, FAILED, PAUSED = "completed", "failed", "interrupted"


class RunIndexContract(Contract[IndexedCheckpointer]):
    """Runs found other than by id: the listing, and a session's unfinished runs under its lock."""

    async def test_the_store_is_a_run_index(self) -> None:
        assert isinstance(await self.open(), RunIndex)

    async def test_r3_an_empty_store_lists_nothing(self) -> None:
        store = await self.open()
        assert await store.runs() == []
        assert await store.info("nobody") is None
        assert await _open(store, "nobody") == []

    async def test_r3_leasing_or_reading_an_unknown_run_lists_nothing(self) -> None:
        store = await self.open()
        async with store.lease("r"):
            await store.load("r")
            await store.request_cancel("r")
            assert await store.info("r") is None
        assert await store.runs() == []

    async def test_r3_a_line_tells_what_the_head_says(self) -> None:
        head = full_head()
        await write(await self.open(), "r", saved(1, say("hello"), **head), saved(2, step=4))
        store = await self.open()
        info = await store.info("r")
        assert info is not None
        assert (info.run_id, info.status, info.steps, info.save, info.updated_at) == (
            "r",
            "awaiting_approval",
            4,
            2,
            1002.0,
        )
        for name in ("agent", "session_id", "started_at", "stop", "error", "config", "parent"):
            exactly(getattr(info, name), head[name])
        assert (info.open_approvals, info.owner, info.damage) == (["approval 1"], None, None)
        exactly(await store.runs(), [info])

    async def test_r3_a_line_follows_the_last_save(self) -> None:
        store = await self.open()
        saves = [saved(1), saved(2, step=1, error={"code": "x"}, status=FAILED), saved(3, step=2, agent="b")]
        for save in [*saves, saved(4, step=3, error=None, config={"model": "m"}, status=PAUSED)]:
            await write(store, "r", save)
        info = await (await self.open()).info("r")
        assert info is not None
        assert (info.status, info.steps, info.save, info.agent, info.error) == (PAUSED, 3, 4, "b", None)
        exactly(info.config, {"model": "m"})

    async def test_r3_a_running_run_without_an_owner_is_listed_as_interrupted(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, session_id="s"), saved(2, step=1))
        for lines in ([await store.info("r")], await store.runs(), await _open(store, "s")):
            assert [(line.status, line.owner) for line in lines if line] == [(PAUSED, None)]

    async def test_r11_a_run_being_executed_is_listed_with_its_owner(self) -> None:
        other = await self.open()
        async with (await self.open()).lease("r") as lease:
            await lease.save(saved(1, session_id="s"))
            owner = await other.request_cancel("r")
            assert owner is not None
            for lines in ([await other.info("r")], await other.runs(), await _open(other, "s")):
                found = [(line.status, line.owner.pid, line.owner.host) for line in lines if line and line.owner]
                assert found == [("running", owner.pid, owner.host)]

    async def test_r3_runs_stand_newest_activity_first(self) -> None:
        store = await self.open()
        for number, run_id in enumerate(["b", "a", "c"]):
            await write(store, run_id, _at(10.0 + number, 1))
        await write(store, "a", _at(20.0, 2))
        assert [line.run_id for line in await (await self.open()).runs()] == ["a", "c", "b"]

    async def test_r3_a_deleted_run_is_not_listed(self) -> None:
        store = await self.open()
        for run_id, keep_history in (("a", False), ("b", True)):
            await write(store, run_id, saved(1, session_id="s"))
            await store.delete(run_id, keep_history=keep_history)
            assert await store.info(run_id) is None
        assert await store.runs() == []
        assert await _open(store, "s") == []

    async def test_ids_that_look_alike_are_distinct_runs_of_the_listing(self) -> None:
        store = await self.open()
        for run_id in IDS:
            await write(store, run_id, saved(1, session_id="s"))
        store = await self.open()
        assert sorted(line.run_id for line in await store.runs()) == sorted(IDS)
        assert sorted(line.run_id for line in await _open(store, "s")) == sorted(IDS)

    async def test_ids_that_look_alike_are_distinct_sessions_of_runs(self) -> None:
        store = await self.open()
        for number, session_id in enumerate(IDS):
            await write(store, str(number), saved(1, session_id=session_id))
        store = await self.open()
        for number, session_id in enumerate(IDS):
            assert [line.run_id for line in await _open(store, session_id)] == [str(number)]

    async def test_texts_that_are_no_ids_are_refused_and_no_run_is_listed(self) -> None:
        store = await self.open()
        for bad in REFUSED_IDS:
            with refused(UserError):
                await write(store, bad, saved(1))
            with refused(UserError):
                await _open(store, bad)
        assert await store.runs() == []

    async def test_k6_open_runs_are_the_unfinished_ones_of_the_session_updated_last_first(self) -> None:
        store = await self.open()
        for number, status in enumerate((PAUSED, FAILED, "awaiting_approval", "running")):
            await write(store, status, _at(10.0 + number, 1, status=status, session_id="s"))
        await write(store, "elsewhere", _at(20.0, 1, session_id="S"))
        await write(store, "nowhere", _at(21.0, 1))
        await write(store, FAILED, _at(22.0, 2, event="input"))
        found = [(line.run_id, line.status) for line in await _open(await self.open(), "s")]
        assert found == [
            (FAILED, FAILED), ("running", PAUSED), ("awaiting_approval", "awaiting_approval"), (PAUSED, PAUSED)
        ]  # fmt: skip

    async def test_k6_a_run_is_open_from_its_first_save(self) -> None:
        store = await self.open()
        async with store.lease("r") as lease:
            assert await _open(store, "s") == []
            await lease.save(saved(1, session_id="s"))
            assert [line.run_id for line in await _open(store, "s")] == ["r"]

    async def test_k6_a_run_begun_under_the_lock_is_seen_by_the_next(self) -> None:
        store = await self.open()
        async with store.open_runs("s") as lines, store.lease("r") as lease:
            assert lines == []
            await lease.save(saved(1, session_id="s"))
        assert [line.run_id for line in await _open(await self.open(), "s")] == ["r"]

    async def test_r7_a_completed_run_is_open_until_it_is_settled(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, session_id="s"), saved(2, step=1, status=DONE, event="completed"))
        assert [(line.run_id, line.status) for line in await _open(await self.open(), "s")] == [("r", DONE)]
        await store.settle("r")
        await store.settle("r")
        assert await _open(store, "s") == []
        assert await _open(await self.open(), "s") == []

    async def test_r7_settle_changes_this_run_only_and_nothing_else_of_it(self) -> None:
        store = await self.open()
        for run_id in ("a", "b"):
            await write(store, run_id, saved(1, session_id="s"), saved(2, step=1, status=DONE))
        before = (await store.load("a"), await store.info("a"))
        await store.settle("a")
        exactly((await store.load("a"), await store.info("a")), before)
        assert [line.run_id for line in await _open(store, "s")] == ["b"]

    async def test_r4_a_restarted_run_is_open_again(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, session_id="s"), saved(2, status=DONE))
        await store.settle("r")
        await write(store, "r", saved(1, session_id="s"))
        assert [line.run_id for line in await _open(await self.open(), "s")] == ["r"]

    async def test_r4_a_run_restarted_in_another_session_is_open_there_alone(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, session_id="old"))
        await write(store, "r", saved(1, session_id="new"))
        assert await _open(await self.open(), "old") == []
        assert [line.run_id for line in await _open(await self.open(), "new")] == ["r"]

    async def test_k6_the_session_is_locked_while_its_open_runs_are_looked_at(self) -> None:
        stores, seen = [await self.open(), await self.open()], []

        async def choose(number: int) -> None:
            async with stores[number % 2].open_runs("s") as lines:
                seen.append(len(lines))
                await asyncio.sleep(0)
                await write(stores[number % 2], f"r{number}", saved(1, session_id="s"))

        await asyncio.gather(*(choose(number) for number in range(4)))
        assert seen == [0, 1, 2, 3]

    async def test_k6_sessions_are_locked_apart(self) -> None:
        store = await self.open()
        async with store.open_runs("a"), store.open_runs("b"), store.open_runs("A"):
            pass

    async def test_k6_the_lock_ends_with_an_exception(self) -> None:
        store = await self.open()
        with refused(ZeroDivisionError):
            async with store.open_runs("s"):
                raise ZeroDivisionError
        assert await _open(await self.open(), "s") == []

    async def test_k6_a_waiter_that_is_cancelled_leaves_the_lock_to_others(self) -> None:
        store, other = await self.open(), await self.open()
        for moments in range(5):
            async with store.open_runs("s"):
                waiter = asyncio.create_task(_open(other, "s"))
                for _ in range(moments):
                    await asyncio.sleep(0)
                waiter.cancel()
                await asyncio.gather(waiter, return_exceptions=True)
            assert await _open(other, "s") == []

    async def test_k6_a_task_that_is_cancelled_on_its_way_to_the_lock_keeps_nothing(self) -> None:
        store = await self.open()

        async def stay() -> None:
            async with store.open_runs("s"):
                await asyncio.Event().wait()

        for moments in range(5):
            task = asyncio.create_task(stay())
            for _ in range(moments):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await _open(store, "s") == []


async def _open(store: IndexedCheckpointer, session_id: str) -> list[RunInfo]:
    """The session's open runs, looked at for a moment."""
    async with store.open_runs(session_id) as lines:
        return lines


def _at(at: float, number: int, *, event: str = "started", **head: object) -> Save:
    return Save(number=number, step=0, at=at, event=event, head=dict(head))
