"""What the optional `Fork` promises (H2, H3)."""

from __future__ import annotations

from stores.conformance.checks import Contract, ForkingCheckpointer, exactly, refused, saved, write
from stores.conformance.history import eventful
from stores.conformance.samples import call, full_head, result, say
from stores.entries import JSON, Entry
from stores.errors import RunExistsError, RunNotFoundError
from stores.protocols import Fork
from stores.records import RunHead, Save, fold

LONG = 60
"""Saves of a run that is longer than a store keeps in one piece."""


def long_run() -> list[Save]:
    """A run of two saves a step, its head fields set early, late, once and again."""
    first: dict[str, JSON] = {**full_head(), "history_limit": None, "status": "running"}
    saves = [saved(1, say("hello"), **first)]
    for n in range(2, LONG + 1):
        saves.append(saved(n, say(f"{n}" * 900, step=n // 2), step=n // 2, usage={"requests": n}))
        if n % 25 == 0:
            saves[-1].head["state"] = {"n": n}
    return saves


def forked(number: int, *entries: Entry, keep: int | None = None, **head: JSON) -> Save:
    """The save that forks, behind save ``number - 1``."""
    parent = {"run_id": "r", "save": number - 1, "step": 0}
    save = saved(number, *entries, event="forked", status="interrupted", parent=parent, **head)
    save.keep, save.step = keep, (number - 1) // 2
    return save


async def fork(store: ForkingCheckpointer, source: str, new_id: str, *saves: Save) -> None:
    """Take the new run, fork, go on with the saves behind, let it go."""
    async with store.lease(new_id) as lease:
        await store.fork(lease, source, saves[0])
        for save in saves[1:]:
            await lease.save(save)


def head_of(saves: list[Save], count: int) -> RunHead:
    snapshot = fold("r", saves[:count])
    assert snapshot is not None
    return snapshot.head


class ForkContract(Contract[ForkingCheckpointer]):
    """A run begins where another stood, and neither disturbs the other."""

    async def test_h2_the_store_can_fork(self) -> None:
        assert isinstance(await self.open(), Fork)

    async def test_h2_every_save_is_a_moment_with_its_head(self) -> None:
        saves = long_run()
        await write(await self.open(), "r", *saves)
        store = await self.open()
        for count in (1, 2, 11, 12, 13, 26, 27, 59, 60):
            exactly(await store.moment("r", save=count), head_of(saves, count))
        exactly(await store.moment("r"), head_of(saves, LONG))

    async def test_h2_a_step_is_its_newest_save(self) -> None:
        saves = long_run()
        await write(await self.open(), "r", *saves)
        store = await self.open()
        for step, number in ((0, 1), (1, 3), (2, 5), (14, 29), (29, 59), (30, 60)):
            exactly(await store.moment("r", step=step), head_of(saves, number))

    async def test_h2_what_history_has_not_is_no_moment(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, say("go")), saved(2, step=1), saved(3, step=3))
        assert [await store.moment("r", step=step) for step in (-1, 2, 4)] == [None] * 3
        assert [await store.moment("r", save=number) for number in (-1, 0, 4)] == [None] * 3
        assert await store.moment("nobody") is None

    async def test_h2_a_fork_is_what_the_source_was_and_goes_on_by_itself(self) -> None:
        source = long_run()
        await write(await self.open(), "r", *source)
        for cut in (1, 2, 11, 12, 30, 59, 60):
            own = [forked(cut + 1, session_id=None), saved(cut + 2, say("on", step=99), step=99)]
            await fork(await self.open(), "r", f"f{cut}", *own)
            store = await self.open()
            expected = fold(f"f{cut}", [*source[:cut], *own])
            assert expected is not None
            expected.head.status = "interrupted"
            exactly(await store.load(f"f{cut}"), expected)
            exactly([row.number for row in await store.history(f"f{cut}")], list(range(cut + 2, 0, -1)))
            exactly(await store.snapshot(f"f{cut}", cut), fold(f"f{cut}", source[:cut]))
        exactly(await (await self.open()).history("r", limit=1), (await store.history("r"))[:1])
        assert (await store.history("r"))[0].number == LONG

    async def test_h2_a_fork_that_grows_is_read_as_it_was_written(self) -> None:
        source = long_run()
        await write(await self.open(), "r", *source)
        own = [forked(31), *(saved(n, say(f"own {n}" * 200, step=n), step=n, context={"n": n}) for n in range(32, 90))]
        for part in (own[:1], own[1:2], own[2:40], own[40:]):
            if part[0].event == "forked":
                await fork(await self.open(), "r", "f", *part)
            else:
                await write(await self.open(), "f", *part)
        store = await self.open()
        whole = [*source[:30], *own]
        expected = fold("f", whole)
        assert expected is not None
        exactly(await store.load("f"), expected)
        for count in (5, 30, 31, 32, 60, 88):
            exactly(await store.snapshot("f", count), fold("f", whole[:count]))
            exactly(await store.moment("f", save=count), head_of(whole, count))

    async def test_h2_a_patch_keeps_a_part_of_the_transcript(self) -> None:
        source = eventful()
        await write(await self.open(), "r", *source)
        for keep in (0, 1, 3, 4, 5):
            own = [forked(7, say(f"instead {keep}", step=1), keep=keep), saved(8, say("on", step=2), step=2)]
            await fork(await self.open(), "r", f"f{keep}", *own)
            store = await self.open()
            expected = fold(f"f{keep}", [*source[:6], *own])
            assert expected is not None
            assert expected.entries[keep:] == [say(f"instead {keep}", step=1), say("on", step=2)]
            expected.head.status = "interrupted"
            exactly(await store.load(f"f{keep}"), expected)
            rows = await store.history(f"f{keep}")
            exactly([row.entries for row in rows[:3]], [keep + 2, keep + 1, 5])

    async def test_h2_the_patch_counts_entries_in_call_order(self) -> None:
        source = [saved(1, say("go")), saved(2, call(1), call(2), step=1)]
        source += [saved(3, result(2, output="second"), step=1), saved(4, result(1, output="first"), step=1)]
        await write(await self.open(), "r", *source)
        patched = [result(1, output="other"), result(2, output="second")]
        await fork(await self.open(), "r", "f", forked(5, *patched, keep=3))
        snapshot = await (await self.open()).load("f")
        assert snapshot is not None
        exactly(snapshot.entries, [say("go"), call(1), call(2), *patched])

    async def test_h2_a_fork_can_be_forked(self) -> None:
        whole = long_run()
        await write(await self.open(), "r", *whole)
        source = "r"
        for depth, cut in enumerate((40, 50, 45, 20, 35, 13), 1):
            own = [forked(cut + 1, state={"depth": depth})]
            own += [saved(n, say(f"{depth}" * 700, step=n), step=n) for n in range(cut + 2, cut + 22)]
            await fork(await self.open(), source, f"f{depth}", *own)
            whole, source = [*whole[:cut], *own], f"f{depth}"
            expected = fold(source, whole)
            assert expected is not None
            expected.head.status = "interrupted"
            exactly(await (await self.open()).load(source), expected)
            exactly(await (await self.open()).moment(source, save=cut - 1), head_of(whole, cut - 1))

    async def test_h2_the_source_is_left_as_it_was(self) -> None:
        source = long_run()
        await write(await self.open(), "r", *source)
        store = await self.open()
        before = [await store.load("r"), await store.history("r")]
        await fork(store, "r", "f", forked(31, say("instead"), keep=2), saved(32, say("on"), step=99))
        exactly([await (await self.open()).load("r"), await store.history("r")], before)

    async def test_h2_a_fork_outlives_whatever_becomes_of_its_source(self) -> None:
        for fate in ("delete", "keep_history", "both", "restart", "go on"):
            store = await self.open()
            source = long_run()
            await write(store, f"r {fate}", *source)
            own = [forked(51), saved(52, say("on", step=60), step=60, status="failed")]
            await fork(store, f"r {fate}", f"f {fate}", *own)
            await fork(store, f"f {fate}", f"g {fate}", forked(53))
            if fate == "restart":
                await write(store, f"r {fate}", saved(1, say("again")))
                await store.delete(f"r {fate}")
            elif fate == "go on":
                await write(store, f"r {fate}", *(saved(n, say("x" * 5000)) for n in range(LONG + 1, LONG + 20)))
            else:
                await store.delete(f"r {fate}", keep_history=fate != "delete")
                if fate == "both":
                    await store.delete(f"r {fate}")
            store = await self.open()
            exactly(await store.load(f"f {fate}"), fold(f"f {fate}", [*source[:50], *own]))
            await store.delete(f"f {fate}")
            exactly(await (await self.open()).load(f"g {fate}"), fold(f"g {fate}", [*source[:50], *own, forked(53)]))

    async def test_h1_a_kept_history_can_be_forked(self) -> None:
        store = await self.open()
        await write(store, "r", *long_run())
        await store.delete("r", keep_history=True)
        await fork(store, "r", "f", forked(31))
        exactly(await (await self.open()).load("f"), fold("f", [*long_run()[:30], forked(31)]))

    async def test_h2_an_id_that_is_taken_is_refused(self) -> None:
        store = await self.open()
        await write(store, "r", *eventful())
        for run_id in ("there", "gone"):
            await write(store, run_id, saved(1, say("mine"), status="failed"))
        await store.delete("gone", keep_history=True)
        for taken in ("there", "gone", "r"):
            with refused(RunExistsError):
                await fork(store, "r", taken, forked(3))
        exactly(await (await self.open()).load("there"), fold("there", [saved(1, say("mine"), status="failed")]))
        assert len(await store.history("gone")) == 1

    async def test_h2_a_save_that_is_not_kept_cannot_be_forked(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, history_limit=2), saved(2), saved(3))
        for source, number in (("r", 5), ("r", 2), ("nobody", 2)):
            with refused(RunNotFoundError):
                await fork(store, source, "f", forked(number))
        assert await store.load("f") is None
        await fork(store, "r", "f", forked(3))
        assert await store.load("f") is not None
