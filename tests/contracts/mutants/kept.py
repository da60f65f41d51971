"""Faults of a checkpointer that finds kept histories, for stores/conformance/kept.py."""

from __future__ import annotations

from stores.conformance import KeptHistoriesContract as Contract
from stores.lines import RunInfo
from tests.contracts.mutants.planting import BadCheckpointer, planted


@planted(Contract.test_h1_the_store_finds_kept_histories)
class CannotFindHistories(BadCheckpointer):
    kept_histories = None


@planted(
    Contract.test_h1_only_a_deleted_run_whose_history_is_kept_is_listed,
    Contract.test_h1_kept_histories_stand_newest_activity_first,
)
class ListsNoHistory(BadCheckpointer):
    async def kept_histories(self) -> list[RunInfo]:
        return []


@planted(Contract.test_h1_only_a_deleted_run_whose_history_is_kept_is_listed)
class ListsRunsThatAreThere(BadCheckpointer):
    async def kept_histories(self) -> list[RunInfo]:
        return [*await super().kept_histories(), *await self.runs()]


@planted(Contract.test_h1_only_a_deleted_run_whose_history_is_kept_is_listed)
class KeepsEveryHistory(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return await super().delete(run_id, keep_history=True)


@planted(Contract.test_h1_only_a_deleted_run_whose_history_is_kept_is_listed)
class TellsTheStatusBefore(BadCheckpointer):
    async def kept_histories(self) -> list[RunInfo]:
        lines = await super().kept_histories()
        for line in lines:
            line.status = self._runs[line.run_id].saves[-1].head.get("status", "running")
        return lines


@planted(Contract.test_h1_kept_histories_stand_newest_activity_first)
class ListsHistoriesOldestFirst(BadCheckpointer):
    async def kept_histories(self) -> list[RunInfo]:
        return (await super().kept_histories())[::-1]


@planted(Contract.test_h1_another_delete_removes_a_kept_history)
class KeepsAHistoryForEver(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        run = self._runs.get(run_id)
        return not (run and run.deleted) and await super().delete(run_id, keep_history=keep_history)


@planted(Contract.test_h1_a_run_that_begins_anew_has_no_kept_history)
class KeepsTheHistoryOfALivingRun(BadCheckpointer):
    def __init__(self) -> None:
        super().__init__()
        self._kept: list[RunInfo] = []

    async def kept_histories(self) -> list[RunInfo]:
        self._kept = self._kept or await super().kept_histories()
        return self._kept

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        existed = await super().delete(run_id, keep_history=keep_history)
        await self.kept_histories()
        return existed
