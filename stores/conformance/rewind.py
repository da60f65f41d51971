"""What the optional `Rewind` promises (M3)."""

from __future__ import annotations

import asyncio
from typing import Any

from stores.conformance.checks import Contract, RewindingSession, exactly, refused
from stores.conformance.samples import REFUSED_IDS, call, result, say, text, thought
from stores.entries import Entry
from stores.errors import SegmentDiffersError, UserError
from stores.protocols import Rewind, SessionIndex
from stores.records import Segment

FIRST: list[Entry] = [say("one"), text("first")]
SECOND: list[Entry] = [say("two"), thought("both"), call(1), call(2), result(1), result(2), text("second", 2)]
THIRD: list[Entry] = [say("three"), text("third")]
HALF: list[Entry] = [say("two"), thought("both"), call(1), result(1)]
"""What is left of the second run when only the first of its two results is kept: no call without one."""

LEFT: list[tuple[int, list[list[Entry]], int]] = [
    (0, [], 11),
    (1, [FIRST[:1]], 10),
    (2, [FIRST], 9),
    (3, [FIRST, SECOND[:1]], 8),
    (4, [FIRST, SECOND[:1]], 8),
    (5, [FIRST, SECOND[:1]], 8),
    (6, [FIRST, SECOND[:1]], 8),
    (7, [FIRST, HALF], 5),
    (8, [FIRST, SECOND[:6]], 3),
    (9, [FIRST, SECOND], 2),
    (10, [FIRST, SECOND, THIRD[:1]], 1),
    (11, [FIRST, SECOND, THIRD], 0),
    (12, [FIRST, SECOND, THIRD], 0),
    (1000, [FIRST, SECOND, THIRD], 0),
]
"""For each count to keep: what is left of the three runs, and how many of the eleven entries are gone."""


def _segments(left: list[list[Entry]]) -> list[Segment]:
    """The runs that are left; one that is shorter than it was is truncated and has no meta."""
    whole = (FIRST, SECOND, THIRD)
    return [
        Segment(run_id=f"r{n}", entries=entries, meta={"n": n})
        if len(entries) == len(whole[n - 1])
        else Segment(run_id=f"r{n}", entries=entries, truncated=True)
        for n, entries in enumerate(left, 1)
    ]


class RewindContract(Contract[RewindingSession]):
    """The tail of a session goes, and what is left is whole."""

    async def _three_runs(self, session_id: str = "s") -> RewindingSession:
        store = await self.open()
        for n, entries in enumerate((FIRST, SECOND, THIRD), 1):
            await store.append(session_id, entries, run_id=f"r{n}", meta={"n": n})
        return store

    async def test_m3_the_store_can_rewind(self) -> None:
        assert isinstance(await self.open(), Rewind)

    async def test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone(self) -> None:
        for keep, left, removed in LEFT:
            store = await self._three_runs(f"s{keep}")
            exactly([keep, await store.rewind(f"s{keep}", keep_entries=keep)], [keep, removed])
            exactly(await store.segments(f"s{keep}"), _segments(left))

    async def test_m3_what_is_left_is_there_for_the_next_handle(self) -> None:
        for keep, left, _ in LEFT:
            await (await self._three_runs(f"s{keep}")).rewind(f"s{keep}", keep_entries=keep)
            store = await self.open()
            exactly(await store.segments(f"s{keep}"), _segments(left))
            exactly(await store.load(f"s{keep}"), [entry for entries in left for entry in entries])

    async def test_m3_the_same_rewind_again_removes_nothing(self) -> None:
        store = await self._three_runs()
        for keep in (9, 8, 7, 2, 1, 0):
            await store.rewind("s", keep_entries=keep)
            before = await store.segments("s")
            assert await store.rewind("s", keep_entries=keep) == 0
            exactly(await store.segments("s"), before)

    async def test_m3_a_truncated_run_can_be_cut_again(self) -> None:
        store = await self._three_runs()
        removed = [await store.rewind("s", keep_entries=keep) for keep in (8, 7, 5, 2)]
        assert removed == [3, 2, 3, 1]
        exactly(await (await self.open()).segments("s"), _segments([FIRST]))

    async def test_m3_a_run_of_which_nothing_is_left_goes(self) -> None:
        store = await self.open()
        await store.append("s", FIRST, run_id="r1")
        await store.append("s", [thought("why"), call(1), result(1)], run_id="r2")
        assert await store.rewind("s", keep_entries=4) == 3
        exactly(await store.segments("s"), [Segment(run_id="r1", entries=FIRST)])
        await store.append("s", THIRD, run_id="r2")
        exactly((await store.segments("s"))[1:], [Segment(run_id="r2", entries=THIRD)])

    async def test_m3_reasoning_of_a_call_that_went_goes_too(self) -> None:
        store = await self.open()
        parallel: list[Entry] = [thought("a"), call(1), thought("b"), call(2), result(1), result(2)]
        await store.append("s", [say("go"), text("so"), *parallel], run_id="r1")
        assert await store.rewind("s", keep_entries=7) == 3
        exactly(await store.load("s"), [say("go"), text("so"), thought("a"), call(1), result(1)])

    async def test_m3_runs_without_entries_go_with_what_stands_before_them(self) -> None:
        store = await self.open()
        for run_id, entries in (("r1", FIRST), ("r2", []), ("r3", THIRD), ("r4", [])):
            await store.append("s", entries, run_id=run_id)
        assert await store.rewind("s", keep_entries=4) == 0
        assert await store.rewind("s", keep_entries=2) == 2
        assert [segment.run_id for segment in await store.segments("s")] == ["r1", "r2"]
        assert await store.rewind("s", keep_entries=0) == 2
        assert await store.segments("s") == []

    async def test_m3_an_emptied_session_is_still_there_and_goes_on(self) -> None:
        store = await self._three_runs()
        await store.rewind("s", keep_entries=0)
        if isinstance(store, SessionIndex):
            assert [(line.session_id, line.segments, line.entries) for line in await store.sessions()] == [("s", 0, 0)]
        await store.append("s", THIRD, run_id="r1", meta={"new": True})
        exactly(await (await self.open()).segments("s"), [Segment(run_id="r1", entries=THIRD, meta={"new": True})])

    async def test_m3_later_runs_stand_behind_what_is_left(self) -> None:
        for keep, left in ((9, [FIRST, SECOND]), (7, [FIRST, HALF]), (2, [FIRST])):
            store = await self._three_runs(f"s{keep}")
            await store.rewind(f"s{keep}", keep_entries=keep)
            await (await self.open()).append(f"s{keep}", THIRD, run_id="r4")
            await store.append(f"s{keep}", [], run_id="r5")
            new = [Segment(run_id="r4", entries=THIRD), Segment(run_id="r5", entries=[])]
            exactly(await (await self.open()).segments(f"s{keep}"), [*_segments(left), *new])

    async def test_m3_the_run_id_of_a_run_that_went_is_free_again(self) -> None:
        for entries in (THIRD, FIRST):
            store = await self._three_runs()
            await store.rewind("s", keep_entries=9)
            assert await store.append("s", entries, run_id="r3", meta={"n": 4}) == "r3"
            exactly((await store.segments("s"))[2:], [Segment(run_id="r3", entries=entries, meta={"n": 4})])
            await store.clear("s")

    async def test_s3_a_truncated_run_is_compared_with_what_was_first_appended(self) -> None:
        store = await self._three_runs()
        await store.rewind("s", keep_entries=7)
        assert await store.append("s", SECOND, run_id="r2", meta={"n": 9}) == "r2"
        with refused(SegmentDiffersError):
            await store.append("s", HALF, run_id="r2")
        exactly(await store.segments("s"), _segments([FIRST, HALF]))

    async def test_m3_other_sessions_are_left_alone(self) -> None:
        await self._three_runs("other")
        store = await self._three_runs()
        await store.rewind("s", keep_entries=3)
        exactly(await store.segments("other"), _segments([FIRST, SECOND, THIRD]))

    async def test_m3_an_unknown_session_has_nothing_to_undo_and_is_not_made(self) -> None:
        store = await self.open()
        assert [await store.rewind("nobody", keep_entries=keep) for keep in (0, 5)] == [0, 0]
        if isinstance(store, SessionIndex):
            assert await store.sessions() == []

    async def test_m3_a_count_that_is_none_is_refused_and_nothing_goes(self) -> None:
        store = await self._three_runs()
        wrong: list[Any] = [-1, -11, "3", 2.0, None, True]
        for keep in wrong:
            with refused(UserError):
                await store.rewind("s", keep_entries=keep)
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.rewind(bad, keep_entries=0)
        exactly(await store.segments("s"), _segments([FIRST, SECOND, THIRD]))

    async def test_m3_two_rewinds_at_once_remove_each_entry_once(self) -> None:
        stores = [await self._three_runs(), await self.open()]
        removed = await asyncio.gather(*(stores[n % 2].rewind("s", keep_entries=7) for n in range(4)))
        assert sorted(removed) == [0, 0, 0, 5]
        exactly(await stores[1].segments("s"), _segments([FIRST, HALF]))
