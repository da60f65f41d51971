"""What the optional `StepEntries` promises (H2)."""

from __future__ import annotations

from stores.conformance.checks import Contract, SteppingCheckpointer, exactly, saved, write
from stores.conformance.fork import fork, forked
from stores.conformance.samples import call, result, say
from stores.entries import Entry
from stores.protocols import StepEntries
from stores.records import Save


def stepwise() -> list[Save]:
    """Three steps: two calls whose results come out of order and large, one call, an answer."""
    return [
        saved(1, say("go")),
        saved(2, call(1), call(2), step=1),
        saved(3, result(2, output="x" * 20_000), step=1),
        saved(4, result(1, output="y" * 20_000), step=1),
        saved(5, call(1, 2), step=2),
        saved(6, result(1, 2), say("more", 2), step=2),
        saved(7, say("end", 3), step=3),
    ]


class StepEntriesContract(Contract[SteppingCheckpointer]):
    """One step's entries, without those before."""

    async def test_h2_the_store_gives_steps(self) -> None:
        assert isinstance(await self.open(), StepEntries)

    async def test_h2_a_step_is_what_its_saves_have_brought_by_then(self) -> None:
        await write(await self.open(), "r", *stepwise())
        store = await self.open()
        first, second = result(1, output="y" * 20_000), result(2, output="x" * 20_000)
        expected: list[tuple[int, list[Entry]]] = [
            (0, [say("go")]),
            (1, [call(1), call(2)]),
            (1, [call(1), call(2), second]),
            (1, [call(1), call(2), first, second]),
            (5, [call(1, 2)]),
            (5, [call(1, 2), result(1, 2), say("more", 2)]),
            (8, [say("end", 3)]),
        ]
        for number, (before, entries) in enumerate(expected, 1):
            exactly(list(await store.step_entries("r", number) or ()), [before, entries])
        assert [await store.step_entries(run_id, 8) for run_id in ("r", "nobody")] == [None, None]

    async def test_h2_a_step_of_a_fork_and_one_that_a_patch_has_cut(self) -> None:
        store = await self.open()
        await write(store, "r", *stepwise())
        patched = forked(5, say("instead", 1), keep=2)
        patched.step = 1
        await fork(store, "r", "f", patched, saved(6, call(1, 2), step=2))
        store = await self.open()
        assert await store.step_entries("f", 6) == (3, [call(1, 2)])
        cut = await store.step_entries("f", 5)
        assert cut is None or cut == (2, [say("instead", 1)])
        exactly(list(await store.step_entries("f", 2) or ()), [1, [call(1), call(2)]])
