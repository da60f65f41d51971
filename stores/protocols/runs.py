"""Runs: leasing, saving and loading one, and what else a store may be able to do with them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from stores.entries import Entry
from stores.lines import Owner, RunInfo, SaveInfo
from stores.records import RunHead, RunSnapshot, Save


@runtime_checkable
class RunLease(Protocol):
    """The right to execute one run (R11), held from `Checkpointer.lease` until its context ends."""

    async def load(self) -> RunSnapshot | None:
        """The run as it is stored now, or None."""
        ...

    async def save(self, save: Save) -> None:
        """Make ``save`` durable, whole or not at all, before it returns.

        ``save.number`` is one more than the last stored. Number 1 begins the run; over a stored run it
        replaces all of it (saves, history) in one atomic step (``restart``). Costs what is new,
        however long the run. Raises `StoreWriteError`; after that the lease writes nothing more.
        A cancelled caller waits for the write in flight.
        """
        ...

    async def cancel_requested(self) -> bool:
        """True once somebody has asked this very owner to stop (Z9). Cheap; asked every half second."""
        ...


@runtime_checkable
class PromptLease(RunLease, Protocol):
    """A lease that can save before it lets anybody else of the event loop go on. What it offers beside is optional."""

    @property
    def is_prompt(self) -> bool:
        """True while a save is short enough for that. Asked before each."""
        ...

    def save_now(self, save: Save) -> None:
        """`RunLease.save`, done when it returns."""
        ...


@runtime_checkable
class Checkpointer(Protocol):
    """Runs by ``run_id``, a global key. What it leaves out on purpose: sessions, and when to save."""

    def lease(self, run_id: str) -> AbstractAsyncContextManager[RunLease]:
        """Take the run for execution, without waiting.

        Raises `RunLockedError`, naming the owner, while another executor holds it, be it a task of this
        process. A dead owner's lease is taken over by itself. Leasing an unknown run creates nothing.
        """
        ...

    async def load(self, run_id: str) -> RunSnapshot | None:
        """The newest snapshot, without a lease; its status is the effective one (R3). Unknown: None."""
        ...

    async def delete(self, run_id: str, *, keep_history: bool = False) -> bool:
        """Remove the run; False when there is none. A run being executed raises `RunLockedError`."""
        ...

    async def request_cancel(self, run_id: str) -> Owner | None:
        """Ask the run's owner to stop (Z9): leaves a request meant for that owner alone, and names it.

        None when nobody executes the run: nothing is left behind.
        """
        ...


@runtime_checkable
class RunIndex(Protocol):
    """Optional: finding runs other than by id. Without it, section 5 and listings are not offered."""

    async def runs(self) -> list[RunInfo]:
        """Every run, newest activity first, read without transcripts. Damaged ones are listed as such."""
        ...

    async def info(self, run_id: str) -> RunInfo | None:
        """One run's line of the listing, owner included; None when there is none."""
        ...

    def open_runs(self, session_id: str) -> AbstractAsyncContextManager[list[RunInfo]]:
        """The session's unfinished runs, updated last first, under the session's lock (K6).

        Choice and creation happen while the context is open: other processes wait at it (a bounded
        time, then `StoreBusyError`). Completed runs whose segment may not be in the session yet are listed
        too, for the caller to heal. A run with a ``session_id`` is listed from its first save until `settle`.
        `Session.append` and `Session.clear` may wait for the same lock: call them after this context, not in it.
        """
        ...

    async def settle(self, run_id: str) -> None:
        """The run's segment is in its session: `open_runs` need not list it any longer. Idempotent."""
        ...


@runtime_checkable
class History(Protocol):
    """Optional: earlier saves of a run (H1)."""

    async def history(self, run_id: str, *, limit: int | None = None) -> list[SaveInfo]:
        """The saves kept, newest first; an unknown run gives an empty list."""
        ...

    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        """The run as it was at that save; None when it is not kept."""
        ...


@runtime_checkable
class KeptHistories(Protocol):
    """Optional: finding the histories that `Checkpointer.delete` has left (H1)."""

    async def kept_histories(self) -> list[RunInfo]:
        """The deleted runs whose history is still there, newest activity first, with ``deleted`` as their status.

        Another `Checkpointer.delete`, without ``keep_history``, removes what is left of them.
        """
        ...


@runtime_checkable
class Fork(Protocol):
    """Optional: beginning a run from where another one stood (H2). What both have is shared, and never copied.

    What is shared outlives its source: whatever becomes of that run afterwards, the fork reads as it did.
    """

    async def moment(self, run_id: str, *, step: int | None = None, save: int | None = None) -> RunHead | None:
        """The run's head at that save, or at the newest save of that step; None when its history has not got it.

        Its number is in the head, and the transcript is not. Costs the same however long the run is.
        """
        ...

    async def fork(self, lease: RunLease, run_id: str, forked: Save) -> None:
        """Begin the leased run: saves 1 to ``forked.number - 1`` of ``run_id``, and ``forked`` behind them.

        Whole or not at all, before it returns. The source is neither leased nor changed; the lease goes on with the
        new run. Raises `RunExistsError` when a run, or the kept history of one, has the lease's id, and
        `RunNotFoundError` when the source's history has not got that save (any longer).
        """
        ...


@runtime_checkable
class StepEntries(Protocol):
    """Optional beside `Fork`: what a patch changes in the step that is forked is found without the rest of the run."""

    async def step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        """How many entries the run had before the step of that save, and those of the step as it stood then.

        They are in call order. Costs what the step holds. None when the save is not kept, or when a patch has cut the
        transcript in that very step: then only the whole tells.
        """
        ...


@runtime_checkable
class RunLog(Protocol):
    """Optional: a run's whole log of saves, to be handed on and taken in elsewhere."""

    async def read_log(self, run_id: str) -> list[Save]:
        """Every save of the run, oldest first; an unknown run gives an empty list. No lease is taken."""
        ...

    async def import_log(self, lease: RunLease, saves: list[Save]) -> None:
        """Begin the leased run with ``saves``, numbered from 1: whole or not at all, before it returns.

        The lease goes on with the run. Raises `RunExistsError` when a run, or the kept history of one, has its id.
        """
        ...
