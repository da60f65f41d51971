"""Faults of forks of sessions, for stores/conformance/session_fork.py."""

from __future__ import annotations

from copy import deepcopy

from stores.conformance import SessionForkContract as Contract
from stores.errors import StoreError
from stores.memory.sessions import _Conversation
from stores.protocols import ResultStore
from tests.contracts.mutants.planting import BadSession, planted


class _Prepares(BadSession):
    """Spoils what a fork was prepared to begin with."""

    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        await super().fork_session(session_id, new_id, upto=upto)
        if new_id in self._prepared:
            self.spoil(new_id, self._prepared[new_id])

    def spoil(self, new_id: str, fork: _Conversation) -> None:
        """Nothing wrong here."""


@planted(Contract.test_h3_the_store_can_fork_sessions)
class CannotForkSessions(BadSession):
    fork_session = None


@planted(
    Contract.test_h3_a_fork_begins_with_what_stood_up_to_a_run,
    Contract.test_h3_both_go_on_by_themselves,
    Contract.test_h3_a_fork_can_be_forked,
)
class BeginsWithOneRunLess(_Prepares):
    def spoil(self, new_id: str, fork: _Conversation) -> None:
        fork.segments.popitem()
        fork.shared.pop()


@planted(Contract.test_h3_nobody_sees_a_fork_before_it_is_confirmed)
class ShowsWhatIsPrepared(_Prepares):
    def spoil(self, new_id: str, fork: _Conversation) -> None:
        self._sessions[new_id] = fork


@planted(Contract.test_h3_a_fork_that_was_never_confirmed_is_in_nobodys_way)
class KeepsTheFirstPreparation(BadSession):
    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        if new_id not in self._prepared:
            await super().fork_session(session_id, new_id, upto=upto)


@planted(Contract.test_h3_confirming_what_was_not_prepared_makes_nothing)
class ConfirmsAnything(BadSession):
    async def confirm_fork(self, new_id: str) -> None:
        if new_id not in self._prepared:
            raise StoreError("not prepared")
        await super().confirm_fork(new_id)


@planted(Contract.test_s3_a_shared_segment_is_stored_already)
class ForgetsTheChecksums(_Prepares):
    def spoil(self, new_id: str, fork: _Conversation) -> None:
        fork.checksums.clear()


@planted(Contract.test_h3_a_taken_id_is_refused)
class ForksOverASession(BadSession):
    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        self._sessions.pop(new_id if new_id != session_id else "", None)
        await super().fork_session(session_id, new_id, upto=upto)


@planted(Contract.test_h3_what_a_rewind_has_taken_cannot_be_begun_with)
class TakesWhatIsLeft(BadSession):
    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        there = list(self._conversation(session_id or "x").segments)
        await super().fork_session(session_id, new_id, upto=upto if upto in there else there[0] if there else None)


@planted(Contract.test_h3_a_session_never_begins_with_what_itself_held)
class ForgetsWhoseSegmentsItShares(_Prepares):
    def spoil(self, new_id: str, fork: _Conversation) -> None:
        fork.shared = ["nobody"] * len(fork.shared)


@planted(Contract.test_h3_a_fork_outlives_whatever_becomes_of_its_source)
class TrimsWhatForksRead(BadSession):
    async def trim_tool_results(
        self, session_id: str, *, keep_chars: int = 400, keep_runs: int = 1, archive: ResultStore | None = None
    ) -> int:
        for other in self._sessions:
            if other != session_id and self._sessions[other].shared:
                self._sessions[other].shared.clear()
                await super().trim_tool_results(other, keep_chars=keep_chars, keep_runs=keep_runs, archive=archive)
        return await super().trim_tool_results(session_id, keep_chars=keep_chars, keep_runs=keep_runs, archive=archive)


@planted(Contract.test_h3_a_fork_outlives_whatever_becomes_of_its_source)
class ClearsItsForks(BadSession):
    async def clear(self, session_id: str) -> None:
        for other in [name for name, one in self._sessions.items() if one.shared]:
            self._sessions.pop(other)
        await super().clear(session_id)


@planted(
    Contract.test_h3_a_rewind_into_what_is_shared_is_refused,
    Contract.test_h3_a_trim_leaves_what_is_shared,
    Contract.test_h3_a_fork_without_a_segment_of_its_own_can_be_dropped,
)
class TakesSharedForItsOwn(_Prepares):
    def spoil(self, new_id: str, fork: _Conversation) -> None:
        fork.segments = deepcopy(fork.segments)
        fork.shared.clear()
