"""What the optional `Trim` promises (M1, M2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from stores.conformance.checks import Contract, TrimmingSession, exactly, refused
from stores.conformance.samples import BIG, REFUSED_IDS, call, every_entry, result, say, text
from stores.entries import Entry, InputEntry, ToolResultEntry
from stores.errors import SegmentDiffersError, StoreWriteError, UserError
from stores.protocols import Rewind, SessionIndex, Trim
from stores.records import Segment
from stores.references import ResultRef

LONG = "".join(f"{n:09d}\n" for n in range(200))
"""2,000 characters, no two lines of them the same."""

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1f5\U0001f1f9"
ACCENTED = "e\u0301\u0323"


class Archive:
    """A `ResultStore` of a test: it keeps all, or refuses, or fails at the n-th output."""

    def __init__(self, *, takes: bool = True, fails_at: int = 0) -> None:
        self.outputs: dict[ResultRef, str] = {}
        self._takes = takes
        self._fails_at = fails_at
        self.asked = 0

    async def put(self, reference: ResultRef, output: str) -> bool:
        self.asked += 1
        if self.asked == self._fails_at:
            raise StoreWriteError("cannot write: No space left on device")
        if self._takes:
            self.outputs.setdefault(reference, output)
        return self._takes

    async def get(self, reference: ResultRef) -> str | None:
        return self.outputs.get(reference)

    async def drop(self, run_id: str) -> None:
        """No test drops anything here."""


class RewindingArchive(Archive):
    """Keeps all. While it is asked for the first time, somebody rewinds the session ``s`` to its first run.

    It does not wait for the end of that: a store may let a rewind wait for the trim.
    """

    def __init__(self, store: Rewind) -> None:
        super().__init__()
        self._store = store
        self.rewinding: asyncio.Task[int] | None = None

    async def put(self, reference: ResultRef, output: str) -> bool:
        if self.rewinding is None:
            self.rewinding = asyncio.create_task(self._store.rewind("s", keep_entries=len(_run(LONG))))
            await asyncio.wait({self.rewinding}, timeout=0.05)
        return await super().put(reference, output)


def _run(*outputs: str) -> list[Entry]:
    """A run of one step with these outputs."""
    positions = range(1, len(outputs) + 1)
    calls = [call(n) for n in positions]
    results = [result(n, output=output) for n, output in zip(positions, outputs, strict=True)]
    return [say("go"), *calls, *results, text("done", 2)]


def _outputs(segments: Sequence[Segment]) -> list[str]:
    return [entry.output for segment in segments for entry in segment.entries if isinstance(entry, ToolResultEntry)]


def _but_for_outputs(segments: Sequence[Segment]) -> list[Segment]:
    """Copies without what a trim may change."""
    copies = deepcopy(list(segments))
    for entry in (entry for segment in copies for entry in segment.entries):
        if isinstance(entry, ToolResultEntry):
            entry.output, entry.trimmed = "", None
    return copies


class TrimContract(Contract[TrimmingSession]):
    """Old outputs become short, and nothing else becomes anything."""

    async def _session(self, *runs: list[Entry]) -> TrimmingSession:
        store = await self.open()
        for n, entries in enumerate(runs, 1):
            await store.append("s", entries, run_id=f"r{n}", meta={"n": n})
        return store

    async def test_m1_the_store_can_trim(self) -> None:
        assert isinstance(await self.open(), Trim)

    async def test_m1_an_old_output_keeps_its_beginning_and_says_what_is_gone(self) -> None:
        store = await self._session(_run(LONG), _run(LONG))
        assert await store.trim_tool_results("s") == 1
        old, new = _outputs(await (await self.open()).segments("s"))
        assert new == LONG
        assert old == LONG[:400] + "\n[1600 of 2000 characters cut for good]"

    async def test_m1_the_last_runs_stay_whole(self) -> None:
        for keep_runs, trimmed in ((99, 0), (3, 0), (2, 1), (1, 2), (0, 3)):
            store = await self._session(_run(LONG), _run(LONG), _run(LONG))
            assert await store.trim_tool_results("s", keep_runs=keep_runs) == trimmed
            whole = [output == LONG for output in _outputs(await (await self.open()).segments("s"))]
            assert whole == [False] * trimmed + [True] * (3 - trimmed)
            await store.clear("s")

    async def test_m1_a_second_trim_cuts_nothing(self) -> None:
        store = await self._session(_run(LONG, BIG, "short"), _run(LONG))
        assert await store.trim_tool_results("s") == 2
        before = await store.segments("s")
        assert await (await self.open()).trim_tool_results("s") == 0
        assert await store.trim_tool_results("s", keep_chars=401) == 0
        exactly(await store.segments("s"), before)

    async def test_m1_a_later_trim_may_cut_further(self) -> None:
        store = await self._session(_run(LONG), [])
        trimmed = [await store.trim_tool_results("s", keep_chars=keep) for keep in (1000, 100, 100, 0, 0)]
        assert trimmed == [1, 1, 0, 1, 0]
        assert _outputs(await store.segments("s")) == ["[2000 of 2000 characters cut for good]"]

    async def test_m1_no_output_grows(self) -> None:
        lengths = [0, 1, 399, 400, 401, 410, 430, 450, 470, 500, 600]
        store = await self._session(_run(*("x" * length for length in lengths)), [])
        assert await store.trim_tool_results("s") > 0
        found = _outputs(await store.segments("s"))
        for length, output in zip(lengths, found, strict=True):
            assert len(output) < length or output == "x" * length
        assert found[:6] == ["x" * length for length in lengths[:6]]

    async def test_m1_no_character_is_cut_in_two(self) -> None:
        for character in (FAMILY, FLAG, ACCENTED, "\r\n", "\\ud83d\\ude00", "\x1b[31m"):
            store = await self._session(_run(character * 1000), [])
            assert await store.trim_tool_results("s", keep_chars=401) == 1
            (output,) = _outputs(await store.segments("s"))
            kept, rest = output.split("\n[") if character != "\r\n" else output.rsplit("\n[", 1)
            assert kept == character * (401 // len(character)), character
            assert rest.startswith(f"{len(character) * 1000 - len(kept)} of {len(character) * 1000} characters cut")
            await store.clear("s")

    async def test_m1_a_cluster_that_is_too_long_goes_whole(self) -> None:
        store = await self._session(_run("e" + "\u0301" * 2000), [])
        assert await store.trim_tool_results("s") == 1
        assert _outputs(await store.segments("s")) == ["[2001 of 2001 characters cut for good]"]

    async def test_m1_all_else_stays_as_it_was(self) -> None:
        failed = result(1, output=LONG)
        failed.is_error, failed.kind, failed.extra = True, "error", {"of_a_later_version": [1]}
        unplaced: list[Entry] = [InputEntry(text="import"), ToolResultEntry(call_id="x", output=LONG)]
        store = await self._session(every_entry(), [call(1), failed], unplaced, [])
        before = await store.segments("s")
        assert await store.trim_tool_results("s", keep_chars=10) == 2
        after = await (await self.open()).segments("s")
        exactly(_but_for_outputs(after), _but_for_outputs(before))
        assert [len(output) for output in _outputs(after[1:])] == [
            len("000000000\n\n[1990 of 2000 characters cut for good]")
        ] * 2

    async def test_m1_other_sessions_are_left_alone(self) -> None:
        store = await self._session(_run(LONG), [])
        for run_id in ("r1", "r2"):
            await store.append("other", _run(LONG), run_id=run_id)
        await store.trim_tool_results("s", keep_runs=0)
        assert _outputs(await store.segments("other")) == [LONG, LONG]

    async def test_m1_an_unknown_session_has_nothing_to_cut_and_is_not_made(self) -> None:
        store = await self.open()
        assert await store.trim_tool_results("nobody", keep_chars=0, keep_runs=0) == 0
        if isinstance(store, SessionIndex):
            assert await store.sessions() == []

    async def test_m1_counts_that_are_none_are_refused_and_nothing_is_cut(self) -> None:
        store = await self._session(_run(LONG), [])
        wrong: list[Any] = [-1, "3", 2.0, None, True]
        for value in wrong:
            with refused(UserError):
                await store.trim_tool_results("s", keep_chars=value)
            with refused(UserError):
                await store.trim_tool_results("s", keep_runs=value)
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.trim_tool_results(bad)
        assert _outputs(await store.segments("s")) == [LONG]

    async def test_s3_a_trimmed_run_is_compared_with_what_was_first_appended(self) -> None:
        store = await self._session(_run(LONG))
        await store.trim_tool_results("s", keep_runs=0)
        before = await store.segments("s")
        assert await (await self.open()).append("s", _run(LONG), run_id="r1") == "r1"
        with refused(SegmentDiffersError):
            await store.append("s", before[0].entries, run_id="r1")
        exactly(await store.segments("s"), before)

    async def test_s1_a_trimmed_session_goes_on(self) -> None:
        store = await self._session(_run(LONG))
        await store.trim_tool_results("s", keep_runs=0)
        await (await self.open()).append("s", _run(LONG), run_id="r2")
        await store.append("s", _run("rain"), run_id="r3")
        assert await store.trim_tool_results("s", keep_chars=10) == 2
        found = [(segment.run_id, len(segment.entries)) for segment in await (await self.open()).segments("s")]
        assert found == [("r1", 4), ("r2", 4), ("r3", 4)]

    async def test_m2_what_is_cut_is_in_the_archive_and_the_marker_says_where(self) -> None:
        store, archive = await self._session(_run("short", LONG), [], _run(BIG)), Archive()
        assert await store.trim_tool_results("s", keep_runs=0, archive=archive) == 2
        exactly(
            {str(key): output for key, output in archive.outputs.items()},
            {"r1/1.2": LONG, "r3/1.1": BIG},
        )
        _, cut, _ = _outputs(await store.segments("s"))
        marker = "\n[1600 of 2000 characters cut; recall_tool_result gives the whole output: r1/1.2]"
        assert cut == LONG[:400] + marker

    async def test_m2_a_later_trim_archives_no_part_for_the_whole(self) -> None:
        store, archive = await self._session(_run(LONG), [_said(LONG)], []), Archive()
        assert await store.trim_tool_results("s", keep_chars=900, keep_runs=2) == 1
        assert await store.trim_tool_results("s", keep_chars=500, archive=archive) == 2
        assert await store.trim_tool_results("s", keep_chars=100, archive=archive) == 2
        assert await store.trim_tool_results("s", keep_chars=10) == 2
        exactly(list(archive.outputs.values()), [LONG])
        assert [output.endswith("for good]") for output in _outputs(await store.segments("s"))] == [True, False]

    async def test_m2_an_output_that_the_archive_does_not_take_stays_whole(self) -> None:
        store = await self._session(_run(LONG, LONG), [])
        before = await store.segments("s")
        assert await store.trim_tool_results("s", archive=Archive(takes=False)) == 0
        exactly(await store.segments("s"), before)

    async def test_m2_an_archive_that_fails_loses_nothing_and_the_same_trim_goes_on(self) -> None:
        store, archive = await self._session(_run(LONG, LONG), _run(LONG), []), Archive(fails_at=3)
        with refused(StoreWriteError):
            await store.trim_tool_results("s", archive=archive)
        found = _outputs(await (await self.open()).segments("s"))
        assert [output for output in found[2:] if output != LONG] == []
        assert all(output == LONG or len(archive.outputs) == 2 for output in found)
        await store.trim_tool_results("s", archive=archive)
        assert [len(output) < 500 for output in _outputs(await store.segments("s"))] == [True] * 3
        exactly(list(archive.outputs.values()), [LONG] * 3)

    async def test_m3_what_is_rewound_during_a_trim_stays_gone(self) -> None:
        store, other = await self._session(_run(LONG), _run(LONG), _run(LONG)), await self.open()
        if not isinstance(other, Rewind):
            return
        archive = RewindingArchive(other)
        await store.trim_tool_results("s", keep_runs=0, archive=archive)
        assert archive.rewinding is not None
        assert await archive.rewinding == 2 * len(_run(LONG))
        assert [segment.run_id for segment in await (await self.open()).segments("s")] == ["r1"]
        await store.append("s", _run("rain"), run_id="r2")
        assert await other.rewind("s", keep_entries=0) == 2 * len(_run(LONG))


def _said(output: str) -> Entry:
    """A result of another writer: without a place."""
    return ToolResultEntry(call_id="x", output=output)
