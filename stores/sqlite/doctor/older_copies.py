"""Which is the older copy, where a session's row and its segments are whole and do not agree.

Both are written in one transaction, so one of the two has come back from before. That a segment counts is told by a
completed checkpoint that holds the same, since `lovia rewind` and `lovia rm` delete that first (M4), or by its end, if
that is later than the row: a rewind does not change when the session's last segment was appended. Any other may be from
before the rewind that cut or undid it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, pairwise

from stores.records import RunSnapshot
from stores.sqlite.doctor.completed import CompletedRuns, held_by
from stores.sqlite.doctor.session_diagnosis import Diagnosis, Older, uncounted
from stores.sqlite.segments import SegmentRow, SessionRow
from stores.sqlite.strands import Strand
from stores.surgery import cut_to

_AT_ONCE = 1.0
"""Seconds within which a run that has ended is appended, where nobody else keeps the file."""


@dataclass(slots=True, frozen=True)
class _Evidence:
    """What tells of the segments of the session with that ``row``: its ``completed`` runs, and when it changed last."""

    row: SessionRow
    completed: list[RunSnapshot]

    def last_counted(self, segments: list[SegmentRow]) -> int:
        """The number of the last one that counts: as the row says, or of the ``segments`` that it does not count."""
        own = [one for one in segments if one.session_id == self.row.session_id]
        later = (one.n for one in own if self._is_later(one))
        return max([self.row.segments, *self._held(own), *later])

    def older_copy(self, strand: Strand, segments: list[SegmentRow]) -> Older | None:
        """The last of the ``segments`` that can be why they do not hold as many entries as the row counts; None where
        the row is older, or nothing but that can be told."""
        own = [one for one in segments if one.strand == strand.number and one.n > strand.shared]
        if own and self._is_later(own[-1]):
            return None
        held, runs = self._held(own), {one.run_id for one in segments}
        suspects = [one for one in reversed(own) if one.n not in held]
        surplus = sum(map(_size, segments)) - self.row.entries
        others = {len(run.entries) for run in self.completed if run.run_id not in runs}
        replaced = (Older(one, is_replaced=True) for one in suspects if _size(one) - surplus in others)
        stood = self._stood(segments)
        cuts = (Older(one, cut) for one in suspects if one.n in stood and (cut := _cut_to(one, _size(one) - surplus)))
        undone = (Older(one) for one in suspects)
        if found := next(replaced, None):
            return found
        return next(chain(cuts, undone), None) if surplus > 0 else None

    def _stood(self, segments: list[SegmentRow]) -> set[int]:
        """The numbers of those that were there when the next one was appended, since its run began behind them; of the
        last one, if it was appended when the row says that anything was."""
        began = {run.run_id: run.head.history_upto for run in self.completed}
        stood = {one.n for one, following in pairwise(segments) if began.get(following.run_id) == one.run_id}
        at = segments[-1].segment(where="").finished_at
        is_last = at is not None and self.row.updated_at - at < _AT_ONCE
        return stood | ({segments[-1].n} if is_last else set())

    def _held(self, segments: list[SegmentRow]) -> set[int]:
        """The numbers of those of which a completed checkpoint holds what was appended."""
        held = held_by(self.completed)
        return {one.n for one in segments if not one.truncated and (one.run_id, one.checksum) in held}

    def _is_later(self, segment: SegmentRow) -> bool:
        return (segment.segment(where="").finished_at or 0.0) > self.row.updated_at


def last_counted(found: Diagnosis, segments: Iterable[SegmentRow], completed: CompletedRuns) -> int:
    """The number of the session's last segment. A row that does not count it is older, and as good as damaged."""
    row = found.row
    behind = [one for one in segments if row and one.n > row.segments]
    if row is None or not behind:
        return sys.maxsize
    last = _Evidence(row, completed(row.session_id)).last_counted(behind)
    if counted := [one for one in behind if one.n <= last]:
        found.problems.append(uncounted(row.session_id, counted, by="its row, an older copy,"))
        found.row = None
    return last


def without_older(found: Diagnosis, whole: list[SegmentRow], completed: CompletedRuns) -> list[SegmentRow]:
    """The segments without one that is an older copy, or with what a rewind had left of it."""
    row, strand = found.row, found.strand
    if row is None or strand is None or not whole or found.entries == row.entries or len(whole) != row.segments:
        return whole
    if found.damaged or found.changed or found.extra:
        return whole
    found.older = _Evidence(row, completed(found.session_id)).older_copy(strand, whole)
    if found.older is None:
        return whole
    place = whole.index(found.older.segment)
    found.older_rows = [found.whole.pop(place)]
    return [*whole[:place], *found.cut, *whole[place + 1 :]]


def _size(segment: SegmentRow) -> int:
    return len(segment.segment(where="").entries)


def _cut_to(segment: SegmentRow, size: int) -> SegmentRow | None:
    """What a rewind leaves of the segment, if it leaves just so many entries."""
    left = cut_to(segment.segment(where="").entries, size)
    return segment.cut_to(left) if left else None
