"""Runs in memory: their saves, and who executes them."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from stores import codec
from stores.entries import Entry, in_call_order
from stores.errors import RunExistsError, RunNotFoundError, StoreBusyError, StoreWriteError
from stores.ids import check_id
from stores.lines import Owner, RunInfo, SaveInfo, locked_error, open_approvals
from stores.protocols import RunLease
from stores.records import RunHead, RunSnapshot, Save, Status, apply_head, fold

_WHERE = "memory"


@dataclass(slots=True)
class _Run:
    """A run's log of saves, and the head after the last of them.

    ``deleted`` leaves the history alone (H1), ``settled`` leaves `open_runs`.
    """

    saves: list[Save] = field(default_factory=list)
    deleted: bool = False
    settled: bool = False
    head: RunHead = field(init=False)

    def __post_init__(self) -> None:
        self.head = _head(self.saves)

    def add(self, save: Save) -> None:
        self.saves.append(save)
        apply_head(self.head, save)

    @property
    def first_kept(self) -> int:
        """The index of the first save that is history (H1)."""
        limit = self.head.history_limit
        return 0 if limit is None else max(len(self.saves) - limit, 0)


class InMemoryCheckpointer:
    """Runs that can be listed, with their history. ``busy_timeout``: seconds that `open_runs` waits for its lock."""

    def __init__(self, *, busy_timeout: float = 10.0) -> None:
        self._runs: dict[str, _Run] = {}  # in order of activity
        self._leases: dict[str, _Lease] = {}
        # A lock lives while somebody holds or awaits it, so that none outlives the event loop it was used in.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._busy_timeout = busy_timeout

    @asynccontextmanager
    async def lease(self, run_id: str) -> AsyncIterator[RunLease]:
        self._refuse_leased(check_id(run_id, "run id"))
        lease = self._leases[run_id] = _Lease(self, run_id)
        try:
            yield lease
        finally:
            del self._leases[run_id]

    async def load(self, run_id: str) -> RunSnapshot | None:
        snapshot = self._stored(run_id)
        if snapshot is not None:
            snapshot.head.status = self._effective(run_id, snapshot.head.status)
        return snapshot

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        self._refuse_leased(check_id(run_id, "run id"))
        run = self._runs.get(run_id)
        existed = run is not None and not run.deleted
        if run is not None and keep_history:
            run.deleted = True
        else:
            self._runs.pop(run_id, None)
        return existed

    async def request_cancel(self, run_id: str) -> Owner | None:
        lease = self._leases.get(check_id(run_id, "run id"))
        if lease is None:
            return None
        lease.cancelled = True
        return lease.owner

    async def runs(self) -> list[RunInfo]:
        infos = [await self.info(run_id) for run_id in reversed(self._runs)]
        return [info for info in infos if info is not None]

    async def info(self, run_id: str) -> RunInfo | None:
        run = self._runs.get(check_id(run_id, "run id"))
        if run is None or run.deleted:
            return None
        lease = self._leases.get(run_id)
        return _info(run_id, run.head, self._effective(run_id, run.head.status), lease.owner if lease else None)

    @asynccontextmanager
    async def open_runs(self, session_id: str) -> AsyncIterator[list[RunInfo]]:
        check_id(session_id, "session id")
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        try:
            async with asyncio.timeout(self._busy_timeout):
                await lock.acquire()
        except TimeoutError as error:
            raise StoreBusyError(
                f"session {session_id!r} stayed locked for {self._busy_timeout:g} s", hint="try again later"
            ) from error
        try:
            yield await self.open_infos(session_id)
        finally:
            lock.release()

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        check_id(session_id, "session id")
        meant = [run_id for run_id, run in reversed(self._runs.items()) if self._is_open(run, session_id)]
        return [info for run_id in meant if (info := await self.info(run_id))]

    async def settle(self, run_id: str) -> None:
        if run := self._runs.get(check_id(run_id, "run id")):
            run.settled = True

    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        run = self._run(run_id)
        return list(reversed(list(_rows(run.saves))[run.first_kept :]))[:limit]

    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        run = self._run(run_id)
        return deepcopy(fold(run_id, run.saves[:save])) if run.first_kept < save <= len(run.saves) else None

    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        run = self._run(run_id)
        kept = run.saves[run.first_kept :]
        found = [one.number for one in kept if save in (None, one.number) and step in (None, one.step)]
        return _head(run.saves[: found[-1]]) if found else None

    async def read_log(self, run_id: str) -> list[Save]:
        return deepcopy(self._log(run_id))

    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        lease = self._unused(lease)
        self._runs[lease.run_id] = _Run([_stored(save, lease.run_id) for save in saves])

    async def step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        run, log = self._run(run_id), self._log(run_id)
        if not run.first_kept < save <= len(log):
            return None
        own = [one for one in log[:save] if one.step == log[save - 1].step]
        if any(one.keep is not None for one in own):
            return None
        before = fold(run_id, log[: save - len(own)])
        entries = in_call_order(entry for one in own for entry in one.entries)
        return len(before.entries) if before else 0, deepcopy(entries)

    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        lease = self._unused(lease)
        if await self.moment(run_id, save=forked.number - 1) is None:
            raise RunNotFoundError(f"save {forked.number - 1} of run {run_id!r} is not kept")
        self._runs[lease.run_id] = _Run([*self._log(run_id)[: forked.number - 1], _stored(forked, lease.run_id)])

    def _unused(self, lease: RunLease) -> _Lease:
        """The lease of a run that is still to begin."""
        if not isinstance(lease, _Lease) or self._leases.get(lease.run_id) is not lease:
            raise StoreWriteError("this needs the lease of its own run", hint="take the run first")
        if lease.run_id in self._runs:
            raise RunExistsError(f"run {lease.run_id!r} exists already", hint="use a new run id")
        return lease

    async def kept_histories(self) -> list[RunInfo]:
        return [_kept_line(run_id, run) for run_id, run in reversed(self._runs.items()) if run.deleted]

    async def kept_info(self, run_id: str) -> RunInfo | None:
        run = self._runs.get(check_id(run_id, "run id"))
        return _kept_line(run_id, run) if run and run.deleted else None

    def _run(self, run_id: str) -> _Run:
        """The run's record; an unknown run gives an empty one that is not kept."""
        return self._runs.get(check_id(run_id, "run id")) or _Run()

    def _log(self, run_id: str) -> list[Save]:
        return self._run(run_id).saves

    def _stored(self, run_id: str) -> RunSnapshot | None:
        """A copy of the run as it was saved last, whoever holds it; None when there is none."""
        run = self._runs.get(check_id(run_id, "run id"))
        return None if run is None or run.deleted else deepcopy(fold(run_id, run.saves))

    def _effective(self, run_id: str, status: str) -> str:
        """A run that is stored as running and has no owner was interrupted (R3)."""
        return Status.INTERRUPTED if status == Status.RUNNING and run_id not in self._leases else status

    def _is_open(self, run: _Run, session_id: str) -> bool:
        return run.head.session_id == session_id and not run.settled

    def _refuse_leased(self, run_id: str) -> None:
        if lease := self._leases.get(run_id):
            raise locked_error(run_id, lease.owner)

    def _record(self, lease: _Lease, save: Save) -> None:
        """Take ``save`` into the log of the run that ``lease`` holds. Save 1 begins a new log (R4, ``restart``)."""
        run_id = lease.run_id
        if self._leases.get(run_id) is not lease:
            raise StoreWriteError(f"the lease of run {run_id!r} has ended", hint="take the run again")
        stored = _stored(save, run_id)
        run = self._runs.get(run_id)
        if save.number == 1:
            run = _Run()
        elif run is None or run.deleted or save.number != len(run.saves) + 1:
            last = 0 if run is None or run.deleted else len(run.saves)
            raise StoreWriteError(f"save {save.number} of run {run_id!r} does not follow save {last}")
        run.add(stored)
        self._runs.pop(run_id, None)
        self._runs[run_id] = run


class _Lease:
    """The `RunLease` of one executor."""

    def __init__(self, store: InMemoryCheckpointer, run_id: str) -> None:
        self.run_id = run_id
        self.owner = Owner(pid=os.getpid(), host=socket.gethostname(), since=time.time())
        self.cancelled = False
        self._store = store

    async def load(self) -> RunSnapshot | None:
        return self._store._stored(self.run_id)

    async def save(self, save: Save) -> None:
        self._store._record(self, save)

    async def cancel_requested(self) -> bool:
        return self.cancelled


def _stored(save: Save, run_id: str) -> Save:
    """The save as a store gives it back."""
    return codec.decode_save(codec.loads(codec.encode_save(save)), where=_WHERE, run_id=run_id)


def _head(saves: list[Save]) -> RunHead:
    """A copy of the head after the last of ``saves``."""
    head = RunHead()
    for save in saves:
        apply_head(head, save)
    return deepcopy(head)


def _info(run_id: str, head: RunHead, status: str, owner: Owner | None) -> RunInfo:
    """The line of a listing that a head gives, with the effective status. It shares nothing with the head."""
    line = RunInfo(
        run_id=run_id,
        status=status,
        agent=head.agent,
        session_id=head.session_id,
        started_at=head.started_at,
        updated_at=head.updated_at,
        steps=head.steps,
        save=head.save,
        stop=head.stop,
        error=head.error,
        config=head.config,
        parent=head.parent,
        open_approvals=open_approvals(head.approvals),
        owner=owner,
    )
    return deepcopy(line)


def _kept_line(run_id: str, run: _Run) -> RunInfo:
    """The line of a run that is gone all but its history."""
    return _info(run_id, run.head, "deleted", None)


def _rows(saves: list[Save]) -> Iterator[SaveInfo]:
    """The history's rows, oldest first."""
    head, entries = RunHead(), 0
    for save in saves:
        apply_head(head, save)
        entries = save.entries_after(entries)
        yield SaveInfo(
            number=save.number,
            step=save.step,
            at=save.at,
            status=head.status,
            event=save.event,
            entries=entries,
            info=deepcopy(save.info),
        )
