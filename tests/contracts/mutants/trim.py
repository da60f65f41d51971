"""Faults of a session store that trims, for stores/conformance/trim.py."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from stores.conformance import TrimContract as Contract
from stores.entries import ToolResultEntry
from stores.errors import LoviaError
from stores.memory.sessions import _Conversation
from stores.protocols import ResultStore
from stores.records import Segment
from stores.references import results_of
from stores.surgery import entries_checksum
from tests.contracts.mutants.planting import BadSession, planted


@planted(Contract.test_m1_the_store_can_trim)
class CannotTrim(BadSession):
    trim_tool_results = None


class _Trimming(BadSession):
    """Changes each output that was cut."""

    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        before = deepcopy(await self.segments(session_id))
        trimmed = await super().trim_tool_results(session_id, **named)
        for old, segment in zip(before, self._conversation(session_id).segments.values(), strict=True):
            for was, entry in zip(old.entries, segment.entries, strict=True):
                if isinstance(entry, ToolResultEntry) and isinstance(was, ToolResultEntry) and entry != was:
                    self.change(was, entry)
        return trimmed

    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None: ...


@planted(Contract.test_m1_an_old_output_keeps_its_beginning_and_says_what_is_gone)
class KeepsTheEnd(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.output = before.output[-400:] + after.output[400:]


@planted(
    Contract.test_m1_an_old_output_keeps_its_beginning_and_says_what_is_gone,
    Contract.test_m2_what_is_cut_is_in_the_archive_and_the_marker_says_where,
)
class SaysNothing(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.output = after.output[:400]


@planted(Contract.test_m1_an_old_output_keeps_its_beginning_and_says_what_is_gone)
class SaysThatAllIsArchived(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.output = after.output.replace("for good", "; recall_tool_result gives the whole output")


@planted(Contract.test_m1_the_last_runs_stay_whole)
class KeepsOneRunMore(BadSession):
    async def trim_tool_results(self, session_id: str, *, keep_runs: int = 1, **named: Any) -> int:
        return await super().trim_tool_results(session_id, keep_runs=keep_runs + 1, **named)


@planted(Contract.test_m1_the_last_runs_stay_whole)
class TakesNoRunsForAllRuns(BadSession):
    async def trim_tool_results(self, session_id: str, *, keep_runs: int = 1, **named: Any) -> int:
        return await super().trim_tool_results(session_id, keep_runs=keep_runs or 1000, **named)


@planted(Contract.test_m1_a_second_trim_cuts_nothing, Contract.test_m1_a_later_trim_may_cut_further)
class TakesItsOwnMarkerForOutput(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.trimmed = None
        after.output += "." * 100


@planted(Contract.test_m1_a_second_trim_cuts_nothing)
class CountsWhatIsShort(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        await super().trim_tool_results(session_id, **named)
        found = [entry for entry in await self.load(session_id) if isinstance(entry, ToolResultEntry)]
        return sum(entry.trimmed is not None for entry in found)


@planted(Contract.test_m1_a_later_trim_may_cut_further)
class CutsEachOutputOnce(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        if any(isinstance(entry, ToolResultEntry) and entry.trimmed for entry in await self.load(session_id)):
            return 0
        return await super().trim_tool_results(session_id, **named)


@planted(Contract.test_m1_no_output_grows)
class MarksWhateverIsLonger(BadSession):
    async def trim_tool_results(self, session_id: str, *, keep_chars: int = 400, **named: Any) -> int:
        trimmed = await super().trim_tool_results(session_id, keep_chars=keep_chars, **named)
        for entry in _results(self, session_id):
            if len(entry.output) > keep_chars and entry.trimmed is None:
                entry.output = entry.output[:keep_chars] + "\n[some of it was cut]"
        return trimmed


@planted(Contract.test_m1_no_character_is_cut_in_two)
class CutsBetweenCodePoints(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        marker = after.output[after.output.rindex("\n[") :]
        after.output = before.output[:401] + marker


@planted(Contract.test_m1_a_cluster_that_is_too_long_goes_whole)
class CutsAClusterThatIsTooLong(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.output = before.output[:400] + "\n" + after.output


@planted(Contract.test_m1_all_else_stays_as_it_was)
class ForgetsTheErrorFlag(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.is_error, after.kind = False, "ok"


@planted(Contract.test_m1_all_else_stays_as_it_was)
class ForgetsUnknownFields(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        after.extra = {}


@planted(Contract.test_m1_all_else_stays_as_it_was)
class ForgetsTheMeta(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        for segment in self._conversation(session_id).segments.values():
            segment.meta = {}
        return await super().trim_tool_results(session_id, **named)


@planted(Contract.test_m1_all_else_stays_as_it_was)
class LeavesUnplacedResultsAlone(_Trimming):
    def change(self, before: ToolResultEntry, after: ToolResultEntry) -> None:
        if not before.position:
            after.output, after.trimmed = before.output, before.trimmed


@planted(Contract.test_m1_other_sessions_are_left_alone)
class TrimsEverySession(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        return sum([await super(TrimsEverySession, self).trim_tool_results(other, **named) for other in self._sessions])


@planted(Contract.test_m1_an_unknown_session_has_nothing_to_cut_and_is_not_made)
class CreatesTheSessionItTrims(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        self._sessions.setdefault(session_id, _Conversation())
        return await super().trim_tool_results(session_id, **named)


@planted(Contract.test_m1_counts_that_are_none_are_refused_and_nothing_is_cut)
class TakesNegativesForNought(BadSession):
    async def trim_tool_results(self, session_id: str, *, keep_chars: Any = 400, **named: Any) -> int:
        if isinstance(keep_chars, int) and keep_chars < 0:
            keep_chars = 0
        return await super().trim_tool_results(session_id, keep_chars=keep_chars, **named)


@planted(Contract.test_m1_counts_that_are_none_are_refused_and_nothing_is_cut)
class CutsFirstAndRefusesLater(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        try:
            return await super().trim_tool_results(session_id, **named)
        except LoviaError:
            await super().trim_tool_results("s", keep_runs=0)
            raise


@planted(Contract.test_s3_a_trimmed_run_is_compared_with_what_was_first_appended)
class ComparesWithWhatWasCut(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        trimmed = await super().trim_tool_results(session_id, **named)
        conversation = self._conversation(session_id)
        for run_id, segment in conversation.segments.items():
            conversation.checksums[run_id] = entries_checksum(segment.entries)
        return trimmed


@planted(Contract.test_s1_a_trimmed_session_goes_on)
class ClosesATrimmedSession(BadSession):
    async def append(self, session_id: str, *args: Any, **named: Any) -> str:
        if any(entry.trimmed for entry in _results(self, session_id)):
            raise LoviaError("this is not the segment that was appended last")
        return await super().append(session_id, *args, **named)


@planted(Contract.test_m3_what_is_rewound_during_a_trim_stays_gone)
class BringsBackWhatWasRewound(BadSession):
    async def trim_tool_results(self, session_id: str, **named: Any) -> int:
        segments = self._conversation(session_id).segments
        before = dict(segments)
        trimmed = await super().trim_tool_results(session_id, **named)
        segments |= {run_id: segment for run_id, segment in before.items() if run_id not in segments}
        return trimmed


class _Archiving(BadSession):
    """Archives in its own way, and then trims as if it had archived in the right one."""

    async def trim_tool_results(
        self, session_id: str, *, archive: ResultStore | None = None, keep_runs: int = 1, **named: Any
    ) -> int:
        if archive is None:
            return await super().trim_tool_results(session_id, keep_runs=keep_runs, **named)
        segments = list(self._conversation(session_id).segments.values())
        await self.archive(segments[: len(segments) - keep_runs], archive)
        return await super().trim_tool_results(session_id, keep_runs=keep_runs, archive=_Takes(), **named)

    async def archive(self, segments: list[Segment], archive: ResultStore) -> None: ...


class _Takes:
    """Says that it has everything."""

    async def put(self, reference: Any, output: str) -> bool:
        return True

    async def get(self, reference: Any) -> str | None:
        return None

    async def drop(self, run_id: str) -> None: ...


@planted(
    Contract.test_m2_what_is_cut_is_in_the_archive_and_the_marker_says_where,
    Contract.test_m2_an_output_that_the_archive_does_not_take_stays_whole,
)
class ArchivesNothing(_Archiving):
    pass


@planted(Contract.test_m2_what_is_cut_is_in_the_archive_and_the_marker_says_where)
class ArchivesWhatIsShortToo(_Archiving):
    async def archive(self, segments: list[Segment], archive: ResultStore) -> None:
        for segment in segments:
            for _, reference, result in results_of(segment.run_id, segment.entries):
                await archive.put(reference, result.output)


@planted(Contract.test_m2_a_later_trim_archives_no_part_for_the_whole)
class ArchivesParts(_Archiving):
    async def archive(self, segments: list[Segment], archive: ResultStore) -> None:
        for segment in segments:
            for _, reference, result in results_of(segment.run_id, segment.entries):
                if len(result.output) > 400:
                    await archive.put(reference, result.output)


@planted(Contract.test_m2_an_archive_that_fails_loses_nothing_and_the_same_trim_goes_on)
class CutsBeforeItArchives(BadSession):
    async def trim_tool_results(self, session_id: str, *, archive: ResultStore | None = None, **named: Any) -> int:
        whole = [
            (reference, result.output)
            for segment in await self.segments(session_id)
            for _, reference, result in results_of(segment.run_id, segment.entries)
            if result.trimmed is None
        ]
        trimmed = await super().trim_tool_results(session_id, archive=archive and _Takes(), **named)
        for reference, output in whole if archive else ():
            await archive.put(reference, output)
        return trimmed


def _results(store: BadSession, session_id: str) -> Iterator[ToolResultEntry]:
    for segment in store._conversation(session_id).segments.values():
        yield from (entry for entry in segment.entries if isinstance(entry, ToolResultEntry))
