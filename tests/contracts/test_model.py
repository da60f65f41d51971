"""Whatever is done to a store, in whatever order, and however often it is opened anew: it is as a plain dict says."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from stores.conformance.checks import exactly
from stores.conformance.samples import call, result, say, text, thought
from stores.entries import Entry
from stores.errors import LoviaError, RunLockedError, SegmentDiffersError
from stores.file import FileStore
from stores.memory import InMemoryCheckpointer, InMemoryResultStore, InMemorySession
from stores.records import RunSnapshot, Save
from stores.sqlite import SQLiteStore
from stores.surgery import entries_checksum
from tests.contracts.model import Model, folded

SESSIONS, RUNS = st.sampled_from(["s", "S"]), st.sampled_from(["r", "R"])
SHAPES: dict[str, list[Entry]] = {
    "empty": [],
    "input": [say("hello")],
    "calls": [say("go"), thought("hm"), call(1), call(2), result(1, output="sun " * 60), result(2), text("done", 2)],
    "steps": [
        *(say("go"), text("let me"), call(1), result(1, output="rain " * 120), thought("so", 2), call(1, 2)),
        *(result(1, 2, output="x" * 40_000), thought("well", 3), text("it rains", 3)),
    ],
}
HEADS: dict[str, dict[str, Any]] = {
    "stopped": {"status": "interrupted", "queued_input": [{"type": "input", "text": "more"}], "state": {"n": 1}},
    "failed": {"status": "failed", "queued_input": [], "error": {"code": "provider"}},
    "large": {"status": "interrupted", "state": {"text": "y" * 40_000}},
    "done": {"status": "completed", "output": {"n": 1.5}, "error": None, "state": {}},
}
ENTRIES, HEAD = st.sampled_from(sorted(SHAPES)), st.sampled_from(sorted(HEADS))
"""What a rule is given is a name: a failure is then told in a few lines."""


class Memory:
    """A store in one object: opening it again gives the same."""

    def __init__(self, folder: Path) -> None:
        del folder
        self.session: Any = InMemorySession()
        self.checkpointer: Any = InMemoryCheckpointer()
        self.results: Any = InMemoryResultStore()

    def reopened(self) -> Any:
        return self


class OnDisk:
    """A store that lives in files, whose every handle is another object."""

    store: Any
    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        opened = self.store(folder / self.name)
        self.session, self.checkpointer, self.results = opened.session, opened.checkpointer, opened.results

    def reopened(self) -> Any:
        return type(self)(self.folder)


class OnFiles(OnDisk):
    store, name = FileStore, "store"


class OnSQLite(OnDisk):
    store, name = SQLiteStore, "store.db"


class StoreMachine(RuleBasedStateMachine):
    """One store, and beside it the model."""

    kind: Any = Memory

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.Runner()
        self.store = self.kind(self.folder)
        self.model = Model()

    def teardown(self) -> None:
        self.loop.close()
        shutil.rmtree(self.folder)

    def do(self, work: Any) -> Any:
        return self.loop.run(work)

    @rule()
    def reopen(self) -> None:
        self.store = self.store.reopened()


class SessionMachine(StoreMachine):
    """Conversations: what is appended, undone and trimmed."""

    @initialize(first=ENTRIES, second=ENTRIES)
    def talk(self, first: str, second: str) -> None:
        """Most of what can be done wants a conversation."""
        self.append("s", "r", first, {"n": 1})
        self.append("s", "R", second, {})

    @rule(session=SESSIONS, run=RUNS, shape=ENTRIES, meta=st.sampled_from([{}, {"n": 1}]))
    def append(self, session: str, run: str, shape: str, meta: dict[str, Any]) -> None:
        entries = SHAPES[shape]
        if self.model.append(session, run, entries, meta):
            assert self.do(self.store.session.append(session, entries, run_id=run, meta=meta)) == run
        else:
            with pytest.raises(SegmentDiffersError):
                self.do(self.store.session.append(session, entries, run_id=run, meta=meta))

    @rule(session=SESSIONS, run=RUNS)
    def replay(self, session: str, run: str) -> None:
        """What was appended is appended again, whatever has happened to it since (R6)."""
        appended = self.model.sessions.get(session, {"appended": {}})["appended"]
        if run in appended:
            self.do(self.store.session.append(session, appended[run], run_id=run, meta={"again": True}))

    @rule(session=SESSIONS)
    def clear(self, session: str) -> None:
        self.model.clear(session)
        self.do(self.store.session.clear(session))

    @precondition(lambda self: self.model.sessions)
    @rule(session=SESSIONS, keep=st.integers(0, 18))
    def rewind(self, session: str, keep: int) -> None:
        assert self.do(self.store.session.rewind(session, keep_entries=keep)) == self.model.rewind(session, keep)

    @precondition(lambda self: self.model.sessions)
    @rule(session=SESSIONS, chars=st.sampled_from([0, 50, 300]), runs=st.integers(0, 1), archiving=st.booleans())
    def trim(self, session: str, chars: int, runs: int, archiving: bool) -> None:
        archive = self.store.results if archiving else None
        trim = self.store.session.trim_tool_results(session, keep_chars=chars, keep_runs=runs, archive=archive)
        assert self.do(trim) == self.model.trim(session, chars, runs, archiving)

    @invariant()
    def sessions_are_as_the_model_says(self) -> None:
        self.do(self._sessions())

    async def _sessions(self) -> None:
        store, model = self.store.session, self.model
        lines = [(line.session_id, line.segments, line.entries) for line in await store.sessions()]
        expected = [
            (name, len(model.segments(name)), sum(len(segment["entries"]) for segment in model.segments(name)))
            for name in reversed(model.sessions)
        ]
        assert lines == expected
        for name in ("s", "S"):
            found = [
                {"run": one.run_id, "entries": one.entries, "meta": one.meta, "truncated": one.truncated}
                for one in await store.segments(name)
            ]
            exactly(found, model.segments(name))
            exactly(await store.load(name), [entry for one in model.segments(name) for entry in one["entries"]])
            assert [await store.has_segment(name, run) for run in ("r", "R")] == [
                any(one["run"] == run for one in model.segments(name)) for run in ("r", "R")
            ]
        for reference, output in model.archive.items():
            assert await self.store.results.get(reference) == output


class RunMachine(StoreMachine):
    """Runs: what is saved, by whom, and what is left of it."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, tuple[AsyncExitStack, Any]] = {}
        self.clock = 0

    def teardown(self) -> None:
        for stack, _ in self.held.values():
            self.do(stack.aclose())
        super().teardown()

    @initialize(session=st.none() | SESSIONS, shape=ENTRIES, head=HEAD)
    def execute(self, session: str | None, shape: str, head: str) -> None:
        """Most of what can be done wants a run."""
        self.begin("r", session, shape, head)

    @rule(run=RUNS, session=st.none() | SESSIONS, shape=ENTRIES, head=HEAD)
    def begin(self, run: str, session: str | None, shape: str, head: str) -> None:
        first = {"session_id": session, "started_at": float(self.clock)}
        self.save(run, 1, SHAPES[shape], {**first, **HEADS[head]})

    @rule(run=RUNS, shape=ENTRIES, head=HEAD)
    def go_on(self, run: str, shape: str, head: str) -> None:
        if self.model.stored(run):
            self.save(run, self.model.saves(run) + 1, SHAPES[shape], HEADS[head])

    def save(self, run: str, number: int, entries: list[Entry], head: dict[str, Any]) -> None:
        self.clock += 1
        save = Save(number=number, step=number, at=float(self.clock), event="response", entries=entries, head=head)
        self.do(self._save(run, save))
        self.model.save(run, number, entries, head)

    async def _save(self, run: str, save: Save) -> None:
        if run in self.held:
            await self.held[run][1].save(save)
            return
        async with self.store.checkpointer.lease(run) as lease:
            await lease.save(save)

    @rule(run=RUNS)
    def take(self, run: str) -> None:
        """Somebody executes the run; a second one cannot (R11)."""
        stack = AsyncExitStack()
        if run in self.held:
            with pytest.raises(RunLockedError):
                self.do(stack.enter_async_context(self.store.checkpointer.lease(run)))
        else:
            self.held[run] = (stack, self.do(stack.enter_async_context(self.store.checkpointer.lease(run))))

    @precondition(lambda self: self.held)
    @rule()
    def let_go(self) -> None:
        _, (stack, _) = self.held.popitem()
        self.do(stack.aclose())

    @rule(run=RUNS, keep_history=st.booleans())
    def delete(self, run: str, keep_history: bool) -> None:
        if run in self.held and self.model.stored(run):
            with pytest.raises(RunLockedError):
                self.do(self.store.checkpointer.delete(run, keep_history=keep_history))
        elif run not in self.held:
            there = self.do(self.store.checkpointer.delete(run, keep_history=keep_history))
            assert there == self.model.delete(run, keep_history)

    @rule(run=RUNS)
    def settle(self, run: str) -> None:
        self.model.settle(run)
        self.do(self.store.checkpointer.settle(run))

    @invariant()
    def runs_are_as_the_model_says(self) -> None:
        self.do(self._runs())

    async def _runs(self) -> None:
        store, model = self.store.checkpointer, self.model
        assert [(line.run_id, line.owner is not None) for line in await store.runs()] == [
            (run, run in self.held) for run in model.listed()
        ]
        assert [line.run_id for line in await store.kept_histories()] == model.kept()
        for session in ("s", "S"):
            async with store.open_runs(session) as lines:
                assert [line.run_id for line in lines] == model.open_runs(session)
        for run in ("r", "R"):
            self._same(await store.load(run), model.stored(run))
            log = model.runs.get(run, {"log": []})["log"]
            assert [row.number for row in await store.history(run)] == list(range(len(log), 0, -1))
            middle = (len(log) + 1) // 2
            self._same(await store.snapshot(run, middle), folded(log[:middle]) if middle else None)

    @staticmethod
    def _same(found: RunSnapshot | None, expected: dict[str, Any] | None) -> None:
        if found is None or expected is None:
            assert (found, expected) == (None, None)
            return
        head = {name: getattr(found.head, name) for name in expected["head"]}
        exactly({"entries": found.entries, "head": head}, expected)


FEW = settings(
    stateful_step_count=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def play(machine: type[StoreMachine], kind: Any, examples: int = 8) -> None:
    run_state_machine_as_test(
        type(machine.__name__, (machine,), {"kind": kind}), settings=settings(FEW, max_examples=examples)
    )


@pytest.mark.parametrize("machine", [SessionMachine, RunMachine])
@pytest.mark.parametrize("kind", [Memory, OnFiles, OnSQLite])
def test_a_store_is_what_a_plain_dict_says(kind: Any, machine: Any) -> None:
    play(machine, kind)


class ForgetsWhatWasAppended(Memory):
    """After a rewind a segment is compared with what is left of it, not with what was appended (S3)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.session = _Forgetful()


class _Forgetful(InMemorySession):
    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        removed = await super().rewind(session_id, keep_entries=keep_entries)
        if kept := self._sessions.get(session_id):
            kept.checksums = {run: entries_checksum(segment.entries) for run, segment in kept.segments.items()}
        return removed


class StaysSettled(Memory):
    """A run that begins anew is as settled as the one before it (R4, K6)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.checkpointer = _Settled()


class _Settled(InMemoryCheckpointer):
    def _record(self, lease: Any, save: Save) -> None:
        before = self._runs.get(lease.run_id)
        super()._record(lease, save)
        self._runs[lease.run_id].settled = bool(before and before.settled)


class LosesTheLastSession(Memory):
    """What was active last had not reached the disk when the store was opened again (S1)."""

    def reopened(self) -> Any:
        if self.session._sessions:
            self.session._sessions.popitem()
        return self


@pytest.mark.parametrize(
    ("machine", "kind"),
    [(SessionMachine, ForgetsWhatWasAppended), (RunMachine, StaysSettled), (SessionMachine, LosesTheLastSession)],
)
def test_a_store_with_a_fault_is_found_out(machine: Any, kind: Any) -> None:
    with pytest.raises((AssertionError, LoviaError)):
        play(machine, kind, examples=100)
