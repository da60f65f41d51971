"""``lovia history``: what there is, or how one run or session came about."""

from __future__ import annotations

from typing import Annotated

import typer

from lovia_cli.cli.answers import Answer, Overview, RunHistory, SessionHistory
from lovia_cli.cli.driving import drive
from lovia_cli.cli.ids import Thing, kept_history, split, thing_meant
from lovia_cli.cli.options import Call
from lovia_cli.errors import RunNotFoundError, UserError
from lovia_cli.wiring import Stores, open_stores


def history(
    call: Call,
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="A run, or a session.")] = None,
    number: Annotated[int | None, typer.Option("-n", metavar="N", help="The newest N only.")] = None,
) -> Answer:
    """List runs and sessions, newest activity first; with an id, a run's saves or a session's finished runs."""
    if number is not None and number < 1:
        raise UserError("-n must be at least 1", hint="write: -n 20")
    stores = open_stores(call.settings.store)
    return drive(_overview(stores, number) if name is None else _of(stores, name, number))


COMMAND = history


async def _overview(stores: Stores, number: int | None) -> Answer:
    overview = Overview(
        store=str(stores.location), runs=await stores.runs.runs(), sessions=await stores.sessions.sessions()
    )
    if number is not None:
        overview.keep(number)
    return overview


async def _of(stores: Stores, name: str, number: int | None) -> Answer:
    store = str(stores.location)
    try:
        thing = await thing_meant(stores, name)
    except RunNotFoundError:
        deleted = await kept_history(stores, split(name)[1])
        if deleted is None:
            raise
        thing = Thing(run=deleted)
    if thing.run is None:
        kept = thing.segments if number is None else thing.segments[-number:]
        first = len(thing.segments) - len(kept) + 1
        return SessionHistory(
            store=store, session_id=thing.session_id, segments=kept, first=first, unfinished=thing.unfinished
        )
    return RunHistory(store=store, run=thing.run, saves=await stores.runs.history(thing.run.run_id, limit=number))
