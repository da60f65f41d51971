"""Faults of a session store that rewinds, for stores/conformance/rewind.py."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from stores.conformance import RewindContract as Contract
from stores.entries import ToolResultEntry, drop_dangling_tool_calls, pending_calls
from stores.errors import LoviaError
from stores.memory.sessions import _Conversation
from stores.records import Segment
from stores.surgery import entries_checksum, rewind_plan
from tests.contracts.mutants.planting import BadSession, planted


@planted(Contract.test_m3_the_store_can_rewind)
class CannotRewind(BadSession):
    rewind = None


class _Changing(BadSession):
    """Changes what a rewind has left."""

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        before = deepcopy(self._conversation(session_id))
        removed = await super().rewind(session_id, keep_entries=keep_entries)
        if session_id in self._sessions:
            self.change(before, self._sessions[session_id])
        return removed

    def change(self, before: _Conversation, after: _Conversation) -> None: ...


@planted(Contract.test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone)
class CountsWhatStoodBehindTheCut(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        total = len(await self.load(session_id))
        await super().rewind(session_id, keep_entries=keep_entries)
        return max(total - keep_entries, 0)


@planted(Contract.test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone)
class KeepsCallsWithoutResults(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        for run_id, segment in after.segments.items():
            calls = pending_calls(before.segments[run_id].entries[: len(segment.entries) + 1])
            segment.entries += calls if segment.truncated else []


@planted(Contract.test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone)
class DropsAStepThatIsNotWhole(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        for segment in after.segments.values():
            results = [entry for entry in segment.entries if isinstance(entry, ToolResultEntry)]
            if segment.truncated and len(results) == 1:
                segment.entries = segment.entries[:1]


@planted(
    Contract.test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone,
    Contract.test_m3_what_is_left_is_there_for_the_next_handle,
)
class KeepsTheMetaOfACutRun(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        for run_id, segment in after.segments.items():
            segment.meta = before.segments[run_id].meta


@planted(Contract.test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone)
class HidesThatARunWasCut(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        for segment in after.segments.values():
            segment.truncated = False


@planted(Contract.test_m3_every_count_keeps_what_a_provider_takes_and_counts_what_is_gone)
class DropsTheRunThatTheCutLandsIn(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        after.segments = {run_id: segment for run_id, segment in after.segments.items() if not segment.truncated}


@planted(Contract.test_m3_what_is_left_is_there_for_the_next_handle)
class RewindsACopy(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        return await BadSession.rewind(deepcopy(self), session_id, keep_entries=keep_entries)


@planted(Contract.test_m3_the_same_rewind_again_removes_nothing)
class CountsFromTheEndBeforeTheLastRewind(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        self._asked = [*getattr(self, "_asked", []), keep_entries]
        again = self._asked.count(keep_entries) > 1
        return await super().rewind(session_id, keep_entries=max(keep_entries - 1, 0) if again else keep_entries)


@planted(Contract.test_m3_a_truncated_run_can_be_cut_again)
class LeavesTruncatedRunsAlone(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        segments = await self.segments(session_id)
        if any(segment.truncated for segment in segments):
            return 0
        return await super().rewind(session_id, keep_entries=keep_entries)


@planted(Contract.test_m3_a_run_of_which_nothing_is_left_goes)
class KeepsEmptyRuns(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        for run_id in list(before.segments)[len(after.segments) :][:1]:
            after.segments[run_id] = Segment(run_id=run_id, entries=[], truncated=True)
            after.checksums[run_id] = before.checksums[run_id]


@planted(Contract.test_m3_reasoning_of_a_call_that_went_goes_too)
class DropsReasoningAtTheVeryEndOnly(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        (segment,) = self._conversation(session_id).segments.values()
        left = drop_dangling_tool_calls(segment.entries[:keep_entries])
        removed = await super().rewind(session_id, keep_entries=keep_entries)
        self._conversation(session_id).segments[segment.run_id].entries = left
        return removed


@planted(Contract.test_m3_runs_without_entries_go_with_what_stands_before_them)
class DropsEveryEmptyRun(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        after.segments = {run_id: segment for run_id, segment in after.segments.items() if segment.entries}


@planted(Contract.test_m3_runs_without_entries_go_with_what_stands_before_them)
class KeepsEmptyRunsInAnEmptySession(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        if not after.segments:
            after.segments = {run_id: segment for run_id, segment in before.segments.items() if not segment.entries}


@planted(Contract.test_m3_an_emptied_session_is_still_there_and_goes_on)
class ForgetsAnEmptiedSession(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        removed = await super().rewind(session_id, keep_entries=keep_entries)
        if session_id in self._sessions and not self._sessions[session_id].segments:
            del self._sessions[session_id]
        return removed


@planted(
    Contract.test_m3_later_runs_stand_behind_what_is_left,
    Contract.test_m3_an_emptied_session_is_still_there_and_goes_on,
)
class BringsTheTailBackWithTheNextAppend(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        self._tail = deepcopy(self._conversation(session_id).segments)
        return await super().rewind(session_id, keep_entries=keep_entries)

    async def append(self, session_id: str, *args: Any, **named: Any) -> str:
        stored = await super().append(session_id, *args, **named)
        segments = self._sessions[session_id].segments
        segments |= {run_id: old for run_id, old in getattr(self, "_tail", {}).items() if run_id not in segments}
        return stored


class _KeepsChecksums(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        after.checksums = before.checksums | after.checksums


@planted(Contract.test_m3_the_run_id_of_a_run_that_went_is_free_again)
class RemembersTheRunIdsThatWent(_KeepsChecksums):
    pass


@planted(Contract.test_s3_a_truncated_run_is_compared_with_what_was_first_appended)
class ComparesWithWhatIsLeft(_Changing):
    def change(self, before: _Conversation, after: _Conversation) -> None:
        after.checksums = {run_id: entries_checksum(segment.entries) for run_id, segment in after.segments.items()}


@planted(Contract.test_m3_other_sessions_are_left_alone)
class RewindsTheLongestSession(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        for other in list(self._sessions):
            removed = await super().rewind(other, keep_entries=keep_entries)
        return removed


@planted(Contract.test_m3_an_unknown_session_has_nothing_to_undo_and_is_not_made)
class CreatesTheSessionItRewinds(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        self._sessions.setdefault(session_id, _Conversation())
        return await super().rewind(session_id, keep_entries=keep_entries)


@planted(Contract.test_m3_a_count_that_is_none_is_refused_and_nothing_goes)
class CountsNegativesFromTheEnd(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        if isinstance(keep_entries, int) and keep_entries < 0:
            keep_entries += len(await self.load(session_id))
        return await super().rewind(session_id, keep_entries=keep_entries)


@planted(Contract.test_m3_a_count_that_is_none_is_refused_and_nothing_goes)
class EmptiesFirstAndRefusesLater(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        try:
            return await super().rewind(session_id, keep_entries=keep_entries)
        except LoviaError:
            if session_id in self._sessions:
                await self.clear(session_id)
            raise


@planted(Contract.test_m3_two_rewinds_at_once_remove_each_entry_once)
class LooksFirstAndRewindsLater(BadSession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        plan = rewind_plan(await self.segments(session_id), keep_entries)
        await asyncio.sleep(0)
        await super().rewind(session_id, keep_entries=keep_entries)
        return plan.removed
