"""What a forked session and its source refuse, in one place for every store (H3)."""

from __future__ import annotations

from collections.abc import Sequence

from stores.errors import ConflictError
from stores.records import Segment


def lost_beginning(session_id: str, upto: str) -> ConflictError:
    """The error for a session that no longer holds what a run in it started from."""
    return ConflictError(
        f"session {session_id!r} no longer holds the segment of run {upto!r} whole, from which the run to fork started",
        hint="a rewind or rm has taken it: fork a run that was started since",
    )


def own_beginning(session_id: str, new_id: str) -> ConflictError:
    """The error for a session that would begin with what itself held once."""
    return ConflictError(
        f"session {session_id!r} begins with what session {new_id!r} held, which so cannot begin with it",
        hint="use a new id",
    )


def shared_beginning(session_id: str) -> ConflictError:
    """The error for a rewind into what a forked session shares with its source."""
    return ConflictError(
        f"session {session_id!r} shares its beginning with the one it was forked from",
        hint="keep that much, or fork again, from an earlier step",
    )


def refuse_shared(session_id: str, removed: int, keep_entries: int, shared: Sequence[Segment]) -> None:
    """Raise when a rewind that removes something would cut into the shared segments."""
    if removed and keep_entries < sum(len(segment.entries) for segment in shared):
        raise shared_beginning(session_id)
