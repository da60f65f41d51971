"""Faults of a lease, for stores/conformance/lease.py."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

from stores.conformance import LeaseContract as Contract
from stores.errors import LoviaError, RunLockedError
from stores.lines import Owner
from stores.memory.runs import _Lease
from stores.records import RunSnapshot, Save, Status
from tests.contracts.mutants.checkpointer import METHODS, blank_run
from tests.contracts.mutants.planting import MIX_UPS, BadCheckpointer, planted, renaming


@planted(
    Contract.test_r11_a_second_executor_is_refused_and_told_the_owner,
    Contract.test_r11_a_second_handle_is_refused_too,
    Contract.test_r11_of_many_tasks_one_gets_the_run,
    Contract.test_r11_a_refused_second_executor_leaves_the_first_one_at_work,
)
class LetsEverybodyIn(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        yield self._leases.setdefault(run_id, _Lease(self, run_id))


@planted(Contract.test_r11_a_second_executor_is_refused_and_told_the_owner)
class DoesNotNameTheOwner(BadCheckpointer):
    def _refuse_leased(self, run_id: str) -> None:
        if run_id in self._leases:
            raise RunLockedError("the run is being executed")


@planted(
    Contract.test_r11_a_second_handle_is_refused_too,
    Contract.test_r11_a_run_being_executed_is_not_deleted,
    Contract.test_z9_a_cancel_request_reaches_the_owner_and_names_it,
    Contract.test_r11_the_run_can_be_read_while_it_is_executed,
)
class KeepsLeasesInItsHandle(BadCheckpointer):
    def handle(self) -> BadCheckpointer:
        other = BadCheckpointer()
        other._runs = self._runs
        return other


@planted(Contract.test_r11_of_many_tasks_one_gets_the_run)
class LooksFirstAndTakesLater(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        self._refuse_leased(run_id)
        await asyncio.sleep(0)
        lease = self._leases[run_id] = _Lease(self, run_id)
        try:
            yield lease
        finally:
            self._leases.pop(run_id, None)


@planted(Contract.test_r11_other_runs_can_be_executed_meanwhile)
class HasOneLeaseForAllRuns(BadCheckpointer):
    def _refuse_leased(self, run_id: str) -> None:
        for other in list(self._leases):
            super()._refuse_leased(other)


for name, rename in MIX_UPS.items():
    planted(Contract.test_r11_ids_that_look_alike_have_leases_of_their_own)(
        type(name, (renaming(BadCheckpointer, METHODS, rename),), {})
    )


@planted(Contract.test_r11_a_refused_second_executor_leaves_the_first_one_at_work)
class FreesTheLeaseItRefuses(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        try:
            self._refuse_leased(run_id)
            self._leases[run_id] = _Lease(self, run_id)
            yield self._leases[run_id]
        finally:
            self._leases.pop(run_id, None)


class _Keeping(BadCheckpointer):
    """Lets go of a lease only when ``lets_go`` says so."""

    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        self._refuse_leased(run_id)
        lease = self._leases[run_id] = _Lease(self, run_id)
        error: BaseException | None = None
        try:
            yield lease
        except BaseException as caught:
            error = caught
            raise
        finally:
            if self.lets_go(error):
                del self._leases[run_id]

    def lets_go(self, error: BaseException | None) -> bool:
        return True


@planted(Contract.test_r11_the_lease_ends_with_its_context)
class NeverLetsGo(_Keeping):
    def lets_go(self, error: BaseException | None) -> bool:
        return False


@planted(Contract.test_r11_the_lease_ends_with_an_exception)
class LetsGoOnSuccess(_Keeping):
    def lets_go(self, error: BaseException | None) -> bool:
        return error is None


@planted(Contract.test_r11_the_lease_ends_with_a_cancelled_task)
class LetsGoUnlessCancelled(_Keeping):
    def lets_go(self, error: BaseException | None) -> bool:
        return not isinstance(error, asyncio.CancelledError)


@planted(Contract.test_r11_a_task_that_is_cancelled_on_its_way_to_the_lease_keeps_nothing)
class TakesTheLeaseBeforeItIsReady(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        self._refuse_leased(run_id)
        self._leases[run_id] = _Lease(self, run_id)
        await asyncio.sleep(0)  # a lock is taken in a thread, and its taker is gone
        try:
            yield self._leases[run_id]
        finally:
            del self._leases[run_id]


@planted(Contract.test_r11_a_refused_save_ends_with_the_lease)
class KeepsTheLeaseOfARefusedSave(_Keeping):
    def lets_go(self, error: BaseException | None) -> bool:
        return not isinstance(error, LoviaError)


@planted(Contract.test_r11_an_executor_whose_lease_has_ended_writes_nothing_more)
class LetsAFormerOwnerWrite(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        held = self._leases.get(lease.run_id)
        self._leases[lease.run_id] = lease
        try:
            super()._record(lease, save)
        finally:
            if held is None:
                del self._leases[lease.run_id]
            else:
                self._leases[lease.run_id] = held


@planted(Contract.test_r11_leasing_an_unknown_run_creates_nothing)
class CreatesTheRunItLeases(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        async with super().lease(run_id) as lease:
            self._runs.setdefault(run_id, blank_run())
            yield lease


@planted(Contract.test_r11_the_run_can_be_read_while_it_is_executed)
class HidesRunsBeingExecuted(BadCheckpointer):
    async def load(self, run_id: str) -> RunSnapshot | None:
        return None if run_id in self._leases else await super().load(run_id)


@planted(Contract.test_r11_the_run_can_be_read_while_it_is_executed)
class TakesEveryRunningRunForInterrupted(BadCheckpointer):
    def _effective(self, run_id: str, status: str) -> str:
        return Status.INTERRUPTED if status == Status.RUNNING else status


@planted(Contract.test_r11_a_run_being_executed_is_not_deleted)
class DeletesRunsBeingExecuted(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return self._runs.pop(run_id, None) is not None


@planted(Contract.test_r11_a_run_being_executed_is_not_deleted)
class DeletesFirstAndRefusesLater(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        self._runs.pop(run_id, None)
        return await super().delete(run_id, keep_history=keep_history)


@planted(Contract.test_z9_a_cancel_request_reaches_the_owner_and_names_it)
class LosesCancelRequests(BadCheckpointer):
    async def request_cancel(self, run_id: str) -> Owner | None:
        lease = self._leases.get(run_id)
        return lease.owner if lease else None


@planted(Contract.test_z9_a_cancel_request_reaches_the_owner_and_names_it)
class NamesNobody(BadCheckpointer):
    async def request_cancel(self, run_id: str) -> Owner | None:
        await super().request_cancel(run_id)
        return None


@planted(Contract.test_z9_a_cancel_request_reaches_no_other_run)
class CancelsEveryRun(BadCheckpointer):
    async def request_cancel(self, run_id: str) -> Owner | None:
        for lease in self._leases.values():
            lease.cancelled = True
        return await super().request_cancel(run_id)


class _Remembering(BadCheckpointer):
    """Keeps cancel requests by run, for whoever executes it."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: set[str] = set()

    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        async with super().lease(run_id) as lease:
            lease.cancelled = run_id in self.requests
            yield lease


@planted(Contract.test_z9_a_cancel_request_outlives_no_owner)
class KeepsRequestsForTheNextOwner(_Remembering):
    async def request_cancel(self, run_id: str) -> Owner | None:
        if owner := await super().request_cancel(run_id):
            self.requests.add(run_id)
        return owner


@planted(Contract.test_z9_without_an_owner_nothing_is_asked_and_nothing_left_behind)
class LeavesRequestsWithoutAnOwner(_Remembering):
    async def request_cancel(self, run_id: str) -> Owner | None:
        owner = await super().request_cancel(run_id)
        if owner is None:
            self.requests.add(run_id)
        return owner


@planted(Contract.test_z9_without_an_owner_nothing_is_asked_and_nothing_left_behind)
class NamesAnOwnerThatIsNone(BadCheckpointer):
    async def request_cancel(self, run_id: str) -> Owner | None:
        return await super().request_cancel(run_id) or Owner(pid=0, host="")


@planted(Contract.test_z9_a_cancel_request_changes_nothing_stored)
class SavesTheRequest(BadCheckpointer):
    async def request_cancel(self, run_id: str) -> Owner | None:
        self._log(run_id)[-1].head["stop"] = {"reason": "cancel"}
        return await super().request_cancel(run_id)
