"""Stores that can be looked through and not written to: what is written stays here, in memory, and is gone with it.

With them the very code that opens a run says what it would do, and changes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from stores.entries import JSON, Entry
from stores.lines import Owner, RunInfo, SaveInfo, locked_error
from stores.lookup import open_infos
from stores.protocols import History, RunLease, Session
from stores.records import RunHead, RunSnapshot, Save, Segment, Status, apply_head


class GlassSession:
    """A `Session` over another one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._added: dict[str, list[Segment]] = {}

    async def segments(self, session_id: str) -> list[Segment]:
        return [*await self._session.segments(session_id), *self._added.get(session_id, ())]

    async def load(self, session_id: str) -> list[Entry]:
        return [entry for segment in await self.segments(session_id) for entry in segment.entries]

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: dict[str, JSON] | None = None
    ) -> str:
        segment = Segment(run_id=run_id or "", entries=entries, meta=meta or {})
        if not any(stored.run_id == segment.run_id for stored in await self.segments(session_id)):
            self._added.setdefault(session_id, []).append(segment)
        return segment.run_id

    async def clear(self, session_id: str) -> None:
        """Nobody who opens a run clears its session."""


class GlassRuns:
    """A `Checkpointer` over another one, and its `RunIndex`, which it must be.

    It takes no lease and waits for no lock: that a run is executed is read from its line. ``finalised`` has the runs
    that were ended here before another could begin.
    """

    def __init__(self, runs: Any, session: GlassSession | None) -> None:
        self._runs = runs
        self._session = session
        self._written: dict[str, RunSnapshot] = {}
        self._settled: set[str] = set()
        self.finalised: list[str] = []

    @asynccontextmanager
    async def lease(self, run_id: str) -> AsyncIterator[RunLease]:
        info = await self.info(run_id)
        if info and info.owner:
            raise locked_error(run_id, info.owner)
        yield _Lease(self, run_id)

    async def load(self, run_id: str) -> RunSnapshot | None:
        stored: RunSnapshot | None = self._written.get(run_id) or await self._runs.load(run_id)
        return stored

    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        """That of the store, where it keeps any."""
        return await self._runs.history(run_id, limit=limit) if isinstance(self._runs, History) else []

    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        """That of the store, where it keeps any."""
        return await self._runs.snapshot(run_id, save) if isinstance(self._runs, History) else None

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        del keep_history
        return await self.load(run_id) is not None

    async def request_cancel(self, run_id: str) -> Owner | None:
        info = await self.info(run_id)
        return info.owner if info else None

    async def runs(self) -> list[RunInfo]:
        found: list[RunInfo] = await self._runs.runs()
        return [run for run in found if run.run_id not in self.finalised]

    async def info(self, run_id: str) -> RunInfo | None:
        found: RunInfo | None = await self._runs.info(run_id)
        return found

    @asynccontextmanager
    async def open_runs(self, session_id: str) -> AsyncIterator[list[RunInfo]]:
        segments = await self._session.segments(session_id) if self._session else []
        done = {segment.run_id for segment in segments} | self._settled
        own = [run for run in await open_infos(self._runs, session_id) if run.run_id not in self.finalised]
        yield [run for run in own if run.run_id not in done or _is_unfinished(run)]

    async def settle(self, run_id: str) -> None:
        self._settled.add(run_id)

    def write(self, run_id: str, save: Save, stored: RunSnapshot | None) -> RunSnapshot:
        """The run after ``save``, kept here."""
        head, entries = (deepcopy(stored.head), stored.entries) if stored and save.number > 1 else (RunHead(), [])
        apply_head(head, save)
        after = RunSnapshot(run_id=run_id, head=head, entries=[*entries, *save.entries])
        self._written[run_id] = after
        if save.event == "finalized":
            self.finalised.append(run_id)
        return after


class _Lease:
    """The `RunLease` of one run behind glass."""

    def __init__(self, runs: GlassRuns, run_id: str) -> None:
        self._runs = runs
        self._run_id = run_id
        self._stored: RunSnapshot | None = None

    async def load(self) -> RunSnapshot | None:
        self._stored = await self._runs.load(self._run_id)
        return self._stored

    async def save(self, save: Save) -> None:
        self._stored = self._runs.write(self._run_id, save, self._stored)

    async def cancel_requested(self) -> bool:
        return False


def _is_unfinished(run: RunInfo) -> bool:
    return run.status != Status.COMPLETED
