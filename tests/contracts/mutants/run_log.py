"""Faults of logs that are handed on, for stores/conformance/run_log.py."""

from __future__ import annotations

from stores.conformance import RunLogContract as Contract
from stores.entries import in_call_order
from stores.memory.runs import _Run, _stored
from stores.protocols import RunLease
from stores.records import Save
from tests.contracts.mutants.planting import BadCheckpointer, planted


@planted(Contract.test_h1_the_store_can_hand_a_log_on)
class CannotHandOn(BadCheckpointer):
    read_log = None


@planted(Contract.test_h1_a_log_is_every_save_as_it_was_made)
class TellsOnlyTheNewestSaves(BadCheckpointer):
    async def read_log(self, run_id: str) -> list[Save]:
        return (await super().read_log(run_id))[-50:]


@planted(Contract.test_h1_an_imported_log_is_the_run)
class ImportsOneSave(BadCheckpointer):
    """All that the run is, and none of its history."""

    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        entries = in_call_order([entry for save in saves for entry in save.entries])
        last = saves[-1]
        one = Save(number=1, step=last.step, at=last.at, event="imported", entries=entries, head=last.head)
        await super().import_log(lease, [one])


@planted(Contract.test_h1_an_imported_run_goes_on)
class LeavesTheLeaseBehind(BadCheckpointer):
    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        await super().import_log(lease, saves)
        self._leases.pop(lease.run_id)
        self._leases[lease.run_id] = type(lease)(self, lease.run_id)


@planted(Contract.test_r4_an_import_is_over_no_run_and_no_kept_history)
class ImportsOverWhatIsThere(BadCheckpointer):
    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        self._runs[lease.run_id] = _Run([_stored(save, lease.run_id) for save in saves])
