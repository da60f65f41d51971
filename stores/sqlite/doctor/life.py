"""Whether a run whose row is damaged or gone was deleted, all but its history: what has been deleted stays so (H1).

Its saves do not say. A row of which one value changed is found again by its checksum; what is left of any other may
still read so. A completed run that its session does not have was deleted, or undone; and so was one whose segment was
cut short, since a rewind deletes the checkpoint before it cuts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from stores.errors import StoreError
from stores.records import Status
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.finished import stored_segment_of
from stores.sqlite.doctor.leading import fits
from stores.sqlite.doctor.links import with_one_changed
from stores.sqlite.rows import DELETED, RunRow, as_written, stored_rows
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS, find_segment, read_session
from stores.sqlite.strands import strand_of

_NO_SESSION = "; no session has it, so it is taken for deleted, and stays a kept history"
_CUT = "; a rewind has cut it short in its session, so it is taken for deleted, and stays a kept history"
_UNTOLD = "; whether the run was deleted, all but its history, cannot be told"


@dataclass(slots=True, frozen=True)
class Life:
    """What is known of the run beside its saves: its ``row``, if it is proven, and whether it was deleted; ``why`` that
    is so, where its row does not say it, or that it cannot be told."""

    row: RunRow | None = None
    is_deleted: bool = False
    why: str = ""


def life_of(connection: Connection, restored: RunRow) -> Life:
    """What there is to know of the run that has been ``restored`` from its saves, and has no row that is whole."""
    stored = stored_rows(connection, restored.run_id, restored.log)
    could_be = (values for row in stored for values in with_one_changed(row, _candidates(restored)))
    rows = (row for values in could_be if (row := as_written(values)))
    if proven := next((row for row in rows if row.run_id == restored.run_id and row.log == restored.log), None):
        return Life(proven, proven.is_deleted)
    said = {row[4] for row in stored}
    if DELETED in said:
        return Life(is_deleted=True)
    if restored.status in said:
        return Life()
    if _is_cut_short(connection, restored):
        return Life(is_deleted=True, why=_CUT)
    if _is_in_no_session(connection, restored):
        return Life(is_deleted=True, why=_NO_SESSION)
    return Life(why=_UNTOLD)


def _candidates(restored: RunRow) -> Iterator[list[Any]]:
    """Of each column, what could have stood in it."""
    yield from ([restored.run_id], [restored.log], [restored.session_id], [0, 1], [restored.status, DELETED])
    yield from ([restored.save], [restored.step], [restored.updated_at], [restored.entries], [restored.last])


def _is_cut_short(connection: Connection, restored: RunRow) -> bool:
    """True when its segment in its session is whole, and says that a rewind cut it (M4)."""
    with suppress(StoreError):
        segment = stored_segment_of(connection, restored.run_id, restored.session_id)
        return segment is not None and bool(segment.truncated)
    return False


def _is_in_no_session(connection: Connection, restored: RunRow) -> bool:
    """True when the run is completed, and its session, if there still is one, is whole without it."""
    if restored.status != Status.COMPLETED or restored.session_id is None:
        return False
    with suppress(StoreError):
        if version_of(connection, SESSIONS, where="") != SESSIONS.version:
            return False
        row = read_session(connection, restored.session_id, where="")
        strand = strand_of(connection, restored.session_id, where="")
        if row is None:
            query = "SELECT 1 FROM lovia_segments WHERE session_id = ? LIMIT 1"
            return strand is None and not fetch(connection, query, (restored.session_id,))
        if strand is None:
            return not row.segments
        return fits(connection, strand, row) and find_segment(connection, strand, restored.run_id, where="") is None
    return False
