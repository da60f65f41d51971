"""What the optional `History` promises: every save can be had again (H1)."""

from __future__ import annotations

from stores.conformance.checks import Contract, KeepingCheckpointer, exactly, saved, write
from stores.conformance.samples import VALUES, call, every_entry, full_head, result, say
from stores.lines import SaveInfo
from stores.protocols import History
from stores.records import Save, fold


def eventful() -> list[Save]:
    """A run with every kind of change: entries, none, state, a result out of call order, two processes, an end."""
    return [
        saved(1, say("hello"), session_id="s", config=VALUES),
        saved(2, call(1), call(2), step=1, info={"model": "m", "usage": {"input_tokens": None}}),
        saved(3, result(2, output="second"), step=1, event="result", info={"seconds": 0.25}),
        saved(4, step=1, event="interrupted", status="interrupted", stopped_calls=["1.1"]),
        saved(5, step=1, event="resumed", status="running", stopped_calls=[]),
        saved(6, result(1, output="first"), step=1, event="result", state={"n": 1}),
        saved(7, say("end", step=2), step=2, event="completed", status="completed", output="end"),
    ]


class HistoryContract(Contract[KeepingCheckpointer]):
    """The rows, and the snapshot at each."""

    async def test_h1_the_store_keeps_history(self) -> None:
        assert isinstance(await self.open(), History)

    async def test_h1_an_unknown_run_has_none(self) -> None:
        store = await self.open()
        assert await store.history("nobody") == []
        assert await store.snapshot("nobody", 1) is None

    async def test_h1_rows_stand_newest_first_and_tell_of_each_save(self) -> None:
        await write(await self.open(), "r", *eventful())
        rows = await (await self.open()).history("r")
        statuses = ["running", "running", "running", "interrupted", "running", "running", "completed"]
        counts = [1, 3, 4, 4, 4, 5, 6]
        for row, save, status, count in zip(reversed(rows), eventful(), statuses, counts, strict=True):
            expected = SaveInfo(
                number=save.number,
                step=save.step,
                at=save.at,
                status=status,
                event=save.event,
                entries=count,
                info=save.info,
            )
            exactly(row, expected)

    async def test_h1_a_limit_keeps_the_newest_rows(self) -> None:
        store = await self.open()
        await write(store, "r", *eventful())
        every = await store.history("r")
        for limit in (0, 1, 3, 7, 99):
            exactly(await store.history("r", limit=limit), every[:limit])
        exactly(await store.history("r", limit=None), every)

    async def test_h1_each_save_gives_its_full_snapshot(self) -> None:
        saves = eventful()
        await write(await self.open(), "r", *saves)
        store = await self.open()
        for count in range(1, len(saves) + 1):
            exactly(await store.snapshot("r", count), fold("r", saves[:count]))

    async def test_h1_each_save_of_a_long_run_gives_its_snapshot(self) -> None:
        saves = [saved(1, say("hello"), state={"first": "x" * 5000})]
        saves += [saved(n, say(str(n) * 1500, step=n), step=n, context={"n": n}) for n in range(2, 60)]
        saves[30].head["state"] = {"second": "y" * 40_000}
        await write(await self.open(), "r", *saves)
        store = await self.open()
        for count in (1, 2, 29, 30, 31, 32, 58, 59):
            exactly(await store.snapshot("r", count), fold("r", saves[:count]))
        assert [row.number for row in await store.history("r")] == list(range(59, 0, -1))
        assert [row.entries for row in await store.history("r", limit=3)] == [59, 58, 57]

    async def test_h1_every_field_and_entry_is_kept_in_an_earlier_save(self) -> None:
        saves = [saved(1, *every_entry(), **full_head()), saved(2, state={}, output=None, context={}, usage={})]
        await write(await self.open(), "r", *saves)
        exactly(await (await self.open()).snapshot("r", 1), fold("r", saves[:1]))

    async def test_h1_a_save_that_is_not_kept_is_none(self) -> None:
        store = await self.open()
        await write(store, "r", *eventful())
        assert [await store.snapshot("r", number) for number in (-1, 0, 8, 99)] == [None] * 4

    async def test_h1_history_grows_while_the_run_is_executed(self) -> None:
        store, other = await self.open(), await self.open()
        async with store.lease("r") as lease:
            for count, save in enumerate(eventful(), 1):
                await lease.save(save)
                assert [row.number for row in await other.history("r")] == list(range(count, 0, -1))

    async def test_h1_a_deleted_run_takes_its_history_along(self) -> None:
        store = await self.open()
        await write(store, "r", *eventful())
        await store.delete("r")
        assert await store.history("r") == []
        assert await store.snapshot("r", 1) is None

    async def test_h1_a_deleted_run_can_leave_its_history(self) -> None:
        store = await self.open()
        await write(store, "r", *eventful())
        before = await store.history("r")
        assert await store.delete("r", keep_history=True) is True
        store = await self.open()
        assert await store.load("r") is None
        exactly(await store.history("r"), before)
        exactly(await store.snapshot("r", 3), fold("r", eventful()[:3]))

    async def test_h1_a_ring_is_the_newest_saves(self) -> None:
        for limit in (0, 1, 3, 7, 99):
            saves = eventful()
            saves[0].head["history_limit"] = limit
            await write(await self.open(), f"r{limit}", *saves)
            store = await self.open()
            kept = list(range(7, max(7 - limit, 0), -1))
            exactly([row.number for row in await store.history(f"r{limit}")], kept)
            exactly([row.number for row in await store.history(f"r{limit}", limit=2)], kept[:2])
            found = [number for number in range(9) if await store.snapshot(f"r{limit}", number)]
            exactly(found, kept[::-1])
            exactly(await store.load(f"r{limit}"), fold(f"r{limit}", saves))

    async def test_r4_a_restart_discards_history(self) -> None:
        store = await self.open()
        again = saved(1, say("again"))
        for keep_history in (None, True):
            await write(store, "r", *eventful())
            if keep_history is not None:
                await store.delete("r", keep_history=keep_history)
            await write(store, "r", again)
            assert [row.number for row in await store.history("r")] == [1]
            exactly(await store.snapshot("r", 1), fold("r", [again]))
            assert await store.snapshot("r", 2) is None

    async def test_s4_a_caller_who_changes_what_was_read_changes_no_history(self) -> None:
        store = await self.open()
        await write(store, "r", *eventful())
        for _ in range(2):
            snapshot = await store.snapshot("r", 6)
            exactly(snapshot, fold("r", eventful()[:6]))
            assert snapshot is not None
            snapshot.entries[0].extra["x"] = 1
            snapshot.head.state["n"] = 2
            row = (await store.history("r"))[5]
            exactly(row.info, {"model": "m", "usage": {"input_tokens": None}})
            row.info["usage"]["input_tokens"] = 5
