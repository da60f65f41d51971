"""What every `Session` promises (S1 to S4)."""

from __future__ import annotations

import asyncio

from stores.conformance.checks import Contract, exactly, refused
from stores.conformance.samples import BIG, IDS, NOT_JSON, REFUSED_IDS, VALUES, call, every_entry, result, say
from stores.entries import Entry, InputEntry
from stores.errors import SegmentDiffersError, StoreError, UserError
from stores.protocols import Session
from stores.records import Segment
from stores.values import plain


class SessionContract(Contract[Session]):
    """The four methods, and ids and values on their way through them."""

    async def test_s1_the_store_is_a_session(self) -> None:
        assert isinstance(await self.open(), Session)

    async def test_s1_an_unknown_session_is_empty(self) -> None:
        store = await self.open()
        assert await store.segments("nobody") == []
        assert await store.load("nobody") == []

    async def test_s1_append_stores_a_segment_and_returns_its_run_id(self) -> None:
        store = await self.open()
        assert await store.append("s", [say("hello")], run_id="r1", meta={"k": 1}) == "r1"
        exactly(await store.segments("s"), [Segment(run_id="r1", entries=[say("hello")], meta={"k": 1})])

    async def test_s1_append_without_a_run_id_makes_a_new_one(self) -> None:
        store = await self.open()
        first = await store.append("s", [say("same")])
        second = await store.append("s", [say("same")])
        assert first != second
        assert [segment.run_id for segment in await store.segments("s")] == [first, second]

    async def test_s1_load_is_the_flat_concatenation(self) -> None:
        store = await self.open()
        await store.append("s", [say("one"), say("two")], run_id="r1")
        await store.append("s", [say("three")], run_id="r2")
        exactly(await store.load("s"), [say("one"), say("two"), say("three")])

    async def test_s1_segments_stand_in_order_of_append(self) -> None:
        store = await self.open()
        run_ids = [f"run {number}" for number in range(12, 0, -1)]
        for run_id in run_ids:
            await store.append("s", [say(run_id)], run_id=run_id)
        assert [segment.run_id for segment in await (await self.open()).segments("s")] == run_ids

    async def test_s1_sessions_are_apart(self) -> None:
        store = await self.open()
        await store.append("a", [say("for a")], run_id="r1")
        await store.append("b", [say("for b")], run_id="r2")
        exactly(await store.load("a"), [say("for a")])
        exactly(await store.load("b"), [say("for b")])

    async def test_s1_what_was_appended_is_there_for_the_next_handle(self) -> None:
        await (await self.open()).append("s", [say("kept")], run_id="r1", meta={"k": 1})
        store = await self.open()
        exactly(await store.segments("s"), [Segment(run_id="r1", entries=[say("kept")], meta={"k": 1})])

    async def test_s1_clear_removes_this_session_only(self) -> None:
        store = await self.open()
        await store.append("a", [say("one")], run_id="r1")
        await store.append("a", [say("two")], run_id="r2")
        await store.append("b", [say("kept")], run_id="r1")
        await store.clear("a")
        assert await store.segments("a") == []
        exactly(await (await self.open()).load("b"), [say("kept")])

    async def test_s1_clear_of_an_unknown_session_does_nothing(self) -> None:
        store = await self.open()
        await store.clear("nobody")
        assert await store.segments("nobody") == []

    async def test_s1_a_cleared_session_begins_anew(self) -> None:
        store = await self.open()
        await store.append("s", [say("old")], run_id="r1")
        await store.clear("s")
        await store.append("s", [say("new")], run_id="r1")
        exactly(await store.load("s"), [say("new")])

    async def test_s2_a_later_append_changes_no_earlier_segment(self) -> None:
        store = await self.open()
        await store.append("s", [say("one"), call(1), result(1)], run_id="r1", meta={"n": 1})
        before = await store.segments("s")
        await store.append("s", [say("two"), call(1), result(1)], run_id="r2", meta={"n": 2})
        exactly((await store.segments("s"))[:1], before)

    async def test_s3_append_is_idempotent(self) -> None:
        store = await self.open()
        await store.append("s", [say("one")], run_id="r1", meta={"n": 1})
        await store.append("s", [say("two")], run_id="r2")
        assert await store.append("s", [say("one")], run_id="r1", meta={"n": 99}) == "r1"
        expected = [
            Segment(run_id="r1", entries=[say("one")], meta={"n": 1}),
            Segment(run_id="r2", entries=[say("two")]),
        ]
        exactly(await store.segments("s"), expected)

    async def test_s3_append_is_idempotent_for_the_next_handle(self) -> None:
        await (await self.open()).append("s", [say("one")], run_id="r1")
        await (await self.open()).append("s", [say("one")], run_id="r1")
        exactly(await (await self.open()).load("s"), [say("one")])

    async def test_s3_a_run_id_is_meant_within_its_session(self) -> None:
        store = await self.open()
        await store.append("a", [say("for a")], run_id="r1")
        await store.append("b", [say("for b")], run_id="r1")
        exactly(await store.load("b"), [say("for b")])

    async def test_s3_a_race_for_one_run_id_stores_one_segment(self) -> None:
        stores = [await self.open(), await self.open()]
        appends = [stores[n % 2].append("s", [say("same")], run_id="r1", meta={"k": 1}) for n in range(8)]
        assert await asyncio.gather(*appends) == ["r1"] * 8
        exactly(await stores[0].segments("s"), [Segment(run_id="r1", entries=[say("same")], meta={"k": 1})])

    async def test_s3_a_race_of_different_runs_loses_none(self) -> None:
        stores = [await self.open(), await self.open()]
        run_ids = [f"r{n}" for n in range(8)]
        await asyncio.gather(*(stores[n % 2].append("s", [say(run_ids[n])], run_id=run_ids[n]) for n in range(8)))
        for store in stores:
            found = {segment.run_id: segment.entries for segment in await store.segments("s")}
            exactly(found, {run_id: [say(run_id)] for run_id in run_ids})

    async def test_s3_other_entries_under_a_stored_run_id_are_reported(self) -> None:
        store = await self.open()
        first: list[Entry] = [say("one"), call(1), result(1)]
        await store.append("s", first, run_id="r1", meta={"n": 1})
        flagged = result(1)
        flagged.is_error = True
        marked = say("one")
        marked.extra["mark"] = 1
        others: list[list[Entry]] = [
            [say("two"), call(1), result(1)],
            [call(1), result(1), say("one")],
            [say("one"), call(1)],
            [*first, say("more")],
            [say("one"), call(1), flagged],
            [marked, call(1), result(1)],
            [],
        ]
        for other in others:
            with refused(SegmentDiffersError):
                await store.append("s", other, run_id="r1", meta={"n": 2})
        exactly(await store.segments("s"), [Segment(run_id="r1", entries=first, meta={"n": 1})])

    async def test_s3_other_entries_are_reported_to_the_next_handle(self) -> None:
        await (await self.open()).append("s", [say("one")], run_id="r1")
        store = await self.open()
        with refused(SegmentDiffersError):
            await store.append("s", [say("two")], run_id="r1")
        exactly(await store.load("s"), [say("one")])

    async def test_s3_a_race_with_other_entries_is_won_by_one_and_reported_to_the_other(self) -> None:
        stores = [await self.open(), await self.open()]
        ends = await asyncio.gather(
            *(stores[n].append("s", [say(f"from {n}")], run_id="r1") for n in range(2)), return_exceptions=True
        )
        assert ends.count("r1") == 1, ends
        winner = ends.index("r1")
        assert isinstance(ends[1 - winner], SegmentDiffersError), ends
        exactly(await stores[0].load("s"), [say(f"from {winner}")])

    async def test_s4_a_caller_who_changes_what_was_read_changes_nothing_stored(self) -> None:
        store = await self.open()
        await store.append("s", [say("one")], run_id="r1", meta={"list": [1]})
        for segment in await store.segments("s"):
            segment.entries[0].extra["x"] = 1
            segment.entries.append(say("more"))
            segment.meta["list"].append(2)
        loaded = await store.load("s")
        loaded[0].extra["y"] = 2
        loaded.clear()
        exactly(await store.segments("s"), [Segment(run_id="r1", entries=[say("one")], meta={"list": [1]})])

    async def test_s4_a_caller_who_changes_what_was_appended_changes_nothing_stored(self) -> None:
        store = await self.open()
        entries: list[Entry] = [say("one")]
        meta = {"list": [1]}
        await store.append("s", entries, run_id="r1", meta=meta)
        entries[0].extra["x"] = 1
        entries.append(say("more"))
        meta["list"].append(2)
        exactly(await store.segments("s"), [Segment(run_id="r1", entries=[say("one")], meta={"list": [1]})])

    async def test_s1_meta_is_opaque(self) -> None:
        store = await self.open()
        await store.append("s", [], run_id="full", meta={"values": VALUES, "timing": None, **VALUES})
        await store.append("s", [], run_id="empty", meta={})
        await store.append("s", [], run_id="none")
        metas = [segment.meta for segment in await (await self.open()).segments("s")]
        exactly(metas, [{"values": VALUES, "timing": None, **VALUES}, {}, {}])

    async def test_d1_every_entry_comes_back_with_every_field(self) -> None:
        store = await self.open()
        await store.append("s", every_entry(), run_id="r1")
        exactly(await (await self.open()).load("s"), every_entry())

    async def test_s1_a_segment_without_entries_is_one(self) -> None:
        store = await self.open()
        await store.append("s", [], run_id="r1")
        await store.append("s", [], run_id="r1")
        exactly(await (await self.open()).segments("s"), [Segment(run_id="r1", entries=[])])

    async def test_d4_large_values_of_a_segment_are_kept(self) -> None:
        store = await self.open()
        await store.append("s", [say(BIG), result(1, output=BIG)], run_id="r1", meta={"big": BIG})
        expected = Segment(run_id="r1", entries=[say(BIG), result(1, output=BIG)], meta={"big": BIG})
        exactly(await (await self.open()).segments("s"), [expected])

    async def test_d4_meta_is_kept_in_its_stored_form(self) -> None:
        store = await self.open()
        await store.append("s", [], run_id="r1", meta=NOT_JSON)
        exactly([segment.meta for segment in await store.segments("s")], [plain(NOT_JSON)])

    async def test_d4_entries_that_json_cannot_hold_are_refused_and_nothing_is_stored(self) -> None:
        store = await self.open()
        for value in NOT_JSON.values():
            with refused(StoreError):
                await store.append("s", [say("one"), InputEntry(text="two", extra={"x": value})], run_id="r1")
        assert await store.segments("s") == []
        await store.append("s", [say("one")], run_id="r1")
        exactly(await (await self.open()).load("s"), [say("one")])

    async def test_ids_that_look_alike_are_distinct_sessions(self) -> None:
        store = await self.open()
        for number, session_id in enumerate(IDS):
            await store.append(session_id, [say(str(number))], run_id="r1")
        again = await self.open()
        for number, session_id in enumerate(IDS):
            exactly(await again.load(session_id), [say(str(number))])

    async def test_ids_that_look_alike_are_distinct_runs_of_a_session(self) -> None:
        store = await self.open()
        for number, run_id in enumerate(IDS):
            assert await store.append("s", [say(str(number))], run_id=run_id) == run_id
        assert [segment.run_id for segment in await (await self.open()).segments("s")] == IDS

    async def test_texts_that_are_no_ids_are_refused_and_nothing_is_stored(self) -> None:
        store = await self.open()
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.append(bad, [say("one")], run_id="r1")
            with refused(UserError):
                await store.append("s", [say("one")], run_id=bad)
        assert await store.segments("s") == []
