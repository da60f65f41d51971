"""What the commands that delete runs have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lovia_cli.cli.ids import damaged_run
from lovia_cli.wiring import Stores
from stores.lines import RunInfo, locked_error
from stores.protocols import SessionFork


def refuse_executing(runs: Iterable[RunInfo]) -> None:
    """Raise `RunLockedError` while one of the session's runs is being executed (M4)."""
    for run in runs:
        refuse_owned(run)


def refuse_damaged(runs: Iterable[RunInfo]) -> None:
    """Raise `StoreDamagedError` when one of the runs cannot be read."""
    for run in runs:
        if run.damage:
            raise damaged_run(run.run_id, run.damage)


def refuse_untold(runs: Iterable[RunInfo], session_id: str) -> None:
    """Raise `StoreDamagedError` when one of the store's runs is so damaged that it may be one of the session's.

    It would be left out, and come back with the next repair.
    """
    for run in runs:
        if run.damage and run.session_id is None:
            error = damaged_run(run.run_id, run.damage)
            error.message = f"which runs session {session_id!r} has cannot be told: {error.message}"
            raise error


def refuse_owned(run: RunInfo) -> None:
    """Raise `RunLockedError` while the run is being executed."""
    if run.owner is not None:
        raise locked_error(run.run_id, run.owner)


async def delete_runs(stores: Stores, run_ids: Iterable[str], session_id: str, *, keep_history: bool) -> None:
    """Delete the checkpoints of these runs, where they are this session's.

    None goes when one cannot be read, or is being replayed.
    """
    found = [run for run_id in run_ids if (run := await stores.runs.info(run_id))]
    refuse_damaged(found)
    own = [run for run in found if run.session_id == session_id]
    refuse_executing(own)
    for run in own:
        await stores.runs.delete(run.run_id, keep_history=keep_history)


async def gone_of(stores: Stores, run_ids: Iterable[str], session_id: str) -> list[str]:
    """Those that no run elsewhere has as its id by now: an id is free once its run is deleted."""
    lines = {run_id: await stores.runs.info(run_id) for run_id in run_ids}
    return [run_id for run_id, line in lines.items() if line is None or line.session_id == session_id]


async def drop_results(stores: Stores, run_ids: Iterable[str]) -> None:
    """Remove what was archived of these runs' outputs, but for those that a session still has: its own, or a fork's.

    What cannot be told, where a session is damaged, stays as well.
    """
    if stores.archive is None:
        return
    gone = set(run_ids)
    for session in await stores.sessions.sessions() if gone else ():
        if session.damage is not None:
            return
        gone -= {run_id for run_id in gone if await stores.sessions.has_segment(session.session_id, run_id)}
    for run_id in gone:
        await stores.archive.drop(run_id)


async def drop_session_of_fork(stores: Stores, run: RunInfo) -> None:
    """A fork's own session goes with it while nothing but what it shares is in it, and no run has begun with that (H3).

    The run itself is deleted before.
    """
    if not run.parent or run.session_id != run.run_id or not isinstance(stores.sessions, SessionFork):
        return
    async with stores.runs.open_runs(run.session_id) as unfinished:
        pass  # the session is dropped behind this, for that waits for the same lock
    if not unfinished:
        await stores.sessions.drop_fork(run.session_id)


def run_words(run_ids: Sequence[str]) -> str:
    """``run r1`` or ``runs r1, r2``."""
    return f"{'run' if len(run_ids) == 1 else 'runs'} {', '.join(run_ids)}"
