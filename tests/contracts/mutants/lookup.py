"""Faults of looking up one id, for stores/conformance/lookup.py."""

from __future__ import annotations

from stores.conformance import KeptHistoryLookupContract, OpenRunLookupContract, SessionLookupContract
from stores.lines import RunInfo, SessionInfo
from stores.memory.sessions import _Conversation
from stores.records import Status
from tests.contracts.mutants.planting import MIX_UPS, BadCheckpointer, BadSession, any_id, planted, renaming


@planted(OpenRunLookupContract.test_k6_the_store_looks_up_open_runs)
class CannotLookUpOpenRuns(BadCheckpointer):
    open_infos = None


@planted(OpenRunLookupContract.test_k6_a_lookup_tells_what_open_runs_tell)
class LooksUpWhatIsSettledToo(BadCheckpointer):
    async def open_infos(self, session_id: str) -> list[RunInfo]:
        return [line for line in await self.runs() if line.session_id == session_id]


class _LooksUpOther(BadCheckpointer):
    """Changes what the lookup tells, and not what is told under the lock."""

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        lines = await super().open_infos(session_id)
        lock = self._locks.get(session_id)
        return lines if lock and lock.locked() else self.changed(lines)

    def changed(self, lines: list[RunInfo]) -> list[RunInfo]:
        return lines


@planted(OpenRunLookupContract.test_k6_a_lookup_tells_what_open_runs_tell)
class LooksUpNoCompletedRuns(_LooksUpOther):
    def changed(self, lines: list[RunInfo]) -> list[RunInfo]:
        return [line for line in lines if line.status != Status.COMPLETED]


@planted(OpenRunLookupContract.test_k6_a_lookup_tells_what_open_runs_tell)
class LooksUpOldestFirst(_LooksUpOther):
    def changed(self, lines: list[RunInfo]) -> list[RunInfo]:
        return lines[::-1]


@planted(OpenRunLookupContract.test_k6_a_lookup_tells_what_open_runs_tell)
class LooksUpNoOwner(_LooksUpOther):
    def changed(self, lines: list[RunInfo]) -> list[RunInfo]:
        for line in lines:
            line.owner = None
        return lines


@planted(OpenRunLookupContract.test_k6_a_lookup_waits_for_no_lock_and_leaves_it_alone)
class LooksUpUnderTheLock(BadCheckpointer):
    async def open_infos(self, session_id: str) -> list[RunInfo]:
        async with self.open_runs(session_id):
            return await super().open_infos(session_id)


@planted(OpenRunLookupContract.test_k6_a_lookup_takes_ids_that_look_alike_for_different_sessions)
class LooksUpAnyId(renaming(BadCheckpointer, ["open_infos"], any_id)):
    pass


for name, rename in MIX_UPS.items():
    planted(OpenRunLookupContract.test_k6_a_lookup_takes_ids_that_look_alike_for_different_sessions)(
        type(f"{name}OfALookup", (renaming(BadCheckpointer, ["open_infos"], rename),), {})
    )


@planted(SessionLookupContract.test_s1_the_store_looks_up_sessions)
class CannotLookUpASession(BadSession):
    session_info = None


@planted(SessionLookupContract.test_s1_a_lookup_tells_what_the_listing_tells)
class LooksUpAnEmptyLine(BadSession):
    async def session_info(self, session_id: str) -> SessionInfo | None:
        line = await super().session_info(session_id)
        return line and SessionInfo(session_id=session_id, segments=0, entries=0, updated_at=line.updated_at)


@planted(SessionLookupContract.test_s1_a_lookup_tells_what_the_listing_tells)
class LooksUpNoTime(BadSession):
    async def session_info(self, session_id: str) -> SessionInfo | None:
        line = await super().session_info(session_id)
        return line and SessionInfo(session_id=session_id, segments=line.segments, entries=line.entries)


for name, rename in MIX_UPS.items():
    planted(SessionLookupContract.test_s1_a_lookup_tells_what_the_listing_tells)(
        type(f"{name}OfALookup", (renaming(BadSession, ["session_info"], rename),), {})
    )


@planted(SessionLookupContract.test_s1_a_lookup_finds_no_session_that_is_not_listed_and_makes_none)
class MakesTheSessionItLooksUp(BadSession):
    async def session_info(self, session_id: str) -> SessionInfo | None:
        found = await super().session_info(session_id)
        self._sessions.setdefault(session_id, _Conversation())
        return found


@planted(SessionLookupContract.test_s1_a_lookup_finds_no_session_that_is_not_listed_and_makes_none)
class LooksUpAnySession(BadSession):
    async def session_info(self, session_id: str) -> SessionInfo | None:
        return await super().session_info(session_id) or SessionInfo(session_id=session_id, segments=0, entries=0)


@planted(SessionLookupContract.test_s1_a_lookup_finds_no_session_that_is_not_listed_and_makes_none)
class LooksUpAnySessionId(renaming(BadSession, ["session_info"], any_id)):
    pass


@planted(KeptHistoryLookupContract.test_h1_the_store_looks_up_kept_histories)
class CannotLookUpAHistory(BadCheckpointer):
    kept_info = None


@planted(KeptHistoryLookupContract.test_h1_a_lookup_tells_what_is_listed_of_a_kept_history)
class LooksUpNoHistory(BadCheckpointer):
    async def kept_info(self, run_id: str) -> RunInfo | None:
        return None


@planted(KeptHistoryLookupContract.test_h1_a_lookup_tells_what_is_listed_of_a_kept_history)
class LooksUpTheHistoryOfALivingRun(BadCheckpointer):
    async def kept_info(self, run_id: str) -> RunInfo | None:
        return await super().kept_info(run_id) or await self.info(run_id)


@planted(KeptHistoryLookupContract.test_h1_a_lookup_tells_what_is_listed_of_a_kept_history)
class LooksUpTheStatusBefore(BadCheckpointer):
    async def kept_info(self, run_id: str) -> RunInfo | None:
        line = await super().kept_info(run_id)
        if line:
            line.status = Status.COMPLETED
        return line


@planted(KeptHistoryLookupContract.test_h1_a_lookup_tells_what_is_listed_of_a_kept_history)
class LooksUpTheHistoryOfAnyId(renaming(BadCheckpointer, ["kept_info"], any_id)):
    pass
