"""Rewinding a session: its end goes in one transaction, and only what goes, or is cut, is read (M3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stores.records import Segment
from stores.sqlite.segments import SegmentRow, SessionRow, read_session, segment_at
from stores.sqlite.strands import Strand, cut_behind, writable
from stores.surgery import rewind_plan
from stores.surgery.forking import shared_beginning

if TYPE_CHECKING:
    from sqlite3 import Connection


def rewind(connection: Connection, session_id: str, keep_entries: int, *, where: str) -> int:
    """Drop what stands behind the session's first ``keep_entries`` entries, and count it."""
    row = read_session(connection, session_id, where=where)
    if row is None or (keep_entries and keep_entries >= row.entries):
        return 0
    strand = row.strand(connection, where=where)
    tail = _tail(connection, row, strand, keep_entries, where=where)
    if strand is None or not tail:
        return 0
    segments = [segment for _, segment in tail]
    first = row.entries - sum(len(segment.entries) for segment in segments)
    plan = rewind_plan(segments, keep_entries - first)
    untouched = row.segments - len(tail) + plan.untouched
    if untouched < strand.shared:
        raise shared_beginning(session_id)
    strand = writable(connection, strand, untouched + 1)
    if plan.cut:
        cut = tail[plan.untouched][0].cut_to(plan.cut.entries)
        replace(cut, strand=strand.number, session_id=session_id).put(connection)
    row.segments = untouched + bool(plan.cut)
    row.entries -= plan.removed
    row.write(connection)
    cut_behind(connection, strand, own=row.segments, shared=untouched)
    return plan.removed


def _tail(
    connection: Connection, row: SessionRow, strand: Strand | None, keep_entries: int, *, where: str
) -> list[tuple[SegmentRow, Segment]]:
    """The segments that end behind the cut, oldest first."""
    tail: list[tuple[SegmentRow, Segment]] = []
    end = row.entries
    for n in range(row.segments, 0, -1):
        if keep_entries and end <= keep_entries:
            break
        found = segment_at(connection, strand, n, where=where)
        tail.insert(0, (found, found.segment(where=where)))
        end -= len(tail[0][1].entries)
    return tail
