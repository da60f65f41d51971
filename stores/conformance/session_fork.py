"""What the optional `SessionFork` promises (H3)."""

from __future__ import annotations

from stores.conformance.checks import Contract, ForkingSession, exactly, refused
from stores.conformance.samples import call, result, say, text
from stores.entries import Entry, ToolResultEntry
from stores.errors import ConflictError, RunExistsError
from stores.protocols import SessionFork, SessionIndex
from stores.records import Segment

LONG = "rain " * 200
RUNS: list[list[Entry]] = [
    [say("one"), call(1), result(1, output=LONG), text("first")],
    [say("two"), call(1), result(1, output=LONG), text("second")],
    [say("three"), text("third")],
]
OWN: list[Entry] = [say("own"), text("mine")]


def segments(*numbers: int) -> list[Segment]:
    """The segments of those runs, numbered from 1."""
    return [Segment(run_id=f"r{n}", entries=RUNS[n - 1], meta={"n": n}) for n in numbers]


class SessionForkContract(Contract[ForkingSession]):
    """A session begins with what another began with, and neither disturbs the other."""

    async def _source(self) -> ForkingSession:
        store = await self.open()
        for n, entries in enumerate(RUNS, 1):
            await store.append("s", entries, run_id=f"r{n}", meta={"n": n})
        return store

    async def _forked(self, new_id: str, upto: str, source: str = "s") -> ForkingSession:
        store = await self.open()
        await store.fork_session(source, new_id, upto=upto)
        await store.confirm_fork(new_id)
        return await self.open()

    async def test_h3_the_store_can_fork_sessions(self) -> None:
        assert isinstance(await self.open(), SessionFork)

    async def test_h3_a_fork_begins_with_what_stood_up_to_a_run(self) -> None:
        await self._source()
        for upto in (1, 2, 3):
            store = await self._forked(f"f{upto}", f"r{upto}")
            exactly(await store.segments(f"f{upto}"), segments(*range(1, upto + 1)))
            if isinstance(store, SessionIndex):
                assert await store.has_segment(f"f{upto}", "r1")
                sizes = {line.session_id: (line.segments, line.entries) for line in await store.sessions()}
                assert sizes[f"f{upto}"] == (upto, sum(len(run) for run in RUNS[:upto]))

    async def test_h3_nobody_sees_a_fork_before_it_is_confirmed(self) -> None:
        store = await self._source()
        await store.fork_session("s", "f", upto="r2")
        for handle in (store, await self.open()):
            assert await handle.segments("f") == []
            if isinstance(handle, SessionIndex):
                assert [line.session_id for line in await handle.sessions()] == ["s"]
        await store.confirm_fork("f")
        await store.confirm_fork("f")
        exactly(await (await self.open()).segments("f"), segments(1, 2))

    async def test_h3_a_fork_that_was_never_confirmed_is_in_nobodys_way(self) -> None:
        store = await self._source()
        await store.fork_session("s", "f", upto="r2")
        await store.fork_session("s", "f", upto="r1")
        await store.confirm_fork("f")
        exactly(await (await self.open()).segments("f"), segments(1))
        await store.fork_session("s", "g", upto="r2")
        await store.append("g", OWN, run_id="mine")
        exactly(await (await self.open()).segments("g"), [Segment(run_id="mine", entries=OWN)])

    async def test_h3_confirming_what_was_not_prepared_makes_nothing(self) -> None:
        store = await self._source()
        await store.confirm_fork("nobody")
        await store.confirm_fork("s")
        assert await store.segments("nobody") == []
        exactly(await store.segments("s"), segments(1, 2, 3))

    async def test_h3_both_go_on_by_themselves(self) -> None:
        await self._source()
        store = await self._forked("f", "r2")
        await store.append("f", OWN, run_id="own", meta={"n": 9})
        await store.append("s", OWN, run_id="later")
        store = await self.open()
        exactly(await store.segments("f"), [*segments(1, 2), Segment(run_id="own", entries=OWN, meta={"n": 9})])
        exactly(await store.segments("s"), [*segments(1, 2, 3), Segment(run_id="later", entries=OWN)])

    async def test_s3_a_shared_segment_is_stored_already(self) -> None:
        await self._source()
        store = await self._forked("f", "r2")
        await store.append("f", RUNS[0], run_id="r1")
        exactly(await store.segments("f"), segments(1, 2))

    async def test_h3_a_taken_id_is_refused(self) -> None:
        store = await self._source()
        await store.append("there", OWN, run_id="x")
        await self._forked("f", "r1")
        for upto in ("r1", None):
            for taken in ("there", "s", "f"):
                with refused(RunExistsError):
                    await store.fork_session("s", taken, upto=upto)
        await store.fork_session(None, "free", upto=None)
        await store.confirm_fork("free")
        assert await (await self.open()).segments("free") == []

    async def test_h3_what_a_rewind_has_taken_cannot_be_begun_with(self) -> None:
        store = await self._source()
        await store.rewind("s", keep_entries=7)
        for upto in ("r3", "r2", "nobody"):
            with refused(ConflictError):
                await store.fork_session("s", "f", upto=upto)
        store = await self._forked("f", "r1")
        exactly(await store.segments("f"), segments(1))

    async def test_h3_a_fork_can_be_forked(self) -> None:
        await self._source()
        store = await self._forked("f", "r2")
        await store.append("f", OWN, run_id="own")
        for new_id, upto, count in (("g", "own", 3), ("h", "r2", 2), ("i", "r1", 1)):
            store = await self._forked(new_id, upto, "f")
            exactly(await store.segments(new_id), [*segments(1, 2), Segment(run_id="own", entries=OWN)][:count])
        await store.append("g", OWN, run_id="g1")
        store = await self._forked("j", "g1", "g")
        assert [segment.run_id for segment in await store.segments("j")] == ["r1", "r2", "own", "g1"]

    async def test_h3_a_session_never_begins_with_what_itself_held(self) -> None:
        """A fork of a fork may have its id, once it was cleared: where none of its segments is shared."""
        await self._source()
        store = await self._forked("f", "r2")
        await store.append("f", OWN, run_id="own")
        await self._forked("g", "own", "f")
        await self._forked("h", "r1", "f")
        await store.clear("s")
        for source, upto in (("f", "own"), ("f", "r1"), ("g", "own"), ("h", "r1"), ("s", "r1")):
            with refused(ConflictError):
                await store.fork_session(source, "s", upto=upto)
        await store.clear("f")
        with refused(ConflictError):
            await store.fork_session("g", "f", upto="own")
        store = await self._forked("f", "r1", "h")
        await store.append("s", OWN, run_id="new")
        exactly(await store.segments("s"), [Segment(run_id="new", entries=OWN)])
        exactly(await store.segments("f"), segments(1))
        exactly(await store.segments("g"), [*segments(1, 2), Segment(run_id="own", entries=OWN)])

    async def test_h3_a_fork_outlives_whatever_becomes_of_its_source(self) -> None:
        store = await self._source()
        await self._forked("f", "r2")
        await store.append("f", OWN, run_id="own")
        await self._forked("g", "own", "f")
        whole = [*segments(1, 2), Segment(run_id="own", entries=OWN)]
        await store.trim_tool_results("s", keep_chars=3, keep_runs=0)
        cut = [entry.output for entry in await store.load("s") if isinstance(entry, ToolResultEntry)]
        assert [len(output) < 100 for output in cut] == [True, True]
        exactly(await (await self.open()).segments("g"), whole)
        await store.rewind("s", keep_entries=4)
        await store.append("s", OWN, run_id="r2")
        exactly(await (await self.open()).segments("f"), whole)
        await store.rewind("s", keep_entries=0)
        exactly(await (await self.open()).segments("f"), whole)
        await store.clear("s")
        await store.append("s", OWN, run_id="again")
        for _ in range(2):
            exactly(await (await self.open()).segments("g"), whole)
            exactly(await (await self.open()).segments("s"), [Segment(run_id="again", entries=OWN)])
            await store.clear("f")
        await store.clear("g")
        exactly(await (await self.open()).segments("s"), [Segment(run_id="again", entries=OWN)])

    async def test_h3_a_rewind_into_what_is_shared_is_refused(self) -> None:
        await self._source()
        store = await self._forked("f", "r2")
        with refused(ConflictError):
            await store.rewind("f", keep_entries=7)
        await store.append("f", OWN, run_id="own")
        for keep in (0, 4, 7):
            with refused(ConflictError):
                await store.rewind("f", keep_entries=keep)
        assert await store.rewind("f", keep_entries=9) == 1
        assert await store.rewind("f", keep_entries=8) == 1
        assert await store.rewind("f", keep_entries=8) == 0
        exactly(await (await self.open()).segments("f"), segments(1, 2))
        exactly(await (await self.open()).segments("s"), segments(1, 2, 3))

    async def test_h3_a_trim_leaves_what_is_shared(self) -> None:
        await self._source()
        store = await self._forked("f", "r1")
        await store.append("f", RUNS[1], run_id="own")
        assert await store.trim_tool_results("f", keep_chars=3, keep_runs=0) == 1
        exactly((await (await self.open()).segments("f"))[:1], segments(1))
        exactly(await store.segments("s"), segments(1, 2, 3))

    async def test_h3_a_fork_without_a_segment_of_its_own_can_be_dropped(self) -> None:
        store = await self._source()
        await store.fork_session("s", "prepared", upto="r1")
        await self._forked("bare", "r2")
        await self._forked("own", "r2")
        await store.append("own", OWN, run_id="own")
        dropped = [await store.drop_fork(name) for name in ("prepared", "bare", "own", "s", "nobody", "bare")]
        assert dropped == [True, True, False, False, False, False]
        store = await self.open()
        await store.confirm_fork("prepared")
        assert [len(await store.segments(name)) for name in ("prepared", "bare", "own", "s")] == [0, 0, 3, 3]
        await self._forked("bare", "r1")
        exactly(await (await self.open()).segments("bare"), segments(1))
