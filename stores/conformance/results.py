"""What every `ResultStore` promises (M2)."""

from __future__ import annotations

from stores.conformance.checks import Contract, exactly
from stores.conformance.samples import BIG, IDS, TEXT
from stores.protocols import ResultStore
from stores.references import ResultRef

REF = ResultRef("r", 2, 1)


class ResultStoreContract(Contract[ResultStore]):
    """Outputs by run, step and position."""

    async def test_m2_the_store_keeps_results(self) -> None:
        assert isinstance(await self.open(), ResultStore)

    async def test_m2_an_unknown_reference_has_no_output(self) -> None:
        store = await self.open()
        assert await store.get(REF) is None
        await store.drop("r")
        assert await store.get(REF) is None

    async def test_m2_every_output_comes_back_as_it_was(self) -> None:
        store = await self.open()
        outputs = ["", " ", TEXT, BIG, '{"json": "\\u00e9"}', "\r\n"]
        for position, output in enumerate(outputs, 1):
            assert await store.put(ResultRef("r", 1, position), output) is True
        again = await self.open()
        exactly([await again.get(ResultRef("r", 1, n)) for n in range(1, len(outputs) + 1)], outputs)

    async def test_m2_runs_steps_and_positions_are_apart(self) -> None:
        store = await self.open()
        places = [ResultRef(run, step, n) for run in ("r", "R", "r/1.1") for step in (0, 1, 11) for n in (1, 11)]
        for place in places:
            await store.put(place, str(place))
        exactly([await store.get(place) for place in places], [str(place) for place in places])

    async def test_m2_the_same_output_again_is_there_already(self) -> None:
        store = await self.open()
        assert [await store.put(REF, "rain"), await (await self.open()).put(REF, "rain")] == [True, True]
        assert await store.get(REF) == "rain"

    async def test_m2_another_output_under_a_reference_is_not_taken(self) -> None:
        store = await self.open()
        await store.put(REF, "rain")
        assert await (await self.open()).put(REF, "sun") is False
        assert await store.get(REF) == "rain"

    async def test_m2_drop_removes_this_run_only(self) -> None:
        store = await self.open()
        for run_id in ("r", "r2", "r/2.1"):
            for step in (1, 2):
                await store.put(ResultRef(run_id, step, 1), run_id)
        await store.drop("r")
        store = await self.open()
        left = [await store.get(ResultRef(run_id, step, 1)) for run_id in ("r", "r2", "r/2.1") for step in (1, 2)]
        assert left == [None, None, "r2", "r2", "r/2.1", "r/2.1"]

    async def test_m2_what_was_dropped_can_be_put_again(self) -> None:
        store = await self.open()
        await store.put(REF, "rain")
        await store.drop("r")
        assert await store.put(REF, "sun") is True
        assert await store.get(REF) == "sun"

    async def test_ids_that_look_alike_are_distinct_runs_of_the_archive(self) -> None:
        store = await self.open()
        for number, run_id in enumerate(IDS):
            await store.put(ResultRef(run_id, 1, 1), str(number))
        again = await self.open()
        exactly([await again.get(ResultRef(run_id, 1, 1)) for run_id in IDS], [str(n) for n in range(len(IDS))])
