"""Runs that their session holds as finished, whatever is left of their checkpoints.

A segment is appended when its run is completed, and never again (S3). To go on with such a run would do its last steps
over, and nothing of that could be appended; to forget it would free its id, and with that its idempotency keys (R4).
So a checkpoint is made again from the segment: the id replays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stores import codec
from stores.closing import save_of_segment
from stores.errors import StoreError, StoreVersionError
from stores.records import Segment
from stores.sqlite.logs import new_log
from stores.sqlite.rows import RunRow, update_line
from stores.sqlite.saves import insert
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS, find_segment, segment_at
from stores.sqlite.strands import strand_of

if TYPE_CHECKING:
    from sqlite3 import Connection


def finished_segment(connection: Connection, run_id: str, session_id: str | None, *, where: str) -> Segment | None:
    """The whole segment of the run in its session, as far as that is not damaged.

    Raises `StoreVersionError` where it may be in there, and a newer lovia has migrated it.
    """
    if session_id is None:
        return None
    try:
        if version_of(connection, SESSIONS, where=where) != SESSIONS.version:
            return None
        strand = strand_of(connection, session_id)
        found = find_segment(connection, strand, run_id, where=where)
        if found is None:
            return None
        segment = segment_at(connection, strand, found[0], where=where).segment(where=where)
    except StoreVersionError:
        raise
    except StoreError:
        return None
    return None if segment.truncated else segment


def write_again(connection: Connection, segment: Segment, session_id: str, *, where: str) -> None:
    """A run as the one save that its segment comes to, in a new log. Its session knows already: it is settled."""
    save = save_of_segment(segment, session_id)
    row = RunRow(run_id=segment.run_id, log=new_log(connection, segment.run_id), settled=1)
    row.advance(save)
    insert(connection, row, codec.encode_save(save), None)
    row.insert(connection)
    update_line(connection, row.run_id, save.head, where=where)
