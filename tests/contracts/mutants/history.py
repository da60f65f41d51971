"""Faults of a history, for stores/conformance/history.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stores.conformance import HistoryContract as Contract
from stores.errors import RunNotFoundError
from stores.lines import SaveInfo
from stores.records import RunHead, RunSnapshot, Save, fold
from tests.contracts.mutants.checkpointer import HEAD_FIELDS
from tests.contracts.mutants.planting import BadCheckpointer, plant_family, planted


class _Rows(BadCheckpointer):
    """Changes the rows on their way out."""

    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        return self.changed(await super().history(run_id))[:limit]

    def changed(self, rows: list[SaveInfo]) -> list[SaveInfo]:
        return rows


@planted(Contract.test_h1_the_store_keeps_history)
class GivesNoSnapshot(BadCheckpointer):
    snapshot = None


@planted(Contract.test_h1_an_unknown_run_has_none)
class RefusesUnknownRuns(BadCheckpointer):
    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        if run_id not in self._runs:
            raise RunNotFoundError("no such run")
        return await super().history(run_id, limit=limit)


@planted(Contract.test_h1_rows_stand_newest_first_and_tell_of_each_save)
class ListsOldestFirst(_Rows):
    def changed(self, rows: list[SaveInfo]) -> list[SaveInfo]:
        return rows[::-1]


@planted(Contract.test_h1_rows_stand_newest_first_and_tell_of_each_save)
class TellsTheStatusOfToday(_Rows):
    def changed(self, rows: list[SaveInfo]) -> list[SaveInfo]:
        return [replace(row, status=rows[0].status) for row in rows]


@planted(Contract.test_h1_rows_stand_newest_first_and_tell_of_each_save)
class CountsNewEntriesOnly(_Rows):
    def changed(self, rows: list[SaveInfo]) -> list[SaveInfo]:
        before = [row.entries for row in rows[1:]] + [0]
        return [replace(row, entries=row.entries - less) for row, less in zip(rows, before, strict=True)]


def _lies(name: str, lie: Any) -> dict[str, Any]:
    return {"changed": lambda self, rows: [replace(row, **{name: lie}) for row in rows]}


plant_family(
    _Rows,
    {
        f"DoesNotTell_{name}": _lies(name, lie)
        for name, lie in {"number": 0, "step": 0, "at": 0.0, "event": "", "info": {}}.items()
    },
    Contract.test_h1_rows_stand_newest_first_and_tell_of_each_save,
)


@planted(Contract.test_h1_a_limit_keeps_the_newest_rows)
class KeepsTheOldestRows(BadCheckpointer):
    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        rows = await super().history(run_id)
        return rows if limit is None else rows[max(len(rows) - limit, 0) :]


@planted(Contract.test_h1_a_limit_keeps_the_newest_rows)
class TakesNoRowsForNoLimit(BadCheckpointer):
    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        return await super().history(run_id, limit=limit or None)


@planted(
    Contract.test_h1_each_save_gives_its_full_snapshot,
    Contract.test_h1_each_save_of_a_long_run_gives_its_snapshot,
)
class GivesTheNewestSnapshot(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return self._stored(run_id)


@planted(Contract.test_h1_each_save_gives_its_full_snapshot)
class GivesTheHeadOfToday(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        then, now = await super().snapshot(run_id, save), self._stored(run_id)
        return then and now and replace(then, head=now.head)


@planted(Contract.test_h1_each_save_gives_its_full_snapshot)
class GivesOneSaveLess(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return await super().snapshot(run_id, save - 1)


@planted(Contract.test_h1_each_save_of_a_long_run_gives_its_snapshot)
class KeepsTheNewest50(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return await super().snapshot(run_id, save) if save > len(self._log(run_id)) - 50 else None


def _forgets(name: str) -> dict[str, Any]:
    async def snapshot(self: Any, run_id: str, save: int) -> RunSnapshot | None:
        then = await BadCheckpointer.snapshot(self, run_id, save)
        return then and replace(then, head=replace(then.head, **{name: getattr(RunHead(), name)}))

    return {"snapshot": snapshot}


plant_family(
    BadCheckpointer,
    {f"Forgets_{name}": _forgets(name) for name in sorted(HEAD_FIELDS | {"extra"})},
    Contract.test_h1_every_field_and_entry_is_kept_in_an_earlier_save,
)


@planted(Contract.test_h1_a_save_that_is_not_kept_is_none)
class TakesTheNearestSave(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return await super().snapshot(run_id, min(max(save, 1), len(self._log(run_id))))


@planted(Contract.test_h1_a_save_that_is_not_kept_is_none)
class CountsFromTheEnd(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return fold(run_id, self._log(run_id)[:save])


@planted(Contract.test_h1_history_grows_while_the_run_is_executed)
class TellsNothingOfRunsBeingExecuted(BadCheckpointer):
    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        return [] if run_id in self._leases else await super().history(run_id, limit=limit)


@planted(Contract.test_h1_a_deleted_run_takes_its_history_along)
class AlwaysKeepsHistory(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return await super().delete(run_id, keep_history=True)


@planted(Contract.test_h1_a_deleted_run_can_leave_its_history)
class NeverKeepsHistory(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return await super().delete(run_id)


@planted(Contract.test_h1_a_deleted_run_can_leave_its_history)
class KeepsTheRunWithItsHistory(BadCheckpointer):
    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        return run_id in self._runs if keep_history else await super().delete(run_id)


@planted(Contract.test_r4_a_restart_discards_history)
class KeepsHistoryThroughARestart(BadCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        old = self._log(lease.run_id)
        super()._record(lease, save)
        if save.number == 1:
            self._log(lease.run_id).extend(old[1:])


@planted(Contract.test_s4_a_caller_who_changes_what_was_read_changes_no_history)
class HandsOutItsOwnRecords(BadCheckpointer):
    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        return fold(run_id, self._log(run_id)[:save])


@planted(Contract.test_s4_a_caller_who_changes_what_was_read_changes_no_history)
class HandsOutItsOwnRows(BadCheckpointer):
    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        rows = await super().history(run_id, limit=limit)
        by_number = {save.number: save for save in self._log(run_id)}
        return [replace(row, info=by_number[row.number].info) for row in rows]
