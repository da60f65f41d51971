"""What every `Checkpointer` promises of the runs it keeps (R1 to R4, Z2, Z3)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from stores.conformance.checks import Contract, exactly, refused, saved, write
from stores.conformance.samples import (
    BIG,
    IDS,
    NOT_JSON,
    REFUSED_IDS,
    VALUES,
    call,
    every_entry,
    full_head,
    result,
    say,
)
from stores.entries import InputEntry
from stores.errors import LoviaError, StoreError, UserError
from stores.protocols import Checkpointer, RunLease
from stores.records import CONSTANT_HEAD_FIELDS, RunHead, RunSnapshot, Save, Status, fold

PAUSED = Status.INTERRUPTED.value


class CheckpointerContract(Contract[Checkpointer]):
    """Saves go in one after the other, the snapshot they make comes out."""

    async def test_r1_the_store_is_a_checkpointer(self) -> None:
        store = await self.open()
        assert isinstance(store, Checkpointer)
        async with store.lease("r") as lease:
            assert isinstance(lease, RunLease)

    async def test_r1_an_unknown_run_is_none(self) -> None:
        store = await self.open()
        assert await store.load("nobody") is None
        async with store.lease("nobody") as lease:
            assert await lease.load() is None

    async def test_r1_a_save_is_there_for_everybody_when_it_returns(self) -> None:
        store, other = await self.open(), await self.open()
        saves = [saved(1, say("hello")), saved(2, call(1), step=1), saved(3, result(1), step=1)]
        async with store.lease("r") as lease:
            for count, save in enumerate(saves, 1):
                await lease.save(save)
                exactly(await other.load("r"), fold("r", saves[:count]))
                exactly(await lease.load(), fold("r", saves[:count]))

    async def test_r1_a_run_grows_by_what_each_save_brings(self) -> None:
        saves = [saved(1, say("hello"))]
        saves += [saved(n, say(f"{n}" * 1000, step=n), step=n, state={"n": n}) for n in range(2, 80)]
        saves += [saved(80, step=79, event="interrupted", status=PAUSED)]
        await write(await self.open(), "r", *saves)
        exactly(await (await self.open()).load("r"), fold("r", saves))

    async def test_r1_the_next_executor_goes_on_where_the_last_one_stopped(self) -> None:
        saves = [saved(1, say("hello")), saved(2, say("more"), step=1), saved(3, say("end"), step=2, status=PAUSED)]
        for save in saves:
            await write(await self.open(), "r", save)
        exactly(await (await self.open()).load("r"), fold("r", saves))

    async def test_r1_a_save_without_entries_changes_the_head_alone(self) -> None:
        saves = [saved(1, say("hello")), saved(2, event="failed", status="failed")]
        await write(await self.open(), "r", *saves)
        snapshot = await (await self.open()).load("r")
        exactly(snapshot, fold("r", saves))
        assert snapshot is not None
        assert snapshot.status == "failed"

    async def test_r1_a_field_stays_until_a_save_changes_it(self) -> None:
        store = await self.open()
        error = {"code": "provider", "message": "429"}
        saves = [
            saved(1, state={"kept": "x" * 50_000}, error=error, queued_input=[{"text": "a"}]),
            saved(2, step=1, error=None),
            saved(3, step=2, queued_input=[], status=PAUSED),
        ]
        await write(store, "r", *saves)
        snapshot = await (await self.open()).load("r")
        assert snapshot is not None
        exactly(snapshot.head.state, {"kept": "x" * 50_000})
        assert (snapshot.head.error, snapshot.head.queued_input) == (None, [])

    async def test_r2_every_head_field_comes_back_from_save_1(self) -> None:
        save = saved(1, **full_head())
        await write(await self.open(), "r", save)
        exactly(await (await self.open()).load("r"), fold("r", [save]))

    async def test_r2_every_head_field_comes_back_from_a_later_save(self) -> None:
        later = {name: value for name, value in full_head().items() if name not in CONSTANT_HEAD_FIELDS}
        saves = [saved(1, session_id="s", started_at=1.5), saved(2, step=1, **later)]
        await write(await self.open(), "r", *saves)
        exactly(await (await self.open()).load("r"), fold("r", saves))

    async def test_r2_number_step_and_time_of_the_last_save_are_in_the_head(self) -> None:
        saves = [saved(1), Save(number=2, step=7, at=1700000000.123456, event="response", head={"status": PAUSED})]
        await write(await self.open(), "r", *saves)
        snapshot = await (await self.open()).load("r")
        assert snapshot is not None
        assert (snapshot.head.save, snapshot.head.steps, snapshot.head.updated_at) == (2, 7, 1700000000.123456)

    async def test_r2_every_entry_comes_back_with_every_field(self) -> None:
        saves = [saved(1, *every_entry(), status=PAUSED)]
        await write(await self.open(), "r", *saves)
        exactly(await (await self.open()).load("r"), fold("r", saves))

    async def test_d1_fields_of_a_later_version_are_kept(self) -> None:
        saves = [saved(1, from_tomorrow=VALUES, status=PAUSED), saved(2, from_tomorrow={"changed": True})]
        await write(await self.open(), "r", *saves)
        snapshot = await (await self.open()).load("r")
        assert snapshot is not None
        exactly(snapshot.head.extra, {"from_tomorrow": {"changed": True}})

    async def test_d2_what_no_save_told_is_at_its_default(self) -> None:
        await write(await self.open(), "r", Save(number=1, step=0, at=5.0, event="started"))
        expected = RunSnapshot(run_id="r", head=RunHead(save=1, steps=0, updated_at=5.0), entries=[])
        exactly(await (await self.open()).load("r"), expected)

    async def test_d4_large_values_of_a_run_are_kept(self) -> None:
        saves = [saved(1, say(BIG)), saved(2, call(1), result(1, output=BIG), step=1, state={"big": BIG})]
        saves += [saved(3, say("small"), step=2, status=PAUSED)]
        await write(await self.open(), "r", *saves)
        exactly(await (await self.open()).load("r"), fold("r", saves))

    async def test_d4_what_json_cannot_hold_is_refused_and_nothing_changes(self) -> None:
        store = await self.open()
        stored = [saved(1, say("hello"), status=PAUSED)]
        await write(store, "r", *stored)
        for value in NOT_JSON.values():
            with refused(StoreError):
                await write(store, "r", saved(2, say("more"), state={"x": value}))
            with refused(StoreError):
                await write(store, "r", saved(2, InputEntry(text="more", extra={"x": value}), status="failed"))
        exactly(await store.load("r"), fold("r", stored))
        stored.append(saved(2, say("on"), step=1))
        await write(store, "r", stored[1])
        exactly(await (await self.open()).load("r"), fold("r", stored))

    async def test_r1_a_save_out_of_order_is_refused_and_nothing_changes(self) -> None:
        store = await self.open()
        stored = [saved(1, say("hello")), saved(2, say("more"), status=PAUSED)]
        for first in (0, 2, -1):
            with refused(LoviaError):
                await write(store, "r", saved(first, say("early")))
        assert await store.load("r") is None
        await write(store, "r", *stored)
        for number in (0, 2, 4):
            with refused(LoviaError):
                await write(store, "r", saved(number, say("wrong")))
        exactly(await (await self.open()).load("r"), fold("r", stored))

    async def test_r4_save_1_over_a_stored_run_replaces_all_of_it(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, *every_entry(), **full_head()), saved(2, say("more"), status="failed"))
        again = [saved(1, say("again"), session_id="other", status=PAUSED)]
        await write(store, "r", *again)
        exactly(await (await self.open()).load("r"), fold("r", again))
        again += [saved(2, say("on"), step=1)]
        await write(store, "r", *again[1:])
        exactly(await (await self.open()).load("r"), fold("r", again))

    async def test_r4_a_reader_sees_the_old_run_or_the_new_one(self) -> None:
        store, other = await self.open(), await self.open()
        old = [saved(1, say("old"), status=PAUSED), saved(2, say("x" * 100_000), step=1)]
        new = [saved(1, say("new"), status=PAUSED)]
        await write(store, "r", *old)
        reads = await asyncio.gather(write(store, "r", *new), *(other.load("r") for _ in range(20)))
        for read in reads[1:]:
            assert read in (fold("r", old), fold("r", new)), f"neither the old run nor the new one: {read!r:.1000}"
        exactly(await other.load("r"), fold("r", new))

    async def test_r9_a_cancelled_save_is_whole_or_absent(self) -> None:
        store = await self.open()
        saves = [saved(1, say("hello")), saved(2, say("more"), step=1, state={"n": 2})]
        async with store.lease("r") as lease:
            await lease.save(saves[0])
            task = asyncio.create_task(lease.save(saves[1]))
            await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            snapshot = await lease.load()
            assert snapshot is not None
            kept = saves[: snapshot.head.save]
            exactly(snapshot, fold("r", kept))
            kept.append(saved(len(kept) + 1, say("on"), step=1, status=PAUSED))
            await lease.save(kept[-1])
        exactly(await (await self.open()).load("r"), fold("r", kept))

    async def test_r3_a_stored_running_without_an_owner_reads_interrupted(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, say("hello"), status="running"))
        for handle in (store, await self.open()):
            snapshot = await handle.load("r")
            assert snapshot is not None
            assert snapshot.status == "interrupted"

    async def test_r3_every_other_status_reads_as_it_is_stored(self) -> None:
        store = await self.open()
        for status in Status:
            await write(store, status, saved(1, status=status.value))
            snapshot = await (await self.open()).load(status)
            assert snapshot is not None
            assert snapshot.status == (Status.INTERRUPTED if status is Status.RUNNING else status)

    async def test_z3_results_recorded_out_of_call_order_come_back_in_call_order(self) -> None:
        store = await self.open()
        saves = [saved(1, say("hello")), saved(2, call(1), call(2), call(3), step=1)]
        saves += [saved(2 + n, result(p, output=f"of {p}"), step=1) for n, p in enumerate((3, 1, 2), 1)]
        await write(store, "r", *saves)
        snapshot = await (await self.open()).load("r")
        assert snapshot is not None
        expected = [result(p, output=f"of {p}") for p in (1, 2, 3)]
        exactly(snapshot.entries, [say("hello"), call(1), call(2), call(3), *expected])

    async def test_z3_a_result_is_there_while_an_earlier_call_has_none(self) -> None:
        saves = [saved(1, call(1), call(2), step=1, status=PAUSED), saved(2, result(2, output="second"), step=1)]
        await write(await self.open(), "r", *saves)
        snapshot = await (await self.open()).load("r")
        assert snapshot is not None
        exactly(snapshot.entries, [call(1), call(2), result(2, output="second")])

    async def test_r1_runs_are_apart(self) -> None:
        store = await self.open()
        await write(store, "a", saved(1, say("for a"), status=PAUSED))
        await write(store, "b", saved(1, say("for b"), status=PAUSED))
        exactly(await store.load("a"), fold("a", [saved(1, say("for a"), status=PAUSED)]))

    async def test_r4_delete_removes_this_run_only(self) -> None:
        store = await self.open()
        await write(store, "a", saved(1, say("for a")))
        await write(store, "b", saved(1, say("for b"), status=PAUSED))
        assert await store.delete("a") is True
        assert await (await self.open()).load("a") is None
        exactly(await (await self.open()).load("b"), fold("b", [saved(1, say("for b"), status=PAUSED)]))

    async def test_r4_delete_of_an_unknown_run_tells_so(self) -> None:
        store = await self.open()
        assert await store.delete("nobody") is False
        await write(store, "a", saved(1))
        await store.delete("a")
        assert await store.delete("a") is False

    async def test_r4_a_deleted_run_begins_anew(self) -> None:
        store = await self.open()
        for keep_history in (False, True):
            await write(store, "r", saved(1, say("old"), state={"old": 1}), saved(2, say("more")))
            await store.delete("r", keep_history=keep_history)
            with refused(LoviaError):
                await write(store, "r", saved(3, say("after its end")))
            again = [saved(1, say("new"), status=PAUSED)]
            await write(store, "r", *again)
            exactly(await (await self.open()).load("r"), fold("r", again))

    async def test_s4_a_caller_who_changes_what_was_loaded_changes_nothing_stored(self) -> None:
        store = await self.open()
        saves = [saved(1, say("one"), state={"list": [1]}, status=PAUSED)]
        await write(store, "r", *saves)
        for snapshot in (await store.load("r"), await store.load("r")):
            assert snapshot is not None
            exactly(snapshot, fold("r", saves))
            snapshot.entries[0].extra["x"] = 1
            snapshot.entries.clear()
            snapshot.head.state["list"].append(2)
            snapshot.head.status = "failed"

    async def test_s4_a_caller_who_changes_what_was_saved_changes_nothing_stored(self) -> None:
        store = await self.open()
        save = saved(1, say("one"), state={"list": [1]}, status=PAUSED)
        async with store.lease("r") as lease:
            await lease.save(save)
            save.entries[0].extra["x"] = 1
            save.head["state"]["list"].append(2)
            await lease.save(saved(2, say("two"), step=1))
        expected = [saved(1, say("one"), state={"list": [1]}, status=PAUSED), saved(2, say("two"), step=1)]
        exactly(await store.load("r"), fold("r", expected))

    async def test_ids_that_look_alike_are_distinct_runs(self) -> None:
        store = await self.open()
        for number, run_id in enumerate(IDS):
            await write(store, run_id, saved(1, say(str(number)), status=PAUSED))
        again = await self.open()
        for number, run_id in enumerate(IDS):
            exactly(await again.load(run_id), fold(run_id, [saved(1, say(str(number)), status=PAUSED)]))

    async def test_texts_that_are_no_ids_are_refused(self) -> None:
        store = await self.open()
        for bad in REFUSED_IDS:
            with refused(UserError):
                await write(store, bad, saved(1, say("one")))
            with refused(UserError):
                await store.load(bad)
