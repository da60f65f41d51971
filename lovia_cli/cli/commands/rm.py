"""``lovia rm``: delete a run or a session."""

from __future__ import annotations

from typing import Annotated

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.confirming import NOT_DONE, KeepHistory, Yes, agreed
from lovia_cli.cli.deleting import (
    delete_runs,
    drop_results,
    drop_session_of_fork,
    gone_of,
    refuse_damaged,
    refuse_executing,
    refuse_owned,
    refuse_untold,
    run_words,
)
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.ids import Thing, kept_history, split, thing_meant, vanished_session
from lovia_cli.cli.naming import Last, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument
from lovia_cli.cli.resuming import command_for
from lovia_cli.errors import RunNotFoundError
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, open_stores
from stores.errors import StoreDamagedError
from stores.lines import RunInfo
from stores.records import Status


def rm(
    call: Call,
    name: Annotated[
        str | None, Argument(metavar="ID", help="A run, or a session with all its runs.", show_default=False)
    ] = None,
    last: Last = False,
    keep_history: KeepHistory = False,
    yes: Yes = False,
) -> Answer:
    """Delete a run, or a session with all its runs, unfinished ones too.

    A finished run that is part of a session stays there: it is its checkpoint and history that go. A run that is
    being executed is refused.
    """
    return drive_stores(_rm(call, named(name, last), keep_history=keep_history, yes=yes))


COMMAND = rm


async def _rm(call: Call, name: str | None, *, keep_history: bool, yes: bool) -> Answer:
    stores = open_stores(call.settings.store)
    try:
        thing = await thing_meant(stores, name)
    except RunNotFoundError:
        if name is None:
            raise
        return await _rm_what_is_left(call, stores, name, keep_history=keep_history, yes=yes)
    except StoreDamagedError:
        if name is None or (lost := await vanished_session(stores, name)) is None:
            raise
        thing = lost
    if thing.run is None:
        return await _rm_session(call, stores, thing, keep_history=keep_history, yes=yes)
    return await _rm_run(call, stores, thing.run, keep_history=keep_history, yes=yes)


async def _rm_run(call: Call, stores: Stores, run: RunInfo, *, keep_history: bool, yes: bool) -> Answer:
    call.run_id, call.session_id = run.run_id, run.session_id
    refuse_owned(run)
    if not agreed(call, f"Delete run {run.run_id} ({run.status})?", yes=yes):
        return NOT_DONE
    await stores.runs.delete(run.run_id, keep_history=keep_history)
    await drop_session_of_fork(stores, run)
    in_session = run.session_id is not None and await stores.sessions.has_segment(run.session_id, run.run_id)
    if not keep_history:
        await drop_results(stores, [run.run_id])
    lines = [f"deleted run {run.run_id}"]
    if run.status != Status.COMPLETED:
        lines[0] += f", which was unfinished ({run.status})"
    if in_session:
        lines.append(f"its part of session {run.session_id} stays")
    if keep_history:
        lines.append(f"its history stays: {command_for('history', run.run_id, stores)}")
    return _told(stores, lines, run_id=run.run_id, session_id=run.session_id, deleted=[run.run_id])


async def _rm_session(call: Call, stores: Stores, session: Thing, *, keep_history: bool, yes: bool) -> Answer:
    """Checkpoints first: a completed run whose segment went before it would bring it back."""
    name = call.session_id = session.session_id
    refuse_executing(session.unfinished)
    lines = {run.run_id: run for run in (*session.unfinished, *await _runs_of(stores, name))}
    beside = [run for run in lines.values() if run.status != Status.COMPLETED]
    unfinished = [f"run {run.run_id} ({run.status or 'damaged'})" for run in beside]
    warning = f" ({len(unfinished):,} unfinished)" if unfinished else ""
    runs = list(dict.fromkeys([*(segment.run_id for segment in session.segments), *lines]))
    if not agreed(call, f"Delete session {name} with {counted(len(runs), 'run')}{warning}?", yes=yes):
        return NOT_DONE
    async with stores.runs.open_runs(name) as opened:
        refuse_damaged(opened)
        every = await _runs_of(stores, name)
        refuse_executing(every)
        own = [run.run_id for run in every]
        await delete_runs(stores, own, name, keep_history=keep_history)
    await stores.sessions.clear(name)
    gone = await gone_of(stores, [*runs, *own], name)
    if not keep_history:
        await drop_results(stores, gone)
    told = [f"deleted session {name}" + (f" with {run_words(gone)}" if gone else "")]
    told += [f"{run} was unfinished" for run in unfinished]
    return _told(stores, told, run_id=None, session_id=name, deleted=gone)


async def _runs_of(stores: Stores, session_id: str) -> list[RunInfo]:
    """Its runs, finished ones too: damage may have left of a session no more than these.

    Raises where damage hides whose a run is.
    """
    runs = await stores.runs.runs()
    refuse_untold(runs, session_id)
    return [run for run in runs if run.session_id == session_id]


async def _rm_what_is_left(call: Call, stores: Stores, name: str, *, keep_history: bool, yes: bool) -> Answer:
    """A run that is gone but for its history, or whose deletion was cut off. Raises as ever when there is none."""
    kind, run_id = split(name)
    kept = await kept_history(stores, run_id) if kind != "session" and not keep_history else None
    if kept and not agreed(call, f"Delete the history of run {run_id}?", yes=yes):
        return NOT_DONE
    if kind != "session" and not keep_history:
        await stores.runs.delete(run_id)
    if kept is None:
        await thing_meant(stores, name)
    return _told(stores, [f"deleted the history of run {run_id}"], run_id=run_id, session_id=None, deleted=[run_id])


def _told(stores: Stores, lines: list[str], *, run_id: str | None, session_id: str | None, deleted: list[str]) -> Told:
    data = {"store": str(stores.location), "run_id": run_id, "session_id": session_id, "deleted": deleted}
    return Told(message="\n".join(lines), data=data)
