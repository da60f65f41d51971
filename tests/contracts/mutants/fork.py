"""Faults of forks of runs, for stores/conformance/fork.py."""

from __future__ import annotations

from typing import Any

from stores.conformance import ForkContract as Contract
from stores.conformance import HistoryContract, StepEntriesContract
from stores.entries import Entry
from stores.errors import StoreError
from stores.memory.runs import _Run
from stores.protocols import RunLease
from stores.records import RunHead, Save, fold
from tests.contracts.mutants.planting import BadCheckpointer, planted


@planted(HistoryContract.test_h1_a_ring_is_the_newest_saves)
class KeepsEverySave(BadCheckpointer):
    def _run(self, run_id: str) -> _Run:
        run = super()._run(run_id)
        run.head.history_limit = None
        return run


@planted(Contract.test_h2_the_store_can_fork)
class CannotFork(BadCheckpointer):
    fork = None


class _Moments(BadCheckpointer):
    """Gives another moment than it is asked for."""

    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        head = await super().moment(run_id, step=step, save=save)
        return self.changed(run_id, head) if head else None

    def changed(self, run_id: str, head: RunHead) -> RunHead | None:
        return head


@planted(Contract.test_h2_every_save_is_a_moment_with_its_head)
class TellsTheHeadOfToday(_Moments):
    def changed(self, run_id: str, head: RunHead) -> RunHead | None:
        snapshot = fold(run_id, self._log(run_id))
        return snapshot.head if snapshot else None


@planted(Contract.test_h2_every_save_is_a_moment_with_its_head)
class KnowsOnlyWhatTheSaveSet(_Moments):
    def changed(self, run_id: str, head: RunHead) -> RunHead | None:
        snapshot = fold(run_id, self._log(run_id)[head.save - 1 : head.save])
        return snapshot.head if snapshot else None


@planted(Contract.test_h2_a_step_is_its_newest_save)
class TakesTheFirstSaveOfAStep(BadCheckpointer):
    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        first = next((one.number for one in self._log(run_id) if one.step == step), save)
        return await super().moment(run_id, save=first)


@planted(Contract.test_h2_what_history_has_not_is_no_moment)
class TakesTheStepBefore(BadCheckpointer):
    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        steps = [one.step for one in self._log(run_id) if step is not None and one.step <= step]
        return await super().moment(run_id, step=max(steps, default=step), save=save)


class _Forks(BadCheckpointer):
    """Spoils the new run once it is there."""

    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        await super().fork(lease, run_id, forked)
        self.spoil(lease.run_id, run_id, forked)  # type: ignore[attr-defined] # the lease is this store's own

    def spoil(self, new_id: str, run_id: str, forked: Save) -> None:
        """Nothing wrong here."""


@planted(
    Contract.test_h2_a_fork_is_what_the_source_was_and_goes_on_by_itself,
    Contract.test_h2_a_fork_that_grows_is_read_as_it_was_written,
    Contract.test_h2_a_fork_can_be_forked,
)
class SharesOneLog(_Forks):
    """What one of the two writes is in both."""

    def spoil(self, new_id: str, run_id: str, forked: Save) -> None:
        log = self._runs[run_id].saves
        log[forked.number - 1 :] = [*self._runs[new_id].saves[forked.number - 1 :], *log[forked.number :]]
        self._runs[new_id].saves = log


@planted(Contract.test_h2_the_source_is_left_as_it_was)
class ForksWithinTheSource(_Forks):
    def spoil(self, new_id: str, run_id: str, forked: Save) -> None:
        self._runs[run_id].saves.append(self._runs[new_id].saves[-1])


@planted(
    Contract.test_h2_a_patch_keeps_a_part_of_the_transcript,
    Contract.test_h2_the_patch_counts_entries_in_call_order,
)
class KeepsTheWholeTranscript(_Forks):
    def spoil(self, new_id: str, run_id: str, forked: Save) -> None:
        self._runs[new_id].saves[-1].keep = None


@planted(Contract.test_h2_the_patch_counts_entries_in_call_order)
class CountsEntriesAsTheyWereRecorded(_Forks):
    def spoil(self, new_id: str, run_id: str, forked: Save) -> None:
        saves = self._runs[new_id].saves
        recorded = [entry for save in saves[:-1] for entry in save.entries][: forked.keep]
        self._runs[new_id].saves = [
            Save(number=save.number, step=save.step, at=save.at, event=save.event, head=save.head) for save in saves
        ]
        self._runs[new_id].saves[-1].entries = [*recorded, *forked.entries[1:]]


@planted(Contract.test_h2_a_fork_outlives_whatever_becomes_of_its_source)
class DiesWithItsSource(_Forks):
    def __init__(self) -> None:
        super().__init__()
        self._children: dict[str, list[str]] = {}

    def spoil(self, new_id: str, run_id: str, forked: Save) -> None:
        self._children.setdefault(run_id, []).append(new_id)

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        for child in self._children.pop(run_id, ()):
            self._runs.pop(child, None)
        return await super().delete(run_id, keep_history=keep_history)


@planted(Contract.test_h1_a_kept_history_can_be_forked)
class ForksNoDeletedRun(BadCheckpointer):
    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        if self._runs[run_id].deleted:
            raise StoreError("gone")
        await super().fork(lease, run_id, forked)


@planted(Contract.test_h2_an_id_that_is_taken_is_refused)
class ForksOverWhatIsThere(BadCheckpointer):
    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        source = self._runs[run_id]
        self._runs.pop(lease.run_id, None)  # type: ignore[attr-defined] # the lease is this store's own
        self._runs.setdefault(run_id, source)
        await super().fork(lease, run_id, forked)


@planted(Contract.test_h2_a_save_that_is_not_kept_cannot_be_forked)
class ForksWhatTheRingHasDropped(BadCheckpointer):
    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> Any:
        log = self._log(run_id)
        snapshot = fold(run_id, log[:save])
        return snapshot.head if snapshot and 1 <= (save or 1) <= len(log) else None


@planted(StepEntriesContract.test_h2_the_store_gives_steps)
class GivesNoSteps(BadCheckpointer):
    step_entries = None


@planted(StepEntriesContract.test_h2_a_step_is_what_its_saves_have_brought_by_then)
class GivesAStepAsItWasRecorded(BadCheckpointer):
    async def step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        found = await super().step_entries(run_id, save)
        step = self._log(run_id)[save - 1].step if found else 0
        own = [one for one in self._log(run_id)[:save] if one.step == step]
        return found and (found[0], [entry for one in own for entry in one.entries])


@planted(StepEntriesContract.test_h2_a_step_of_a_fork_and_one_that_a_patch_has_cut)
class CountsWhatAPatchHasCut(BadCheckpointer):
    async def step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        found = await super().step_entries(run_id, save)
        step = self._log(run_id)[save - 1].step if found else 0
        before = [one for one in self._log(run_id)[:save] if one.step != step]
        return found and (sum(len(one.entries) for one in before), found[1])
