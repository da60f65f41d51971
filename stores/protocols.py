"""What the engine asks of a store. Small protocols; the optional abilities are protocols of their own.

A store is a `Session`, a `Checkpointer`, or both. The engine finds an ability with ``isinstance``:
every protocol here is runtime-checkable. All methods are async; a store keeps blocking work off the
event loop by itself, and nobody wraps it. The abilities to look one id up are in `stores.lookup`.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from stores.entries import JSON, Entry
from stores.records import Owner, RunHead, RunInfo, RunSnapshot, Save, SaveInfo, Segment, SessionInfo
from stores.references import ResultRef


@runtime_checkable
class Session(Protocol):
    """A conversation: an append-only log of segments, keyed by ``session_id`` (S1 to S4).

    Reads return copies. An unknown session is empty. There is deliberately no replace.
    """

    async def segments(self, session_id: str) -> list[Segment]:
        """All segments, oldest first."""
        ...

    async def load(self, session_id: str) -> list[Entry]:
        """The flat concatenation of the segments' entries."""
        ...

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: dict[str, JSON] | None = None
    ) -> str:
        """Store one segment durably and return its run id (a new one when None).

        Idempotent by ``run_id``, also when two processes race: a stored one makes it a no-op. When the
        entries then differ from those first appended, `SegmentDiffersError` is raised and nothing
        changes (S3): the caller reports it.
        """
        ...

    async def clear(self, session_id: str) -> None:
        """Remove the session and all its segments. Unknown: nothing happens."""
        ...


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
class SessionFork(Protocol):
    """Optional: beginning a session with what another one began with (H3). Shared, and never copied.

    What is shared outlives its source: a rewind, a trim or the end of the source's session changes nothing of it. It
    is not the fork's to change either: a rewind into it is a `ConflictError`, a trim leaves it as it is.
    """

    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        """Prepare ``new_id``: the segments of ``session_id`` up to that of run ``upto``. Nobody sees it as yet.

        Raises `RunExistsError` when a session has that id. One that was prepared and never confirmed is none, and is
        replaced: the caller holds the lease of the run that the session is for. Raises `ConflictError` when the
        session has lost the segment of ``upto``, or a rewind has cut it. Without ``upto`` there is nothing to share,
        and the id is only looked at.
        """
        ...

    async def confirm_fork(self, new_id: str) -> None:
        """The run that the session was prepared for is there: from now on the session is. Idempotent."""
        ...

    async def drop_fork(self, new_id: str) -> bool:
        """Remove a forked session, confirmed or not, that has no segment of its own; False when it is none."""
        ...


@runtime_checkable
class SessionIndex(Protocol):
    """Optional: listing sessions."""

    async def sessions(self) -> list[SessionInfo]:
        """Every session, newest activity first, read without transcripts."""
        ...

    async def has_segment(self, session_id: str, run_id: str) -> bool:
        """True when the run's segment is stored in the session."""
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


@runtime_checkable
class SessionImport(Protocol):
    """Optional: taking in a session that was exported elsewhere."""

    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        """Store a whole session in one atomic step: after a crash it is there whole, or not at all.

        Order, entries, ``meta`` and ``truncated`` are as given. A session of that id, even an empty one, is a
        `ConflictError`, and stays as it is.
        """
        ...


@runtime_checkable
class Rewind(Protocol):
    """Optional: undoing the end of a session (M3)."""

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        """Drop the tail of the flat view behind its first ``keep_entries`` entries; return how many entries went.

        Later segments go whole; their run ids are free again. A segment that the cut lands inside loses the calls
        whose result was cut, reasoning left at its end, and its ``meta``, and reads as ``truncated``; its run id stays
        taken, and the entries first appended are still the ones that `Session.append` compares with (S3). Left
        empty, it goes. All of it counts: what is kept may be less than ``keep_entries``. The result is what
        `stores.surgery.rewind_plan` says for the session's segments, whole or not at all.

        0 empties the session, which is still listed. At or past the end, or an unknown session: nothing happens, 0.
        Negative is a `UserError`. Undoing the last run costs the same however long the session is. It touches no
        checkpoint: one that is left of a run that went would append it again when it is replayed, so delete those of
        the plan's ``runs`` before.
        """
        ...


@runtime_checkable
class Trim(Protocol):
    """Optional: freeing the space that old tool outputs take (M1)."""

    async def trim_tool_results(
        self, session_id: str, *, keep_chars: int = 400, keep_runs: int = 1, archive: ResultStore | None = None
    ) -> int:
        """Cut the tool outputs of all but the last ``keep_runs`` segments; return how many were cut.

        Each keeps at most its first ``keep_chars`` characters, none of them cut in two, and a marker that says how
        much is gone and whether it can be recovered. Nothing else changes: order, pairing, error flags, ids, ``meta``,
        counts, and what `Session.append` compares with. No output grows: one that a marker would not make shorter is
        left alone. The same trim again cuts nothing; one with a lower ``keep_chars`` cuts further.

        With an ``archive`` an output is cut only once its whole is durable there. Interrupted anywhere, each output is
        whole or properly cut, and the same call again does the rest. Negative arguments are a `UserError`.
        """
        ...


@runtime_checkable
class ResultStore(Protocol):
    """Whole tool outputs by reference, kept apart from the transcripts they were cut from (M2)."""

    async def put(self, reference: ResultRef, output: str) -> bool:
        """Store the output durably; True when it is there, now or from before.

        False when another text is there under that reference: it stays, and nothing of ``output`` is stored.
        """
        ...

    async def get(self, reference: ResultRef) -> str | None:
        """The output; None when there is none."""
        ...

    async def drop(self, run_id: str) -> None:
        """Remove every output of that run. Unknown: nothing happens."""
        ...


@runtime_checkable
class KeptHistories(Protocol):
    """Optional: finding the histories that `Checkpointer.delete` has left (H1)."""

    async def kept_histories(self) -> list[RunInfo]:
        """The deleted runs whose history is still there, newest activity first, with ``deleted`` as their status.

        Another `Checkpointer.delete`, without ``keep_history``, removes what is left of them.
        """
        ...
