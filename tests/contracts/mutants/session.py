"""Faults of a session store, for stores/conformance/session.py."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from stores import codec
from stores.conformance import SessionContract as Contract
from stores.conformance.samples import every_entry
from stores.entries import Entry, ToolResultEntry
from stores.errors import LoviaError, SegmentDiffersError, SessionNotFoundError, StoreError
from stores.fields import changed, field_names
from stores.memory.sessions import _Conversation
from stores.records import Segment
from stores.values import plain
from tests.contracts.mutants.planting import MIX_UPS, BadSession, any_id, forgetful, plant_family, planted, renaming

METHODS = ("segments", "load", "append", "clear", "has_segment")


@planted(Contract.test_s1_the_store_is_a_session)
class HasNoClear(BadSession):
    clear = None


@planted(Contract.test_s1_an_unknown_session_is_empty)
class RefusesUnknownSessions(BadSession):
    async def load(self, session_id: str) -> list[Entry]:
        if session_id not in self._sessions:
            raise SessionNotFoundError("no such session")
        return await super().load(session_id)


@planted(Contract.test_s1_append_stores_a_segment_and_returns_its_run_id)
class ReturnsTheSessionId(BadSession):
    async def append(self, session_id: str, *args: Any, **named: Any) -> str:
        await super().append(session_id, *args, **named)
        return session_id


@planted(Contract.test_s1_append_without_a_run_id_makes_a_new_one)
class CallsEveryRunTheSame(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        return await super().append(session_id, entries, run_id=run_id or "run", meta=meta)


@planted(Contract.test_s1_load_is_the_flat_concatenation)
class LoadsTheLastSegmentOnly(BadSession):
    async def load(self, session_id: str) -> list[Entry]:
        return [entry for segment in (await self.segments(session_id))[-1:] for entry in segment.entries]


@planted(Contract.test_s1_segments_stand_in_order_of_append)
class SortsSegmentsByRunId(BadSession):
    async def segments(self, session_id: str) -> list[Segment]:
        return sorted(await super().segments(session_id), key=lambda segment: segment.run_id)


@planted(Contract.test_s1_sessions_are_apart)
class HasOneConversationForAll(renaming(BadSession, METHODS, lambda _: "all")):
    pass


@planted(
    Contract.test_s1_what_was_appended_is_there_for_the_next_handle,
    Contract.test_s3_append_is_idempotent_for_the_next_handle,
    Contract.test_s3_other_entries_are_reported_to_the_next_handle,
    Contract.test_s3_a_race_of_different_runs_loses_none,
)
class KeepsTheDataInItsHandle(BadSession):
    def handle(self) -> BadSession:
        return BadSession()


@planted(Contract.test_s1_clear_removes_this_session_only)
class ClearsEverySession(BadSession):
    async def clear(self, session_id: str) -> None:
        self._sessions.clear()


@planted(Contract.test_s1_clear_removes_this_session_only)
class ClearsTheLastSegmentOnly(BadSession):
    async def clear(self, session_id: str) -> None:
        if session_id in self._sessions:
            self._sessions[session_id].segments.popitem()


@planted(Contract.test_s1_clear_of_an_unknown_session_does_nothing)
class RefusesToClearUnknownSessions(BadSession):
    async def clear(self, session_id: str) -> None:
        if session_id not in self._sessions:
            raise SessionNotFoundError("no such session")


@planted(Contract.test_s1_a_cleared_session_begins_anew)
class RemembersWhatWasCleared(BadSession):
    async def clear(self, session_id: str) -> None:
        if session_id in self._sessions:
            self._sessions[session_id].segments.clear()


@planted(Contract.test_s2_a_later_append_changes_no_earlier_segment)
class CutsOldResultsAtEachAppend(BadSession):
    async def append(self, session_id: str, *args: Any, **named: Any) -> str:
        for entry in [e for s in self._conversation(session_id).segments.values() for e in s.entries]:
            if isinstance(entry, ToolResultEntry):
                entry.output = entry.output[:2]
        return await super().append(session_id, *args, **named)


class _Forcing(BadSession):
    def force(self, session_id: str, segment: Segment) -> str:
        conversation = self._sessions.setdefault(session_id, _Conversation())
        conversation.segments[f"{segment.run_id} {len(conversation.segments)}"] = deepcopy(segment)
        return segment.run_id


@planted(Contract.test_s3_append_is_idempotent, Contract.test_s3_append_is_idempotent_for_the_next_handle)
class AppendsEachTime(_Forcing):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        return self.force(session_id, Segment(run_id=run_id or "r", entries=entries, meta=meta or {}))


@planted(Contract.test_s3_append_is_idempotent)
class LetsTheLastAppendWin(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        self._conversation(session_id).checksums.pop(run_id or "", None)
        return await super().append(session_id, entries, run_id=run_id, meta=meta)


@planted(Contract.test_s3_a_run_id_is_meant_within_its_session)
class KnowsRunIdsOfAllSessions(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        if run_id and any(run_id in conversation.segments for conversation in self._sessions.values()):
            return run_id
        return await super().append(session_id, entries, run_id=run_id, meta=meta)


@planted(
    Contract.test_s3_a_race_for_one_run_id_stores_one_segment,
    Contract.test_s3_a_race_with_other_entries_is_won_by_one_and_reported_to_the_other,
)
class LooksFirstAndAppendsLater(_Forcing):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        known = bool(self._conversation(session_id).segments)
        await asyncio.sleep(0)
        segment = Segment(run_id=run_id or "r", entries=entries, meta=meta or {})
        return segment.run_id if known else self.force(session_id, segment)


@planted(Contract.test_s3_a_race_of_different_runs_loses_none)
class WritesBackWhatItReadBefore(BadSession):
    async def append(self, session_id: str, *args: Any, **named: Any) -> str:
        before = deepcopy(self._conversation(session_id))
        await asyncio.sleep(0)
        self._sessions[session_id] = before
        return await super().append(session_id, *args, **named)


@planted(
    Contract.test_s3_other_entries_under_a_stored_run_id_are_reported,
    Contract.test_s3_other_entries_are_reported_to_the_next_handle,
    Contract.test_s3_a_race_with_other_entries_is_won_by_one_and_reported_to_the_other,
)
class DropsOtherEntriesSilently(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        try:
            return await super().append(session_id, entries, run_id=run_id, meta=meta)
        except SegmentDiffersError:
            return run_id or ""


@planted(Contract.test_s3_other_entries_under_a_stored_run_id_are_reported)
class ComparesTheNumberOfEntries(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        stored = self._conversation(session_id).segments.get(run_id or "")
        if stored and len(stored.entries) == len(entries):
            return stored.run_id
        return await super().append(session_id, entries, run_id=run_id, meta=meta)


@planted(Contract.test_s3_other_entries_under_a_stored_run_id_are_reported)
class ReportsOtherEntriesAndTakesTheirMeta(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        if stored := self._conversation(session_id).segments.get(run_id or ""):
            stored.meta = meta
        return await super().append(session_id, entries, run_id=run_id, meta=meta)


@planted(Contract.test_s4_a_caller_who_changes_what_was_read_changes_nothing_stored)
class HandsOutItsOwnSegments(BadSession):
    async def segments(self, session_id: str) -> list[Segment]:
        return list(self._conversation(session_id).segments.values())


@planted(Contract.test_s4_a_caller_who_changes_what_was_appended_changes_nothing_stored)
class KeepsTheCallersObjects(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        stored = await super().append(session_id, entries, run_id=run_id, meta=meta)
        self._sessions[session_id].segments[stored].entries = entries
        return stored


class _Changing(BadSession):
    """Changes each segment on its way in."""

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        stored = await super().append(session_id, entries, run_id=run_id, meta=meta)
        self.change(self._sessions[session_id].segments[stored])
        return stored

    def change(self, segment: Segment) -> None: ...


@planted(Contract.test_s1_meta_is_opaque)
class DropsNullsFromMeta(_Changing):
    def change(self, segment: Segment) -> None:
        segment.meta = {name: value for name, value in segment.meta.items() if value is not None}


@planted(Contract.test_s1_meta_is_opaque)
class TurnsWholeFloatsIntoIntegers(_Changing):
    def change(self, segment: Segment) -> None:
        if floats := segment.meta.get("floats"):
            segment.meta["floats"] = [int(n) if n == int(n) else n for n in floats]


@planted(Contract.test_s1_a_segment_without_entries_is_one)
class SkipsEmptySegments(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        return await super().append(session_id, entries, run_id=run_id, meta=meta) if entries else run_id or ""


@planted(Contract.test_d4_large_values_of_a_segment_are_kept)
class CutsLargeOutputs(_Changing):
    def change(self, segment: Segment) -> None:
        for entry in segment.entries:
            if isinstance(entry, ToolResultEntry):
                entry.output = entry.output[:65536]


@planted(Contract.test_d4_meta_is_kept_in_its_stored_form)
class RefusesMetaThatIsNotJson(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        codec.dumps(meta)
        return await super().append(session_id, entries, run_id=run_id, meta=meta)


@planted(Contract.test_d4_entries_that_json_cannot_hold_are_refused_and_nothing_is_stored)
class StoresTheEntriesThatJsonHolds(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        try:
            return await super().append(session_id, entries, run_id=run_id, meta=meta)
        except StoreError:
            await super().append(session_id, entries[:1], run_id=run_id, meta=meta)
            raise


@planted(Contract.test_d4_entries_that_json_cannot_hold_are_refused_and_nothing_is_stored)
class MakesWhatItCanOfEveryEntry(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        clean: list[Any] = [changed(entry, extra=plain(entry.extra)) for entry in entries]
        return await super().append(session_id, clean, run_id=run_id, meta=meta)


def _forgets(kind: type[Any], field: str) -> dict[str, Any]:
    forget = forgetful(kind, field)
    return {"change": lambda self, segment: [forget(entry) for entry in segment.entries]}


plant_family(
    _Changing,
    {
        f"Forgets_{kind.__name__}_{name}": _forgets(kind, name)
        for kind in dict.fromkeys(type(entry) for entry in every_entry())
        for name in field_names(kind)
    },
    Contract.test_d1_every_entry_comes_back_with_every_field,
)

for name, rename in MIX_UPS.items():
    planted(Contract.test_ids_that_look_alike_are_distinct_sessions)(
        type(name, (renaming(BadSession, METHODS, rename),), {})
    )
    planted(Contract.test_ids_that_look_alike_are_distinct_runs_of_a_session)(
        type(
            f"{name}OfRuns",
            (BadSession,),
            {
                "append": lambda self, key, entries, *, run_id, meta=None, rename=rename: BadSession.append(
                    self, key, entries, run_id=rename(run_id), meta=meta
                )
            },
        )
    )


@planted(Contract.test_texts_that_are_no_ids_are_refused_and_nothing_is_stored)
class TakesAnySessionId(renaming(BadSession, METHODS, any_id)):
    pass


@planted(Contract.test_texts_that_are_no_ids_are_refused_and_nothing_is_stored)
class StoresFirstAndRefusesLater(BadSession):
    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        try:
            return await super().append(session_id, entries, run_id=run_id, meta=meta)
        except LoviaError:
            if session_id == "s":
                await super().append(session_id, entries)
            raise
