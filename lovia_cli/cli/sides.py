"""The two sides of a comparison: what ``A[@STEP]`` on the command line means."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from lovia_cli.cli.ids import Meant, kept_history, run_meant, split
from lovia_cli.cli.show import PartNotFoundError
from lovia_cli.comparing import Fork, Trajectory
from lovia_cli.comparing.patches import patch_between
from lovia_cli.engine.conversation import snapshot_of_segment
from lovia_cli.errors import RunNotFoundError, SessionNotFoundError, StoreDamagedError, UserError
from lovia_cli.wiring import Stores
from stores.records import RunHead, RunSnapshot, fold

_AT_STEP = re.compile(r"(.+)@([0-9]{1,9})", re.DOTALL)


async def sides_meant(stores: Stores, a: str | None, b: str | None) -> tuple[Trajectory, Trajectory]:
    """Both sides; None is the run with the newest save.

    With ``b`` alone, which must be a fork, the other side is the run that it was forked from.
    """
    if a is not None:
        return await side_meant(stores, a), await side_meant(stores, b)
    other = await side_meant(stores, b)
    if other.fork is None:
        raise UserError(f"run {other.name!r} is no fork: with what is it to be compared?", hint="name two runs")
    source = await _source(stores, other.fork.source)
    return (source if other.upto is None else await _cut(stores, source, other.upto)), other


async def _source(stores: Stores, run_id: str) -> Trajectory:
    """A fork's source is a run, whatever its id looks like."""
    found = await _whole(stores, f"run:{run_id}")
    if isinstance(found, Trajectory):
        return found
    what = f"the run {run_id!r} that it was forked from is gone"
    raise RunNotFoundError(what, where=str(stores.location), hint="name two runs") from found


async def side_meant(stores: Stores, given: str | None) -> Trajectory:
    """A run or a session's run, whole or up to ``@STEP``, else an exported file. An exact id wins over ``@STEP``."""
    found = await _whole(stores, given)
    if isinstance(found, Trajectory):
        return found
    if given is not None and (match := _AT_STEP.fullmatch(given)):
        found = await _whole(stores, match[1])
        if isinstance(found, Trajectory):
            return await _cut(stores, found, int(match[2]))
    raise found


async def _whole(stores: Stores, given: str | None) -> Trajectory | UserError:
    """The run or the file of exactly that name, or the error that there is none."""
    try:
        return await _run(stores, await run_meant(stores, given))
    except (RunNotFoundError, SessionNotFoundError) as error:
        if given is None:
            return error
        kind, name = split(given)
        if kind != "session" and (deleted := await kept_history(stores, name)):
            return await _run(stores, Meant.of(deleted))
        return _exported(Path(given)) or error


def _exported(file: Path) -> Trajectory | None:
    """The run that a file has, which `lovia export` wrote; of a session its last. None where there is no file."""
    from stores.exchange import SessionRecord, read_export

    if not file.is_file():
        return None
    try:
        record = read_export(file.read_bytes(), str(file))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}", hint="name a run, or a file of lovia export") from None
    if not isinstance(record, SessionRecord):
        return _with_patch(Trajectory.of(record, name=file.name), record)
    if not record.segments:
        raise RunNotFoundError(f"{file} has no run", hint="export a session in which one has ended")
    return Trajectory.of(snapshot_of_segment(record.segments[-1], record.session_id), name=file.name)


def _with_patch(trajectory: Trajectory, record: RunSnapshot) -> Trajectory:
    """What was changed in a fork, as far as the export has its history."""
    from stores.exchange import RunRecord

    fork, saves = trajectory.fork, record.saves if isinstance(record, RunRecord) else []
    if fork is not None and fork.save is not None and fork.save < len(saves):
        before, after = (fold(record.run_id, saves[:count]) for count in (fork.save, fork.save + 1))
        trajectory.fork = replace(fork, patch=patch_between(before, after) if before and after else None)
    return trajectory


async def _run(stores: Stores, meant: Meant) -> Trajectory:
    trajectory = Trajectory.of(await _snapshot(stores, meant))
    if trajectory.fork is not None:
        trajectory.fork = await _forked(stores, meant.run_id, trajectory.fork)
    return trajectory


async def _snapshot(stores: Stores, meant: Meant) -> RunSnapshot:
    """The run as it is stored; of one whose checkpoint is gone, as its session or its kept history has it."""
    if snapshot := await stores.runs.load(meant.run_id):
        return snapshot
    if meant.session_id is not None:
        for segment in await stores.sessions.segments(meant.session_id):
            if segment.run_id == meant.run_id:
                return snapshot_of_segment(segment, meant.session_id)
    for newest in await stores.runs.history(meant.run_id, limit=1):
        if snapshot := await stores.runs.snapshot(meant.run_id, newest.number):
            return snapshot
    raise StoreDamagedError(f"run {meant.run_id!r} cannot be read", where=str(stores.location))


async def _forked(stores: Stores, run_id: str, fork: Fork) -> Fork:
    """With what was changed: a fork's own history has the save that it comes from, and behind it the changed one."""
    if fork.save is None:
        return fork
    before, after = [await stores.runs.snapshot(run_id, number) for number in (fork.save, fork.save + 1)]
    return replace(fork, patch=patch_between(before, after) if before and after else None)


async def _cut(stores: Stores, trajectory: Trajectory, last: int) -> Trajectory:
    if last > (steps := len(trajectory.steps)):
        what = f"run {trajectory.run_id!r}" if trajectory.run_id else trajectory.name
        there = f"its steps are 1 to {steps}" if steps else "it has none yet"
        raise PartNotFoundError(f"{what} has no step {last}", hint=f"{there}; see: lovia show")
    cut = trajectory.to_step(last, await _head_after(stores, trajectory.run_id, last))
    return replace(cut, name=f"{trajectory.name}@{last}")


async def _head_after(stores: Stores, run_id: str | None, step: int) -> RunHead | None:
    """The run's head at the newest save of that step, which knows what it had cost until then."""
    saves = await stores.runs.history(run_id) if run_id is not None else []
    save = next((save for save in saves if save.step == step), None)
    kept = await stores.runs.snapshot(run_id, save.number) if run_id is not None and save else None
    return kept.head if kept else None
