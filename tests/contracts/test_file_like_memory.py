"""Whatever is done to them, the file stores answer as the memory stores do."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.conformance.checks import exactly
from stores.conformance.samples import call, result, say
from stores.entries import Entry
from stores.errors import ConflictError, LoviaError
from stores.file import FileCheckpointer, FileSession
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.records import Save

RUNS, SESSIONS = ("a", "A", "b"), ("s", "t", "u")

ENTRIES = st.lists(
    st.one_of(
        st.builds(say, st.text(max_size=3) | st.just("x" * 20_000), st.integers(0, 2)),
        st.builds(call, st.integers(1, 3)),
        st.builds(result, st.integers(1, 3), output=st.sampled_from(["rain", "rain " * 100, "rain " * 200])),
    ),
    max_size=3,
)
HEADS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["running", "interrupted", "failed", "completed", "awaiting_approval"]),
        "state": st.dictionaries(
            st.sampled_from("xyz"), st.integers(-(2**63), 2**64 - 1) | st.text(max_size=3), max_size=2
        )
        | st.just({"large": "y" * 40_000}),
        "error": st.none() | st.just({"code": "provider", "message": "m"}),
        "config": st.just({"model": "m"}),
        "approvals": st.just([{"id": "p1", "state": "pending"}]) | st.just([]),
        "of_a_later_version": st.integers(0, 9),
    },
)


@dataclass(frozen=True)
class Saves:
    """One executor: it begins the run (again) or goes on with it, and saves so often."""

    run_id: str
    restart: bool
    session_id: str | None
    parts: list[tuple[list[Entry], dict[str, Any]]]


@dataclass(frozen=True)
class Deletes:
    run_id: str
    keep_history: bool


@dataclass(frozen=True)
class Settles:
    run_id: str


@dataclass(frozen=True)
class Forks:
    """A fork of the source at that save, with so many entries of it kept (None: all)."""

    source: str
    run_id: str
    save: int
    keep: int | None
    entries: list[Entry]
    head: dict[str, Any]


@dataclass(frozen=True)
class ForksSession:
    source: str
    session_id: str
    upto: str
    confirmed: bool


@dataclass(frozen=True)
class DropsFork:
    session_id: str


@dataclass(frozen=True)
class Appends:
    session_id: str
    run_id: str
    entries: list[Entry]


@dataclass(frozen=True)
class Clears:
    session_id: str


@dataclass(frozen=True)
class Rewinds:
    session_id: str
    keep: int


@dataclass(frozen=True)
class Trims:
    session_id: str
    keep_chars: int
    keep_runs: int


RUN_STEPS = st.lists(
    st.one_of(
        st.builds(
            Saves,
            st.sampled_from(RUNS),
            st.booleans(),
            st.sampled_from([None, *SESSIONS]),
            st.lists(st.tuples(ENTRIES, HEADS), min_size=1, max_size=4),
        ),
        st.builds(Deletes, st.sampled_from(RUNS), st.booleans()),
        st.builds(Settles, st.sampled_from(RUNS)),
        st.builds(
            Forks,
            st.sampled_from(RUNS),
            st.sampled_from(RUNS),
            st.integers(1, 5),
            st.none() | st.integers(0, 4),
            ENTRIES,
            HEADS,
        ),
    ),
    max_size=10,
)
SESSION_STEPS = st.lists(
    st.one_of(
        st.builds(Appends, st.sampled_from(SESSIONS), st.sampled_from(["r1", "R1", "r2"]), ENTRIES),
        st.builds(Clears, st.sampled_from(SESSIONS)),
        st.builds(Rewinds, st.sampled_from(SESSIONS), st.integers(0, 7)),
        st.builds(Trims, st.sampled_from(SESSIONS), st.integers(0, 500), st.integers(0, 2)),
        st.builds(
            ForksSession,
            st.sampled_from(SESSIONS),
            st.sampled_from(SESSIONS),
            st.sampled_from(["r1", "R1", "r2"]),
            st.booleans(),
        ),
        st.builds(DropsFork, st.sampled_from(SESSIONS)),
    ),
    max_size=14,
)
FEW = settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(RUN_STEPS)
def test_runs_read_the_same(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_compare_runs(steps, Path(folder)))


@FEW
@given(SESSION_STEPS)
def test_sessions_read_the_same(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_compare_sessions(steps, Path(folder)))


async def _compare_runs(steps: list[Any], folder: Path) -> None:
    memory, file = InMemoryCheckpointer(), FileCheckpointer(folder)
    for clock, step in enumerate(steps):
        ends = [await _do_to_runs(store, step, clock) for store in (memory, file)]
        assert ends[0] == ends[1], step
        for reader in (file, FileCheckpointer(folder)):
            exactly(await _runs(reader), await _runs(memory))


async def _do_to_runs(store: Any, step: Any, clock: int) -> Any:
    if isinstance(step, Deletes):
        return await store.delete(step.run_id, keep_history=step.keep_history)
    if isinstance(step, Settles):
        return await store.settle(step.run_id)
    if isinstance(step, Forks):
        return await _fork(store, step, clock)
    async with store.lease(step.run_id) as lease:
        before = None if step.restart else await lease.load()
        number = before.head.save if before else 0
        for entries, head in step.parts:
            number += 1
            first = {"status": "running", "session_id": step.session_id, "started_at": float(clock)}
            head = first | head if number == 1 else head
            await lease.save(
                Save(number=number, step=number, at=clock + number / 100, event="e", entries=entries, head=head)
            )
        return await lease.load()


async def _fork(store: Any, step: Forks, clock: int) -> Any:
    number = step.save + 1
    head = {"status": "interrupted", "session_id": None, "parent": {"run_id": step.source}} | step.head
    save = Save(number=number, step=number, at=float(clock), event="forked", entries=step.entries, head=head)
    save.keep = step.keep
    async with store.lease(step.run_id) as lease:
        try:
            await store.fork(lease, step.source, save)
        except LoviaError as error:
            return type(error)
        return await lease.load()


async def _runs(store: Any) -> dict[str, Any]:
    """All that can be read of the runs."""
    seen: dict[str, Any] = {"runs": await store.runs()}
    for session_id in SESSIONS:
        async with store.open_runs(session_id) as lines:
            seen[f"open in {session_id}"] = lines
    for run_id in RUNS:
        rows = await store.history(run_id)
        seen[run_id] = [
            await store.load(run_id),
            await store.info(run_id),
            rows,
            await store.history(run_id, limit=2),
            [await store.snapshot(run_id, number) for number in range(len(rows) + 2)],
            [await store.moment(run_id, save=number) for number in range(len(rows) + 2)],
            [await store.moment(run_id, step=number) for number in range(5)],
        ]
    return seen


async def _compare_sessions(steps: list[Any], folder: Path) -> None:
    memory, file = InMemorySession(), FileSession(folder)
    for step in steps:
        ends = [await _do_to_sessions(store, step) for store in (memory, file)]
        assert ends[0] == ends[1], step
        for reader in (file, FileSession(folder)):
            exactly(await _sessions(reader), await _sessions(memory))


async def _do_to_sessions(store: Any, step: Any) -> Any:
    if isinstance(step, Clears):
        return await store.clear(step.session_id)
    if isinstance(step, Rewinds):
        try:
            return await store.rewind(step.session_id, keep_entries=step.keep)
        except ConflictError as error:
            return type(error)
    if isinstance(step, Trims):
        return await store.trim_tool_results(step.session_id, keep_chars=step.keep_chars, keep_runs=step.keep_runs)
    try:
        if isinstance(step, ForksSession):
            await store.fork_session(step.source, step.session_id, upto=step.upto)
            return await store.confirm_fork(step.session_id) if step.confirmed else None
        if isinstance(step, DropsFork):
            return await store.drop_fork(step.session_id)
        return await store.append(step.session_id, step.entries, run_id=step.run_id, meta={"n": len(step.entries)})
    except LoviaError as error:
        return type(error)


async def _sessions(store: Any) -> dict[str, Any]:
    """All that can be read of the sessions, but the times of the store's own clock."""
    lines = [(line.session_id, line.segments, line.entries, line.damage) for line in await store.sessions()]
    seen: dict[str, Any] = {"sessions": lines}
    for session_id in SESSIONS:
        found = [await store.has_segment(session_id, run_id) for run_id in ("r1", "R1", "r2")]
        seen[session_id] = [await store.segments(session_id), await store.load(session_id), found]
    return seen
