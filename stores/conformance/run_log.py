"""What the optional `RunLog` promises: a run handed on with all its saves."""

from __future__ import annotations

from stores.conformance.checks import Contract, LoggingCheckpointer, exactly, refused, saved, write
from stores.conformance.fork import long_run
from stores.conformance.samples import call, result, say, text
from stores.errors import RunExistsError
from stores.protocols import RunIndex, RunLog
from stores.records import Save, fold


def out_of_order() -> list[Save]:
    """A run whose results came in another order than their calls, and whose transcript was cut later."""
    saves = [
        saved(1, say("hello")),
        saved(2, call(1), call(2), step=1),
        saved(3, result(2, output="second"), step=1, event="result", info={"call": "1.2"}),
        saved(4, result(1, output="first"), step=1, event="result", info={"call": "1.1"}),
        saved(5, text("instead", step=1), step=1, event="forked", status="interrupted"),
    ]
    saves[-1].keep = 1
    return saves


async def take_in(store: LoggingCheckpointer, run_id: str, saves: list[Save]) -> None:
    """Take the run, import, let it go."""
    async with store.lease(run_id) as lease:
        await store.import_log(lease, saves)


class RunLogContract(Contract[LoggingCheckpointer]):
    """A run's saves come out as they went in, and go in as one."""

    async def test_h1_the_store_can_hand_a_log_on(self) -> None:
        assert isinstance(await self.open(), RunLog)

    async def test_h1_a_log_is_every_save_as_it_was_made(self) -> None:
        for name, saves in (("long", long_run()), ("odd", out_of_order())):
            await write(await self.open(), name, *saves)
            exactly(await (await self.open()).read_log(name), saves)
        exactly(await (await self.open()).read_log("nosuch"), [])

    async def test_h1_an_imported_log_is_the_run(self) -> None:
        for name, saves in (("long", long_run()), ("odd", out_of_order())):
            await take_in(await self.open(), name, saves)
            store = await self.open()
            exactly(await store.read_log(name), saves)
            loaded, whole = await store.load(name), fold(name, saves)
            assert loaded is not None
            assert whole is not None
            exactly(loaded.entries, whole.entries)
            exactly([row.number for row in await store.history(name)], [save.number for save in reversed(saves)])
            exactly(await store.snapshot(name, 2), fold(name, saves[:2]))
            if isinstance(store, RunIndex):
                info = await store.info(name)
                assert info is not None
                exactly((info.save, info.steps), (saves[-1].number, saves[-1].step))

    async def test_h1_an_imported_run_goes_on(self) -> None:
        store = await self.open()
        async with store.lease("r") as lease:
            await store.import_log(lease, long_run())
            await lease.save(saved(len(long_run()) + 1, text("more", step=31), step=31))
        again = await self.open()
        async with again.lease("r") as lease:
            await lease.save(saved(len(long_run()) + 2, text("still more", step=32), step=32))
        exactly([save.number for save in await again.read_log("r")], list(range(1, len(long_run()) + 3)))

    async def test_r4_an_import_is_over_no_run_and_no_kept_history(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, say("mine")))
        with refused(RunExistsError):
            await take_in(store, "r", out_of_order())
        exactly(await store.read_log("r"), [saved(1, say("mine"))])
        await store.delete("r", keep_history=True)
        with refused(RunExistsError):
            await take_in(store, "r", out_of_order())
        await store.delete("r")
        await take_in(store, "r", out_of_order())
        exactly(await (await self.open()).read_log("r"), out_of_order())
