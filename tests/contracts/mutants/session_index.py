"""Faults of a listing of sessions, for stores/conformance/session_index.py."""

from __future__ import annotations

import time
from typing import Any

from stores.conformance import SessionIndexContract as Contract
from stores.entries import Entry
from stores.lines import SessionInfo
from stores.memory.sessions import _Conversation
from stores.records import Segment
from tests.contracts.mutants.planting import MIX_UPS, BadSession, any_id, planted, renaming
from tests.contracts.mutants.session import METHODS


@planted(Contract.test_the_store_is_a_session_index)
class CannotTellASegment(BadSession):
    has_segment = None


@planted(Contract.test_s1_reading_an_unknown_session_lists_none)
class CreatesWhatIsRead(BadSession):
    async def segments(self, session_id: str) -> list[Segment]:
        self._sessions.setdefault(session_id, _Conversation())
        return await super().segments(session_id)


class _Listing(BadSession):
    async def sessions(self) -> list[SessionInfo]:
        lines = await super().sessions()
        for line in lines:
            self.change(line)
        return lines

    def change(self, line: SessionInfo) -> None: ...


@planted(Contract.test_s1_a_line_counts_segments_and_entries)
class CountsSegmentsTwice(_Listing):
    def change(self, line: SessionInfo) -> None:
        line.segments *= 2


@planted(Contract.test_s1_a_line_counts_segments_and_entries)
class CountsOneEntryASegment(_Listing):
    def change(self, line: SessionInfo) -> None:
        line.entries = line.segments


@planted(Contract.test_s1_a_line_counts_segments_and_entries)
class TellsNoTime(_Listing):
    def change(self, line: SessionInfo) -> None:
        line.updated_at = None


@planted(Contract.test_s1_sessions_stand_newest_activity_first)
class ListsOldestFirst(BadSession):
    async def sessions(self) -> list[SessionInfo]:
        return (await super().sessions())[::-1]


@planted(Contract.test_s1_sessions_stand_newest_activity_first)
class ListsByName(BadSession):
    async def sessions(self) -> list[SessionInfo]:
        return sorted(await super().sessions(), key=lambda line: line.session_id)


@planted(Contract.test_s3_an_append_that_is_none_is_no_activity)
class TakesARetryForActivity(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        stored = await super().append(session_id, entries, run_id=run_id, meta=meta)
        self._sessions[session_id] = self._sessions.pop(session_id)
        self._sessions[session_id].updated_at = time.time()
        return stored


@planted(Contract.test_s1_a_cleared_session_is_not_listed)
class ListsClearedSessions(BadSession):
    async def clear(self, session_id: str) -> None:
        self._sessions[session_id] = _Conversation()


@planted(Contract.test_r7_has_segment_tells_by_session_and_run)
class LooksInEverySession(BadSession):
    async def has_segment(self, session_id: str, run_id: str) -> bool:
        return any(run_id in conversation.segments for conversation in self._sessions.values())


@planted(Contract.test_r7_has_segment_tells_by_session_and_run)
class LooksForAnySegment(BadSession):
    async def has_segment(self, session_id: str, run_id: str) -> bool:
        return bool(await self.segments(session_id))


for name, rename in MIX_UPS.items():
    planted(Contract.test_ids_that_look_alike_are_distinct_sessions_of_the_listing)(
        type(name, (renaming(BadSession, METHODS, rename),), {})
    )


@planted(Contract.test_texts_that_are_no_ids_are_refused_and_no_session_is_listed)
class ListsAnySessionId(renaming(BadSession, METHODS, any_id)):
    pass


@planted(Contract.test_texts_that_are_no_ids_are_refused_and_no_session_is_listed)
class CreatesTheSessionFirst(BadSession):
    async def append(self, session_id: str, *args: Any, **named: Any) -> str:
        if session_id == "s":
            self._sessions.setdefault(session_id, _Conversation())
        return await super().append(session_id, *args, **named)
