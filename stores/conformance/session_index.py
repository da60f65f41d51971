"""What the optional `SessionIndex` promises: the listing of sessions."""

from __future__ import annotations

from stores.conformance.checks import Contract, ListedSession, exactly, refused
from stores.conformance.samples import IDS, REFUSED_IDS, say
from stores.errors import UserError
from stores.protocols import SessionIndex


class SessionIndexContract(Contract[ListedSession]):
    """Sessions found other than by id."""

    async def test_the_store_is_a_session_index(self) -> None:
        assert isinstance(await self.open(), SessionIndex)

    async def test_s1_reading_an_unknown_session_lists_none(self) -> None:
        store = await self.open()
        await store.segments("a")
        await store.load("b")
        await store.clear("c")
        assert await store.has_segment("d", "r1") is False
        assert await store.sessions() == []

    async def test_s1_a_line_counts_segments_and_entries(self) -> None:
        store = await self.open()
        await store.append("s", [say("one"), say("two")], run_id="r1")
        (first,) = await store.sessions()
        await store.append("s", [say("three")], run_id="r2")
        await store.append("s", [say("three")], run_id="r2")
        (line,) = await (await self.open()).sessions()
        assert (line.session_id, line.segments, line.entries, line.damage) == ("s", 2, 3, None)
        assert first.updated_at is not None
        assert line.updated_at is not None
        assert line.updated_at >= first.updated_at

    async def test_s1_sessions_stand_newest_activity_first(self) -> None:
        store = await self.open()
        for session_id in ("b", "a", "c"):
            await store.append(session_id, [say("one")], run_id="r1")
        await store.append("a", [say("two")], run_id="r2")
        assert [line.session_id for line in await (await self.open()).sessions()] == ["a", "c", "b"]

    async def test_s3_an_append_that_is_none_is_no_activity(self) -> None:
        store = await self.open()
        for session_id in ("a", "b"):
            await store.append(session_id, [say("one")], run_id="r1")
        before = await store.sessions()
        await store.append("a", [say("one")], run_id="r1")
        exactly(await store.sessions(), before)

    async def test_s1_a_cleared_session_is_not_listed(self) -> None:
        store = await self.open()
        for session_id in ("a", "b"):
            await store.append(session_id, [say("one")], run_id="r1")
        await store.clear("a")
        assert [line.session_id for line in await (await self.open()).sessions()] == ["b"]
        assert await store.has_segment("a", "r1") is False

    async def test_r7_has_segment_tells_by_session_and_run(self) -> None:
        store = await self.open()
        await store.append("s", [say("one")], run_id="r1")
        await store.append("t", [say("one")], run_id="r2")
        store = await self.open()
        found = [await store.has_segment(*key) for key in (("s", "r1"), ("s", "R1"), ("s", "r2"), ("t", "r2"))]
        assert found == [True, False, False, True]

    async def test_ids_that_look_alike_are_distinct_sessions_of_the_listing(self) -> None:
        store = await self.open()
        for session_id in IDS:
            await store.append(session_id, [], run_id="r1")
        assert sorted(line.session_id for line in await (await self.open()).sessions()) == sorted(IDS)

    async def test_texts_that_are_no_ids_are_refused_and_no_session_is_listed(self) -> None:
        store = await self.open()
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.append(bad, [], run_id="r1")
            with refused(UserError):
                await store.append("s", [], run_id=bad)
        assert await store.sessions() == []
