"""A session whose whole folder is gone, made again from the completed checkpoints that name it (S5, R7).

They stand in order of completion (K6), none before the one that its history ended with. What nothing holds any more is
named and not made up. The folder is prepared in ``quarantine`` and comes into its place as a whole, so that a repair
that is cut off leaves it to the next.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stores import codec
from stores.errors import StoreError
from stores.file.disk import TEMP, Folder, remove_folder, write_error
from stores.file.doctor.check_marks import parts_of_forks
from stores.file.doctor.forked_sessions import base_of_marks
from stores.file.doctor.lost_segments import segment_of_run, untrimmed
from stores.file.doctor.problem import Problem
from stores.file.markers import write_marker
from stores.file.names import name_of
from stores.file.places import read_segment
from stores.file.readers import is_marked
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.segments import Log, shared_places
from stores.file.session_json import SESSION, beginning, fresh_session
from stores.file.snapshots import read_snapshot
from stores.file.vanished import refs_of
from stores.ids import as_words
from stores.records import RunSnapshot, Status


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of the session: its completed runs in their order, its unfinished ones, and what it began with."""

    session_id: str
    completed: list[RunSnapshot]
    unfinished: list[Ref]
    base: dict[str, Any] | None
    gone: list[str]


def problems_of_vanished(root: Root, session_id: str) -> list[Problem]:
    """That the folder is gone, and what its runs can give of it."""
    with root.open_folder("sessions", name_of(session_id)) as folder:
        refs = [] if folder else refs_of(root, session_id)
    if not refs:
        return []
    file = root.part("sessions", name_of(session_id))
    what = f"the folder of session {session_id!r} is gone, and named by {_words([ref.run_id for ref in refs])}"
    try:
        left = _left(root, session_id, refs)
    except StoreError as error:
        words = as_words(f"session:{session_id}")
        outlook = f"it cannot be made again: {error.message}; where it is not wanted: lovia rm {words}"
        return [Problem(file, what, outlook=outlook)]
    return [Problem(file, what, partial(_make, root, left), outlook=f"it can be {_source(left)}")]


def _left(root: Root, session_id: str, refs: list[Ref]) -> _Left:
    """Raises where a run, or what a forked session began with, cannot be read: it would be left out."""
    runs = {ref.run_id: run for ref in refs if (run := read_snapshot(root, ref.run_id))}
    completed = _in_order([run for run in runs.values() if run.status == Status.COMPLETED])
    unfinished = [ref for ref in refs if ref.run_id not in {run.run_id for run in completed}]
    base = base_of_marks(root, name_of(session_id)) if is_marked(root, name_of(session_id)) else None
    known = {run.run_id: run.head.history_upto for run in runs.values()}
    gone = {upto for upto in known.values() if upto and upto not in known}
    if not base and gone and any(ref.fields.get("parent") and ref.run_id == session_id for ref in refs):
        raise StoreError("no mark says what the forked session began with")
    if base:
        gone -= {known[ref.run_id] for ref in refs if ref.fields.get("parent")}
    return _Left(session_id, completed, unfinished, base, sorted(str(run_id) for run_id in gone))


def _in_order(runs: list[RunSnapshot]) -> list[RunSnapshot]:
    """By their end; where a clock was set back, none before the one that it goes on from."""
    by_id = {run.run_id: run for run in runs}
    placed: dict[str, RunSnapshot] = {}
    for run in sorted(runs, key=lambda run: (run.head.updated_at or 0.0, run.run_id)):
        chain = {} if run.run_id in placed else {run.run_id: run}
        upto = run.head.history_upto
        while chain and upto in by_id and upto not in placed and upto not in chain:
            chain[upto] = by_id[upto]
            upto = by_id[upto].head.history_upto
        placed |= dict(reversed(chain.items()))
    return list(placed.values())


def _make(root: Root, left: _Left) -> str:
    """The whole folder at once, and then the markers of what is unfinished."""
    if left.completed or left.base:
        name = name_of(left.session_id)
        with root.make_folder("quarantine") as quarantine, root.make_folder("sessions") as sessions:
            begun = quarantine.where(f"sessions__{name}{TEMP}")
            if os.path.lexists(begun):
                remove_folder(begun)
            with Folder.make(begun) as folder:
                _fill(folder, _log(root, left), left.completed, _next_epoch(root, left))
            try:
                os.rename(begun, sessions.where(name))
            except OSError as error:
                raise write_error(error, sessions.where(name)) from error
            sessions.sync()
            quarantine.sync()
    for ref in left.unfinished:
        write_marker(root, ref)
    return _source(left)


def _log(root: Root, left: _Left) -> Log:
    """The session with nothing in it. What forks read of it is what they know only where no run of it is missing."""
    ends = [_last_run(root, left.base), *(run.run_id for run in left.completed)]
    is_whole = all(run.head.history_upto == end for run, end in zip(left.completed, ends, strict=False))
    fields = fresh_session(left.session_id) | beginning(left.base)
    return Log(left.session_id, fields if is_whole else fields | {"epoch": _next_epoch(root, left)}, [], [])


def _last_run(root: Root, base: dict[str, Any] | None) -> str | None:
    """The run with which what a forked session began with ends."""
    shared = shared_places(root, base) if base else []
    return str(read_segment(shared[-1], None)["run"]) if shared else None


def _next_epoch(root: Root, left: _Left) -> int:
    """One in which no fork of the session reads anything."""
    parts = parts_of_forks(root, name_of(left.session_id))
    return 1 + max((int(part["epoch"]) for part in parts), default=-1)


def _fill(folder: Folder, log: Log, runs: Sequence[RunSnapshot], epoch: int) -> None:
    """All segments, and session.json: what is appended later is of that ``epoch``, and no fork takes it for its own."""
    for run in runs:
        name, lines = segment_of_run(log, run)
        folder.write(name, lines.bytes())
        log.count(name, len(run.entries), lines.sum, run.head.updated_at)
    fields = log.fields | {"epoch": epoch, "limit": log.fields["count"]}
    folder.write(SESSION, codec.encode(fields))


def _source(left: _Left) -> str:
    """From what it is made again, and what is not in it."""
    found = [f"the checkpoints of {_words([run.run_id for run in left.completed])}"] if left.completed else []
    found += ["the marks of what it began with"] if left.base else []
    made = f"made again from {' and '.join(found)}" if found else "made again, and there is nothing for it to hold"
    lost = f"; what no checkpoint holds is gone: {_words(left.gone)}" if left.gone else ""
    going = f"; unfinished in it: {_words([ref.run_id for ref in left.unfinished])}"
    return made + lost + (going if left.unfinished else "") + untrimmed(left.session_id, left.completed)


def _words(run_ids: Sequence[str]) -> str:
    return f"{'run' if len(run_ids) == 1 else 'runs'} {', '.join(repr(run_id) for run_id in run_ids)}"
