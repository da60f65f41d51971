"""A session's lost segments, made again in their place from the checkpoints of their runs (R7).

A completed run's checkpoint holds all that its segment did. Which run's a lost segment was, its damaged row says, and
with it the checksum that proves it; of a row that is gone, the count of entries in the session's row does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stores import codec
from stores.closing import segment_meta
from stores.errors import StoreError, StoreVersionError
from stores.records import RunSnapshot, Status
from stores.sqlite.checksums import fetch
from stores.sqlite.rows import RUNS, read_row
from stores.sqlite.saves import read_snapshot
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SegmentRow, SessionRow, encode_entries
from stores.surgery import entries_checksum

if TYPE_CHECKING:
    from sqlite3 import Connection


def restorable(
    connection: Connection, session: SessionRow, whole: list[SegmentRow], damaged: list[int], *, where: str
) -> list[SegmentRow]:
    """The segments among the ``session.segments`` that are lost, as far as checkpoints have them, in their order.

    ``damaged`` are the row ids of what is left of them. Their ``strand`` is for the caller to set.
    """
    present = {row.run_id for row in whole}
    runs = [run for run in _completed(connection, session.session_id, where=where) if run.run_id not in present]
    lost = sorted({*range(1, session.segments + 1)} - {row.n for row in whole})
    proven = _proven(connection, runs, lost, damaged) if runs and lost else {}
    named = {run.run_id for run in proven.values()}
    rest = [run for run in runs if run.run_id not in named]
    made = proven | dict(zip([n for n in lost if n not in proven], rest, strict=False))
    held = sum(len(row.segment(where=where).entries) for row in whole) + sum(len(run.entries) for run in made.values())
    is_all = len(rest) + len(proven) == len(lost) and held == session.entries
    return [_segment(session.session_id, n, run) for n, run in sorted((made if is_all else proven).items())]


def _completed(connection: Connection, session_id: str, *, where: str) -> list[RunSnapshot]:
    """The completed runs of the session whose checkpoints are whole, oldest first."""
    try:
        if version_of(connection, RUNS, where=where) != RUNS.version:
            return []
    except StoreVersionError:
        return []
    query = "SELECT run_id FROM lovia_runs WHERE session_id = ? AND status = ? ORDER BY updated_at, run_id"
    runs = []
    for (run_id,) in fetch(connection, query, (session_id, Status.COMPLETED.value)):
        try:
            if row := read_row(connection, run_id, where=where):
                runs.append(read_snapshot(connection, row, where=where))
        except StoreError:
            continue
    return runs


def _proven(
    connection: Connection, runs: list[RunSnapshot], lost: list[int], damaged: list[int]
) -> dict[int, RunSnapshot]:
    """By number, the runs whose segments' damaged rows have the checksum of what the checkpoints hold."""
    sums = {(run.run_id, entries_checksum(run.entries)): run for run in runs}
    proven = {}
    for rowid in damaged:
        query = "SELECT n, run_id, checksum, truncated FROM lovia_segments WHERE rowid = ?"
        for n, run_id, total, truncated in fetch(connection, query, (rowid,)):
            if n in lost and truncated == 0 and (run_id, total) in sums:
                proven[n] = sums[run_id, total]
    return proven


def _segment(session_id: str, n: int, run: RunSnapshot) -> SegmentRow:
    meta = codec.dumps(segment_meta(run.head, run.head.updated_at))
    return SegmentRow(session_id, n, run.run_id, encode_entries(run.entries), meta, entries_checksum(run.entries))
