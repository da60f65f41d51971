"""Faults of a checkpointer, for stores/conformance/checkpointer.py."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

from stores.conformance import CheckpointerContract as Contract
from stores.conformance.samples import every_entry
from stores.entries import ToolResultEntry
from stores.fields import changed, field_names
from stores.memory.runs import _Run
from stores.records import CONSTANT_HEAD_FIELDS, RunHead, RunSnapshot, Save, Status, fold
from stores.values import plain
from tests.contracts.mutants.planting import (
    MIX_UPS,
    BadCheckpointer,
    any_id,
    forgetful,
    plant_family,
    planted,
    renaming,
)

METHODS = ("lease", "load", "delete", "request_cancel", "info", "settle", "history", "snapshot")


class Recording(BadCheckpointer):
    """Changes each save on its way in."""

    def _record(self, lease: Any, save: Save) -> None:
        save = deepcopy(save)
        self.change(save)
        super()._record(lease, save)

    def change(self, save: Save) -> None: ...


class Reading(BadCheckpointer):
    """Changes each snapshot on its way out."""

    def _stored(self, run_id: str) -> RunSnapshot | None:
        snapshot = super()._stored(run_id)
        if snapshot is not None:
            self.change(snapshot)
        return snapshot

    def change(self, snapshot: RunSnapshot) -> None: ...


@planted(Contract.test_r1_the_store_is_a_checkpointer)
class CannotDelete(BadCheckpointer):
    delete = None


@planted(Contract.test_r1_an_unknown_run_is_none)
class GivesAnEmptySnapshotForNone(BadCheckpointer):
    def _stored(self, run_id: str) -> RunSnapshot | None:
        return super()._stored(run_id) or RunSnapshot(run_id=run_id, head=RunHead(), entries=[])


@planted(
    Contract.test_r1_a_save_is_there_for_everybody_when_it_returns,
)
class WritesOneSaveLate(BadCheckpointer):
    def _stored(self, run_id: str) -> RunSnapshot | None:
        run = self._runs.get(run_id)
        saves = run.saves[:-1] if run and run_id in self._leases else run.saves if run else []
        return deepcopy(fold(run_id, saves))


@planted(
    Contract.test_r1_a_save_is_there_for_everybody_when_it_returns,
    Contract.test_r1_the_next_executor_goes_on_where_the_last_one_stopped,
)
class KeepsTheDataInItsHandle(BadCheckpointer):
    def handle(self) -> BadCheckpointer:
        return BadCheckpointer()


@planted(Contract.test_r1_a_run_grows_by_what_each_save_brings)
class KeepsTheNewestSaves(Reading):
    def change(self, snapshot: RunSnapshot) -> None:
        snapshot.entries = snapshot.entries[-50:]


@planted(Contract.test_r1_the_next_executor_goes_on_where_the_last_one_stopped)
class KeepsTheEntriesOfOneExecutor(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        for save in self._log(run_id):
            save.entries = []
        async with super().lease(run_id) as lease:
            yield lease


@planted(Contract.test_r1_a_save_without_entries_changes_the_head_alone)
class SkipsSavesWithoutEntries(Recording):
    def change(self, save: Save) -> None:
        if not save.entries:
            save.head = {}


@planted(Contract.test_r1_a_field_stays_until_a_save_changes_it)
class KeepsTheLastSavesFieldsOnly(Recording):
    def change(self, save: Save) -> None:
        save.head = {"state": {}, "error": None, "queued_input": []} | save.head


@planted(Contract.test_r1_a_field_stays_until_a_save_changes_it)
class TakesNoneForNoChange(Recording):
    def change(self, save: Save) -> None:
        save.head = {name: value for name, value in save.head.items() if value is not None}


@planted(Contract.test_r1_a_field_stays_until_a_save_changes_it)
class TakesEmptyForNoChange(Recording):
    def change(self, save: Save) -> None:
        save.head = {name: value for name, value in save.head.items() if value != []}


def _forgets_head(field: str, first: int) -> dict[str, Any]:
    def change(self: Any, save: Save) -> None:
        if save.number >= first:
            save.head.pop(field, None)

    return {"change": change}


HEAD_FIELDS = {spec.name for spec in fields(RunHead)} - {"save", "steps", "updated_at", "extra"}

plant_family(
    Recording,
    {f"Forgets_{name}": _forgets_head(name, 1) for name in sorted(HEAD_FIELDS)},
    Contract.test_r2_every_head_field_comes_back_from_save_1,
)
plant_family(
    Recording,
    {f"Forgets_{name}_AfterSave1": _forgets_head(name, 2) for name in sorted(HEAD_FIELDS - CONSTANT_HEAD_FIELDS)},
    Contract.test_r2_every_head_field_comes_back_from_a_later_save,
)


@planted(Contract.test_r2_number_step_and_time_of_the_last_save_are_in_the_head)
class CountsStepsBySaves(Reading):
    def change(self, snapshot: RunSnapshot) -> None:
        snapshot.head.steps = snapshot.head.save


@planted(Contract.test_r2_number_step_and_time_of_the_last_save_are_in_the_head)
class RoundsTimes(Reading):
    def change(self, snapshot: RunSnapshot) -> None:
        snapshot.head.updated_at = round(snapshot.head.updated_at or 0, 3)


def _forgets(kind: type[Any], field: str) -> dict[str, Any]:
    forget = forgetful(kind, field)
    return {"change": lambda self, save: [forget(entry) for entry in save.entries]}


plant_family(
    Recording,
    {
        f"Forgets_{kind.__name__}_{name}": _forgets(kind, name)
        for kind in dict.fromkeys(type(entry) for entry in every_entry())
        for name in field_names(kind)
    },
    Contract.test_r2_every_entry_comes_back_with_every_field,
)


@planted(Contract.test_d1_fields_of_a_later_version_are_kept)
class DropsUnknownFields(Recording):
    def change(self, save: Save) -> None:
        save.head = {name: value for name, value in save.head.items() if name in HEAD_FIELDS}


@planted(Contract.test_d2_what_no_save_told_is_at_its_default)
class GuessesTheStatus(Recording):
    def change(self, save: Save) -> None:
        save.head.setdefault("status", Status.FAILED)


@planted(Contract.test_d4_large_values_of_a_run_are_kept)
class CutsLargeOutputs(Recording):
    def change(self, save: Save) -> None:
        save.entries = [
            changed(entry, output=entry.output[:65536]) if isinstance(entry, ToolResultEntry) else entry
            for entry in save.entries
        ]


@planted(Contract.test_d4_what_json_cannot_hold_is_refused_and_nothing_changes)
class MakesWhatItCanOfEveryValue(Recording):
    def change(self, save: Save) -> None:
        save.head = plain(save.head)


@planted(Contract.test_d4_what_json_cannot_hold_is_refused_and_nothing_changes)
class StoresTheEntriesBeforeTheHead(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        if save.number > 1:
            self._log(lease.run_id)[-1].entries += save.entries
        super()._record(lease, save)


@planted(Contract.test_r1_a_save_out_of_order_is_refused_and_nothing_changes)
class TakesAnyNumber(Recording):
    def _record(self, lease: Any, save: Save) -> None:
        super()._record(lease, replace(save, number=len(self._log(lease.run_id)) + 1))


@planted(Contract.test_r1_a_save_out_of_order_is_refused_and_nothing_changes)
class StoresFirstAndRefusesLater(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        if save.number > 1 and lease.run_id in self._runs:
            self._runs[lease.run_id].saves[-1].entries += save.entries
        super()._record(lease, save)


@planted(Contract.test_r4_save_1_over_a_stored_run_replaces_all_of_it)
class RestartsWithTheOldHead(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        if save.number == 1:
            old = {name: value for stored in self._log(lease.run_id) for name, value in stored.head.items()}
            save = replace(save, head=old | save.head)
        super()._record(lease, save)


@planted(Contract.test_r4_save_1_over_a_stored_run_replaces_all_of_it)
class RestartsWithTheOldEntries(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        if save.number == 1:
            old = [entry for stored in self._log(lease.run_id) for entry in stored.entries]
            save = replace(save, entries=old + save.entries)
        super()._record(lease, save)


class _SlowLease:
    """A lease that writes through its store's ``slowly``."""

    def __init__(self, store: Any, lease: Any) -> None:
        self.store, self.lease = store, lease
        self.load, self.cancel_requested = lease.load, lease.cancel_requested

    async def save(self, save: Save) -> None:
        await self.store.slowly(self.lease, save)


class _Slow(BadCheckpointer):
    @asynccontextmanager
    async def lease(self, run_id: str) -> Any:
        async with super().lease(run_id) as lease:
            yield _SlowLease(self, lease)


@planted(Contract.test_r4_a_reader_sees_the_old_run_or_the_new_one)
class RestartsInTwoSteps(_Slow):
    async def slowly(self, lease: Any, save: Save) -> None:
        if save.number == 1:
            self._runs.pop(lease.run_id, None)
            await asyncio.sleep(0)
        await lease.save(save)


@planted(Contract.test_r9_a_cancelled_save_is_whole_or_absent)
class WritesTheHeadBeforeTheEntries(_Slow):
    async def slowly(self, lease: Any, save: Save) -> None:
        await lease.save(replace(save, entries=[]))
        await asyncio.sleep(0)
        self._log(lease.run_id)[-1].entries = save.entries


@planted(Contract.test_r3_a_stored_running_without_an_owner_reads_interrupted)
class BelievesTheRecord(BadCheckpointer):
    def _effective(self, run_id: str, status: str) -> str:
        return status


@planted(Contract.test_r3_every_other_status_reads_as_it_is_stored)
class TakesEveryRunForInterrupted(BadCheckpointer):
    def _effective(self, run_id: str, status: str) -> str:
        return Status.INTERRUPTED


@planted(Contract.test_z3_results_recorded_out_of_call_order_come_back_in_call_order)
class GivesResultsAsRecorded(Reading):
    def change(self, snapshot: RunSnapshot) -> None:
        snapshot.entries = [entry for save in self._log(snapshot.run_id) for entry in save.entries]


@planted(Contract.test_z3_a_result_is_there_while_an_earlier_call_has_none)
class HoldsResultsBackUntilAllAreThere(Reading):
    def change(self, snapshot: RunSnapshot) -> None:
        results = [entry for entry in snapshot.entries if isinstance(entry, ToolResultEntry)]
        if results and [entry.position for entry in results] != list(range(1, len(results) + 1)):
            snapshot.entries = [entry for entry in snapshot.entries if entry not in results]


@planted(Contract.test_r1_runs_are_apart)
class HasOneRunForAll(renaming(BadCheckpointer, METHODS, lambda _: "all")):
    pass


@planted(Contract.test_r4_delete_removes_this_run_only)
class DeletesEveryRun(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        self._runs.clear()
        return True


@planted(Contract.test_r4_delete_removes_this_run_only)
class DeletesNothing(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return run_id in self._runs


@planted(Contract.test_r4_delete_of_an_unknown_run_tells_so)
class DeletesWhatIsNotThere(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        await super().delete(run_id, keep_history=keep_history)
        return True


@planted(Contract.test_r4_a_deleted_run_begins_anew)
class GoesOnAfterDelete(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        if (run := self._runs.get(lease.run_id)) and run.deleted:
            run.deleted = False
        super()._record(lease, save)


@planted(Contract.test_s4_a_caller_who_changes_what_was_loaded_changes_nothing_stored)
class HandsOutItsOwnRecords(BadCheckpointer):
    def _stored(self, run_id: str) -> RunSnapshot | None:
        run = self._runs.get(run_id)
        return fold(run_id, run.saves) if run else None


@planted(Contract.test_s4_a_caller_who_changes_what_was_saved_changes_nothing_stored)
class KeepsTheCallersObjects(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        super()._record(lease, save)
        self._log(lease.run_id)[-1] = save


for name, rename in MIX_UPS.items():
    planted(Contract.test_ids_that_look_alike_are_distinct_runs)(
        type(name, (renaming(BadCheckpointer, METHODS, rename),), {})
    )


@planted(Contract.test_texts_that_are_no_ids_are_refused)
class TakesAnyId(renaming(BadCheckpointer, METHODS, any_id)):
    pass


def blank_run() -> _Run:
    """What a store that creates runs too early has stored."""
    return _Run(saves=[Save(number=1, step=0, at=0.0, event="started")])
