"""Faults of an archive of tool outputs, for stores/conformance/results.py."""

from __future__ import annotations

from dataclasses import replace

from stores.conformance import ResultStoreContract as Contract
from stores.errors import StoreDamagedError
from stores.memory import InMemoryResultStore
from stores.references import ResultRef
from tests.contracts.mutants.planting import MIX_UPS, planted


class BadArchive(InMemoryResultStore):
    """An archive to plant a fault in."""

    def handle(self) -> BadArchive:
        return self


@planted(Contract.test_m2_the_store_keeps_results)
class CannotDrop(BadArchive):
    drop = None


@planted(Contract.test_m2_an_unknown_reference_has_no_output)
class GivesNothingForUnknown(BadArchive):
    async def get(self, reference: ResultRef) -> str | None:
        return await super().get(reference) or ""


@planted(Contract.test_m2_an_unknown_reference_has_no_output)
class CannotDropTheUnknown(BadArchive):
    async def drop(self, run_id: str) -> None:
        if not any(reference.run_id == run_id for reference in self._outputs):
            raise StoreDamagedError("no such run")
        await super().drop(run_id)


@planted(Contract.test_m2_every_output_comes_back_as_it_was)
class StripsOutputs(BadArchive):
    async def put(self, reference: ResultRef, output: str) -> bool:
        return await super().put(reference, output.strip())


@planted(Contract.test_m2_every_output_comes_back_as_it_was)
class ForgetsEmptyOutputs(BadArchive):
    async def get(self, reference: ResultRef) -> str | None:
        return await super().get(reference) or None


class _Misplacing(BadArchive):
    def place(self, reference: ResultRef) -> ResultRef:
        return reference

    async def put(self, reference: ResultRef, output: str) -> bool:
        self._outputs[self.place(reference)] = output
        return True

    async def get(self, reference: ResultRef) -> str | None:
        return await super().get(self.place(reference))


@planted(Contract.test_m2_runs_steps_and_positions_are_apart)
class MixesStepsAndPositions(_Misplacing):
    def place(self, reference: ResultRef) -> ResultRef:
        return ResultRef(reference.run_id, int(f"{reference.step}{reference.position}"), 1)


@planted(Contract.test_m2_runs_steps_and_positions_are_apart)
class MixesSubAgentsIn(_Misplacing):
    def place(self, reference: ResultRef) -> ResultRef:
        return replace(reference, run_id=reference.run_id.partition("/")[0])


@planted(Contract.test_m2_the_same_output_again_is_there_already)
class RefusesToPutTwice(BadArchive):
    async def put(self, reference: ResultRef, output: str) -> bool:
        return reference not in self._outputs and await super().put(reference, output)


@planted(Contract.test_m2_another_output_under_a_reference_is_not_taken)
class LetsTheLastOutputWin(_Misplacing):
    pass


@planted(Contract.test_m2_another_output_under_a_reference_is_not_taken)
class SaysThatItTookAnotherOutput(BadArchive):
    async def put(self, reference: ResultRef, output: str) -> bool:
        return await super().put(reference, output) or True


@planted(Contract.test_m2_drop_removes_this_run_only, Contract.test_m2_what_was_dropped_can_be_put_again)
class KeepsWhatIsDropped(BadArchive):
    async def drop(self, run_id: str) -> None:
        """Nothing."""


@planted(Contract.test_m2_drop_removes_this_run_only)
class DropsByPrefix(BadArchive):
    async def drop(self, run_id: str) -> None:
        self._outputs = {key: text for key, text in self._outputs.items() if not key.run_id.startswith(run_id)}


for name, rename in MIX_UPS.items():
    planted(Contract.test_ids_that_look_alike_are_distinct_runs_of_the_archive)(
        type(
            name,
            (_Misplacing,),
            {"place": lambda self, key, rename=rename: ResultRef(rename(key.run_id), key.step, key.position)},
        )
    )
