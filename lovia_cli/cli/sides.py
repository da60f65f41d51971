"""The two sides of a comparison: what ``A[@STEP]`` on the command line means."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lovia_cli.cli.commands.show import PartNotFoundError
from lovia_cli.cli.ids import Meant, kept_history, run_meant, split
from lovia_cli.comparing import Fork, Trajectory
from lovia_cli.comparing.patches import patch_between
from lovia_cli.errors import RunNotFoundError, SessionNotFoundError, StoreDamagedError, UserError
from lovia_cli.wiring import Stores
from stores.closing import snapshot_of_segment
from stores.records import RunHead, RunSnapshot, Save, fold

_AT_STEP = re.compile(r"(.+)@([0-9]{1,9})", re.DOTALL)


HeadAfter = Callable[[int], Awaitable[RunHead | None]]
"""Gives a run's head at the newest save of a step, which knows what it had cost until then; None where none is kept."""


class _Found(NamedTuple):
    """A whole run, and where the heads of its steps are found: where the run itself is."""

    run: Trajectory
    head_after: HeadAfter


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
    return (source.run if other.upto is None else await _cut(source, other.upto)), other


async def _source(stores: Stores, run_id: str) -> _Found:
    """A fork's source is a run, whatever its id looks like."""
    found = await _whole(stores, f"run:{run_id}")
    if isinstance(found, _Found):
        return found
    what = f"the run {run_id!r} that it was forked from is gone"
    raise RunNotFoundError(what, where=str(stores.location), hint="name two runs") from found


async def side_meant(stores: Stores, given: str | None) -> Trajectory:
    """A run or a session's run, whole or up to ``@STEP``, else an exported file. An exact id wins over ``@STEP``."""
    found = await _whole(stores, given)
    if isinstance(found, _Found):
        return found.run
    if given is not None and (match := _AT_STEP.fullmatch(given)):
        found = await _whole(stores, match[1])
        if isinstance(found, _Found):
            return await _cut(found, int(match[2]))
    raise found


async def _whole(stores: Stores, given: str | None) -> _Found | UserError:
    """The run or the file of exactly that name, or the error that there is none."""
    if given is None:
        return await _run(stores, await run_meant(stores, None))
    try:
        kind, name = split(given)
    except UserError as error:  # a path may be what no id can be
        return _exported(Path(given)) or error
    try:
        return await _run(stores, await run_meant(stores, given))
    except (RunNotFoundError, SessionNotFoundError) as error:
        if kind != "session" and (deleted := await kept_history(stores, name)):
            return await _run(stores, Meant.of(deleted))
        return _exported(Path(given)) or error


def _exported(file: Path) -> _Found | None:
    """The run that a file has, which `lovia export` wrote; of a session its last. None where there is no file."""
    from stores.exchange import RunRecord, SessionRecord, read_export

    if not _is_file(file):
        return None
    try:
        record = read_export(file.read_bytes(), str(file))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}", hint="name a run, or a file of lovia export") from None
    except StoreDamagedError as error:
        hint = "export it again, or mend the file; a run is compared by its id, too"
        raise StoreDamagedError(error.message, where=error.where, hint=hint) from error
    if isinstance(record, SessionRecord):
        if not record.segments:
            raise RunNotFoundError(f"{file} has no run", hint="export a session in which one has ended")
        record = snapshot_of_segment(record.segments[-1], record.session_id)
    saves = record.saves if isinstance(record, RunRecord) else []
    return _Found(_with_patch(Trajectory.of(record, name=file.name), saves), partial(_exported_head, saves))


def _is_file(file: Path) -> bool:
    """False for what no file can be called, too."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


async def _exported_head(saves: Sequence[Save], step: int) -> RunHead | None:
    last = max((at for at, save in enumerate(saves, 1) if save.step == step), default=0)
    run = fold("", saves[:last])
    return run.head if run else None


def _with_patch(trajectory: Trajectory, saves: Sequence[Save]) -> Trajectory:
    """What was changed in a fork, as far as the export has its history."""
    fork = trajectory.fork
    if fork is not None and fork.save is not None and fork.save < len(saves):
        before, after = (fold(trajectory.name, saves[:count]) for count in (fork.save, fork.save + 1))
        trajectory.fork = replace(fork, patch=patch_between(before, after) if before and after else None)
    return trajectory


async def _run(stores: Stores, meant: Meant) -> _Found:
    trajectory = Trajectory.of(await _snapshot(stores, meant))
    if trajectory.fork is not None:
        trajectory.fork = await _forked(stores, meant.run_id, trajectory.fork)
    return _Found(trajectory, partial(_stored_head, stores, meant.run_id))


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


async def _cut(found: _Found, last: int) -> Trajectory:
    run = found.run
    if last > (steps := len(run.steps)):
        what = f"run {run.run_id!r}" if run.run_id else run.name
        there = f"its steps are 1 to {steps}" if steps else "it has none yet"
        raise PartNotFoundError(f"{what} has no step {last}", hint=f"{there}; see: lovia show")
    return replace(run.to_step(last, await found.head_after(last)), name=f"{run.name}@{last}")


async def _stored_head(stores: Stores, run_id: str, step: int) -> RunHead | None:
    save = next((save for save in await stores.runs.history(run_id) if save.step == step), None)
    kept = await stores.runs.snapshot(run_id, save.number) if save else None
    return kept.head if kept else None
