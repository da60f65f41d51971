"""``lovia history``: what there is, or how one run or session came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lovia_cli.cli.answers import Answer
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.filters import STATUSES, since_given, status_given
from lovia_cli.cli.ids import Thing, kept_history, split, thing_meant
from lovia_cli.cli.listed import Overview, RunHistory, SessionHistory
from lovia_cli.cli.naming import Last, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.cli.trees import RunTrees, trees
from lovia_cli.errors import RunNotFoundError, UserError
from lovia_cli.wiring import Stores, open_stores
from stores.lines import RunInfo
from stores.records import Status


@dataclass(slots=True, frozen=True)
class Wanted:
    """Which lines are wanted, of those that there are; None is no wish."""

    status: str | None = None
    since: float | None = None
    number: int | None = None

    def run(self, run: RunInfo) -> bool:
        return self.status in (None, run.status) and self.at(run.updated_at)

    def at(self, seconds: float | None) -> bool:
        return self.since is None or (seconds is not None and seconds >= self.since)


def history(
    call: Call,
    name: Annotated[str | None, Argument(metavar="[ID]", help="A run, or a session.", show_default=False)] = None,
    last: Last = False,
    status: Annotated[
        str | None, Option("--status", metavar="|".join(STATUSES), help="Runs or saves of that status only.")
    ] = None,
    since: Annotated[
        str | None, Option("--since", metavar="7d|2h|DATE", help="What has been saved since then only.")
    ] = None,
    number: Annotated[int | None, Option("-n", metavar="N", help="The newest N only.")] = None,
    tree: Annotated[bool, Option("--tree", help="Runs, each fork under the one it comes from.")] = False,
) -> Answer:
    """List runs and sessions, newest activity first; with an id, a run's saves or a session's finished runs."""
    if number is not None and number < 1:
        raise UserError("-n must be at least 1", hint="write: -n 20")
    wanted = Wanted(status_given(status), since_given(since), number)
    if name is not None or last:
        name = named(name, last)
    stores = open_stores(call.settings.store)
    if tree:
        return drive_stores(_tree(call, stores, name, last, wanted))
    if name is not None or last:
        return drive_stores(_of(call, stores, name, wanted))
    return drive_stores(_overview(call, stores, wanted))


COMMAND = history


async def _overview(call: Call, stores: Stores, wanted: Wanted) -> Answer:
    """A session has no status of its own: asked for one, only runs are listed."""
    sessions = await stores.sessions.sessions() if wanted.status is None else []
    runs = await stores.runs.runs()
    call.secrets.learn_from(*(run.config for run in runs))
    overview = Overview(
        store=str(stores.location),
        runs=[run for run in runs if wanted.run(run)],
        sessions=[session for session in sessions if wanted.at(session.updated_at)],
        filtered=(wanted.status, wanted.since) != (None, None),
    )
    if wanted.number is not None:
        overview.keep(wanted.number)
    return overview


async def _tree(call: Call, stores: Stores, name: str | None, last: bool, wanted: Wanted) -> Answer:
    """All runs as trees, or one run with its forks."""
    root = None
    if name is not None or last:
        thing = await thing_meant(stores, name)
        if thing.run is None:
            raise UserError("a session is no run and has no forks", hint="name one of its runs, or leave the id out")
        root = thing.run.run_id
    rows = trees(await stores.runs.runs(), root)
    call.secrets.learn_from(*(run.config for _, run in rows))
    kept = [(depth, run) for depth, run in rows if wanted.run(run)]
    return RunTrees(store=str(stores.location), runs=kept[: wanted.number], filtered=len(kept) < len(rows))


async def _of(call: Call, stores: Stores, name: str | None, wanted: Wanted) -> Answer:
    try:
        thing = await thing_meant(stores, name)
    except RunNotFoundError:
        deleted = await kept_history(stores, split(name)[1]) if name is not None else None
        if deleted is None:
            raise
        thing = Thing(run=deleted)
    call.secrets.learn_from(*thing.configs())
    return _of_session(stores, thing, wanted) if thing.run is None else await _of_run(stores, thing.run, wanted)


def _of_session(stores: Stores, session: Thing, wanted: Wanted) -> Answer:
    """Its finished runs stand in a row: those since then, and the newest of them, are its end."""
    segments = session.segments if wanted.status in (None, Status.COMPLETED) else []
    kept = [segment for segment in segments if wanted.at(segment.finished_at)]
    kept = kept if wanted.number is None else kept[-wanted.number :]
    runs = [run for run in session.unfinished if wanted.run(run)]
    return SessionHistory(
        store=str(stores.location),
        session_id=session.session_id,
        segments=kept,
        first=len(session.segments) - len(kept) + 1,
        unfinished=[run for run in runs if run.status != Status.COMPLETED],
        outside=[run for run in runs if run.status == Status.COMPLETED],
    )


async def _of_run(stores: Stores, run: RunInfo, wanted: Wanted) -> Answer:
    plain = wanted.status is None and wanted.since is None
    saves = await stores.runs.history(run.run_id, limit=wanted.number if plain else None)
    kept = [save for save in saves if wanted.status in (None, save.status) and wanted.at(save.at)]
    return RunHistory(store=str(stores.location), run=run, saves=kept[: wanted.number])
