"""Sessions: appending to one and reading it, and what else a store may be able to do with them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from stores.entries import JSON, Entry
from stores.lines import SessionInfo
from stores.protocols.results import ResultStore
from stores.records import Segment


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
class SessionIndex(Protocol):
    """Optional: listing sessions."""

    async def sessions(self) -> list[SessionInfo]:
        """Every session, newest activity first, read without transcripts."""
        ...

    async def has_segment(self, session_id: str, run_id: str) -> bool:
        """True when the run's segment is stored in the session."""
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
