"""Rewinding a session: its end goes in one transaction, and only what goes, or is cut, is read (M3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stores.records import Segment
from stores.sqlite.segments import SegmentRow, SessionRow, encode_entries, read_session, segment_at
from stores.surgery import rewind_plan

if TYPE_CHECKING:
    from sqlite3 import Connection


def rewind(connection: Connection, session_id: str, keep_entries: int, *, where: str) -> int:
    """Drop what stands behind the session's first ``keep_entries`` entries, and count it."""
    row = read_session(connection, session_id, where=where)
    if row is None or (keep_entries and keep_entries >= row.entries):
        return 0
    tail = _tail(connection, row, keep_entries, where=where)
    segments = [segment for _, segment in tail]
    first = row.entries - sum(len(segment.entries) for segment in segments)
    plan = rewind_plan(segments, keep_entries - first)
    row.segments += plan.untouched - len(tail)
    if plan.cut:
        row.segments += 1
        cut = replace(tail[plan.untouched][0], entries=encode_entries(plan.cut.entries), meta=b"{}", truncated=1)
        cut.update(connection)
    row.entries -= plan.removed
    row.write(connection)
    connection.execute("DELETE FROM lovia_segments WHERE session_id = ? AND n > ?", (session_id, row.segments))
    return plan.removed


def _tail(
    connection: Connection, row: SessionRow, keep_entries: int, *, where: str
) -> list[tuple[SegmentRow, Segment]]:
    """The segments that end behind the cut, oldest first."""
    tail: list[tuple[SegmentRow, Segment]] = []
    end = row.entries
    for n in range(row.segments, 0, -1):
        if keep_entries and end <= keep_entries:
            break
        found = segment_at(connection, row.session_id, n, where=where)
        tail.insert(0, (found, found.segment(where=where)))
        end -= len(tail[0][1].entries)
    return tail
