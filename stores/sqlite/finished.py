"""Runs that their session holds as finished, whatever is left of their checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stores.errors import StoreError, StoreVersionError
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS, find_segment, segment_at
from stores.sqlite.strands import strand_of

if TYPE_CHECKING:
    from sqlite3 import Connection


def is_finished(connection: Connection, run_id: str, session_id: str | None, *, where: str) -> bool:
    """True when the whole segment of the run is in its session, as far as that is not damaged.

    A segment is appended when its run is completed, and never again (S3): to go on with such a run would do its last
    steps over, and nothing of that could be appended. The session answers for it (R4).
    Raises `StoreVersionError` where it may be in there, and a newer lovia has migrated it.
    """
    if session_id is None:
        return False
    try:
        if version_of(connection, SESSIONS, where=where) != SESSIONS.version:
            return False
        strand = strand_of(connection, session_id)
        found = find_segment(connection, strand, run_id, where=where)
        return found is not None and not segment_at(connection, strand, found[0], where=where).truncated
    except StoreVersionError:
        raise
    except StoreError:
        return False
