"""Faults of a listing of runs, for stores/conformance/index.py."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from typing import Any

from stores.conformance import RunIndexContract as Contract
from stores.errors import RunNotFoundError
from stores.lines import RunInfo
from stores.memory.runs import _Run
from stores.records import Save, Status
from tests.contracts.mutants.checkpointer import METHODS, BelievesTheRecord, TakesAnyId
from tests.contracts.mutants.lease import CreatesTheRunItLeases
from tests.contracts.mutants.planting import MIX_UPS, BadCheckpointer, plant_family, planted, renaming

_UNUSUAL = {"owner", "damage"}

planted(Contract.test_r3_leasing_or_reading_an_unknown_run_lists_nothing)(CreatesTheRunItLeases)
planted(Contract.test_r3_a_running_run_without_an_owner_is_listed_as_interrupted)(BelievesTheRecord)
planted(Contract.test_texts_that_are_no_ids_are_refused_and_no_run_is_listed)(TakesAnyId)


@planted(Contract.test_the_store_is_a_run_index)
class CannotSettle(BadCheckpointer):
    settle = None


@planted(Contract.test_r3_an_empty_store_lists_nothing)
class RefusesUnknownRuns(BadCheckpointer):
    async def info(self, run_id: str) -> RunInfo | None:
        if run_id not in self._runs:
            raise RunNotFoundError("no such run")
        return await super().info(run_id)


class _Listing(BadCheckpointer):
    """Changes each line on its way out."""

    async def info(self, run_id: str) -> RunInfo | None:
        line = await super().info(run_id)
        return None if line is None else replace(line, **self.changed(line))

    def changed(self, line: RunInfo) -> dict[str, Any]:
        return {}


def _does_not_tell(name: str) -> dict[str, Any]:
    blank = getattr(RunInfo(run_id="", status=""), name)
    return {"changed": lambda self, line: {name: blank}}


plant_family(
    _Listing,
    {f"DoesNotTell_{spec.name}": _does_not_tell(spec.name) for spec in fields(RunInfo) if spec.name not in _UNUSUAL},
    Contract.test_r3_a_line_tells_what_the_head_says,
)


@planted(Contract.test_r3_a_line_follows_the_last_save)
class TellsOfTheFirstSave(BadCheckpointer):
    async def info(self, run_id: str) -> RunInfo | None:
        run = self._runs[run_id]
        newest, run.head = run.head, _Run(run.saves[:1]).head
        try:
            return await super().info(run_id)
        finally:
            run.head = newest


@planted(Contract.test_r11_a_run_being_executed_is_listed_with_its_owner)
class ListsNoOwner(_Listing):
    def changed(self, line: RunInfo) -> dict[str, Any]:
        return {"owner": None}


class _Ordering(BadCheckpointer):
    async def runs(self) -> list[RunInfo]:
        return self.ordered(await super().runs())

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        return self.ordered(await super().open_infos(session_id))

    def ordered(self, lines: list[RunInfo]) -> list[RunInfo]:
        return lines


@planted(
    Contract.test_r3_runs_stand_newest_activity_first,
    Contract.test_k6_open_runs_are_the_unfinished_ones_of_the_session_updated_last_first,
)
class ListsOldestFirst(_Ordering):
    def ordered(self, lines: list[RunInfo]) -> list[RunInfo]:
        return lines[::-1]


@planted(Contract.test_r3_runs_stand_newest_activity_first)
class ListsByName(_Ordering):
    def ordered(self, lines: list[RunInfo]) -> list[RunInfo]:
        return sorted(lines, key=lambda line: line.run_id)


@planted(
    Contract.test_r3_runs_stand_newest_activity_first,
    Contract.test_k6_open_runs_are_the_unfinished_ones_of_the_session_updated_last_first,
)
class ListsInOrderOfCreation(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        order = dict.fromkeys([*self._runs, lease.run_id])
        super()._record(lease, save)
        self._runs = {run_id: self._runs[run_id] for run_id in order}


@planted(Contract.test_r3_a_deleted_run_is_not_listed)
class ListsRunsWithHistoryLeft(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return run_id in self._runs if keep_history else await super().delete(run_id)


for name, rename in MIX_UPS.items():
    planted(Contract.test_ids_that_look_alike_are_distinct_runs_of_the_listing)(
        type(name, (renaming(BadCheckpointer, METHODS, rename),), {})
    )
    planted(Contract.test_ids_that_look_alike_are_distinct_sessions_of_runs)(
        type(
            f"{name}OfSessions",
            (BadCheckpointer,),
            {
                "_is_open": lambda self, run, session_id, rename=rename: (
                    run.head.session_id is not None and rename(run.head.session_id) == rename(session_id)
                )
            },
        )
    )


class _Choosing(BadCheckpointer):
    """Lists the open runs that ``lists`` lets through."""

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        return [line for line in await super().open_infos(session_id) if self.lists(line)]

    def lists(self, line: RunInfo) -> bool:
        return True


@planted(Contract.test_k6_open_runs_are_the_unfinished_ones_of_the_session_updated_last_first)
class LeavesFailedRunsOut(_Choosing):
    def lists(self, line: RunInfo) -> bool:
        return line.status != Status.FAILED


@planted(Contract.test_k6_open_runs_are_the_unfinished_ones_of_the_session_updated_last_first)
class ListsTheRunsOfEverySession(BadCheckpointer):
    def _is_open(self, run: _Run, session_id: str) -> bool:
        return not run.settled


@planted(Contract.test_k6_a_run_is_open_from_its_first_save)
class LeavesRunsBeingExecutedOut(_Choosing):
    def lists(self, line: RunInfo) -> bool:
        return line.owner is None


@planted(
    Contract.test_k6_a_run_is_open_from_its_first_save,
    Contract.test_k6_a_run_begun_under_the_lock_is_seen_by_the_next,
)
class ListsFromTheSecondSave(_Choosing):
    def lists(self, line: RunInfo) -> bool:
        return line.save > 1


@planted(Contract.test_r7_a_completed_run_is_open_until_it_is_settled)
class LeavesCompletedRunsOut(_Choosing):
    def lists(self, line: RunInfo) -> bool:
        return line.status != Status.COMPLETED


@planted(Contract.test_r7_a_completed_run_is_open_until_it_is_settled)
class NeverSettles(BadCheckpointer):
    async def settle(self, run_id: str) -> None:
        return None


@planted(Contract.test_r7_settle_changes_this_run_only_and_nothing_else_of_it)
class SettlesEveryRun(BadCheckpointer):
    async def settle(self, run_id: str) -> None:
        for other in self._runs:
            await super().settle(other)


@planted(Contract.test_r7_settle_changes_this_run_only_and_nothing_else_of_it)
class SavesThatItSettled(BadCheckpointer):
    async def settle(self, run_id: str) -> None:
        await super().settle(run_id)
        self._runs[run_id].add(Save(number=3, step=1, at=2000.0, event="completed"))


@planted(Contract.test_r4_a_restarted_run_is_open_again)
class SettlesForGood(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        settled = lease.run_id in self._runs and self._runs[lease.run_id].settled
        super()._record(lease, save)
        self._runs[lease.run_id].settled = settled


@planted(Contract.test_r4_a_run_restarted_in_another_session_is_open_there_alone)
class KeepsTheSessionOfTheFirstStart(BadCheckpointer):
    def __init__(self) -> None:
        super().__init__()
        self.started: dict[str, set[Any]] = {}

    def _record(self, lease: Any, save: Save) -> None:
        super()._record(lease, save)
        self.started.setdefault(lease.run_id, set()).add(save.head.get("session_id"))

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        return [line for line in await self.runs() if session_id in self.started.get(line.run_id, set())]


@planted(Contract.test_k6_the_session_is_locked_while_its_open_runs_are_looked_at)
class DoesNotLock(BadCheckpointer):
    @asynccontextmanager
    async def open_runs(self, session_id: str) -> Any:
        async with super().open_runs(session_id) as lines:
            pass
        yield lines


@planted(Contract.test_k6_the_session_is_locked_while_its_open_runs_are_looked_at)
class LocksItsOwnHandleOnly(BadCheckpointer):
    def handle(self) -> BadCheckpointer:
        other = BadCheckpointer()
        other._runs, other._leases = self._runs, self._leases
        return other


@planted(Contract.test_k6_sessions_are_locked_apart)
class HasOneLockForAllSessions(BadCheckpointer):
    @asynccontextmanager
    async def open_runs(self, session_id: str) -> Any:
        async with super().open_runs("all") as lines:
            yield lines


@planted(Contract.test_k6_the_lock_ends_with_an_exception)
class KeepsTheLockAfterAnError(BadCheckpointer):
    @asynccontextmanager
    async def open_runs(self, session_id: str) -> Any:
        async with super().open_runs(session_id) as lines:
            try:
                yield lines
            except Exception:
                self.kept = _unreleasable(self._locks[session_id])
                raise


@planted(Contract.test_k6_a_waiter_that_is_cancelled_leaves_the_lock_to_others)
class GivesTheLockToACancelledWaiter(BadCheckpointer):
    @asynccontextmanager
    async def open_runs(self, session_id: str) -> Any:
        try:
            async with super().open_runs(session_id) as lines:
                yield lines
        except asyncio.CancelledError:
            self.kept = _unreleasable(self._locks[session_id])
            raise


@planted(Contract.test_k6_a_task_that_is_cancelled_on_its_way_to_the_lock_keeps_nothing)
class TakesTheLockBeforeItIsReady(BadCheckpointer):
    @asynccontextmanager
    async def open_runs(self, session_id: str) -> Any:
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        if not lock.locked():
            await lock.acquire()
            self.kept = lock
            await asyncio.sleep(0)
            lock.release()
        async with super().open_runs(session_id) as lines:
            yield lines


def _unreleasable(lock: Any) -> asyncio.Lock:
    lock.release = lambda: None
    return lock
