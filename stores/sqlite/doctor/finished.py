"""Runs that their session holds as finished, whatever is left of their checkpoints.

A segment is appended when its run is completed, and never again (S3). To go on with such a run would do its last steps
over, and nothing of that could be appended; to forget it would free its id, and with that its idempotency keys (R4).
So a checkpoint is made again from the segment: the id replays.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from sqlite3 import Connection

from stores import codec
from stores.closing import save_of_segment
from stores.entries import JSON, Entry
from stores.errors import StoreDamagedError, StoreError
from stores.fields import changed
from stores.records import Save, Segment
from stores.references import results_of
from stores.sqlite.logs import new_log
from stores.sqlite.results import RESULTS, read_result
from stores.sqlite.rows import RunRow, read_line, update_line
from stores.sqlite.saves import insert
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS, SegmentRow, find_segment, segment_at
from stores.sqlite.strands import Strand, strand_of
from stores.surgery import entries_checksum


def finished_run(connection: Connection, run_id: str, session_id: str | None) -> Save | None:
    """What the session and the run's line tell of the run, as far as its segment is not damaged: the one save that it
    comes to.

    Raises `StoreError` where it may be in there, and that cannot be told: a newer lovia has migrated the sessions, or
    the row that says where this one's segments are is damaged.
    """
    row = stored_segment_of(connection, run_id, session_id)
    with suppress(StoreDamagedError):
        if row and not row.truncated and session_id is not None:
            known = _known(connection, strand_of(connection, session_id), run_id, row.n)
            return save_of_segment(_as_appended(connection, row), session_id, known)
    return None


def stored_segment_of(connection: Connection, run_id: str, session_id: str | None) -> SegmentRow | None:
    """The run's segment in that session, where it is whole, also one that a rewind has cut. Raises `StoreError` as
    `finished_run` does."""
    if session_id is None or version_of(connection, SESSIONS, where="") != SESSIONS.version:
        return None
    strand = strand_of(connection, session_id)
    found = find_segment(connection, strand, run_id, where="")
    with suppress(StoreDamagedError):
        return segment_at(connection, strand, found[0], where="") if found else None
    return None


def _as_appended(connection: Connection, row: SegmentRow) -> Segment:
    """The segment with the archived outputs in the place of what a trim has left, where that is what was appended."""
    segment = row.segment(where="")
    entries = with_archived(connection, segment)
    return replace(segment, entries=entries) if entries_checksum(entries) == row.checksum else segment


def with_archived(connection: Connection, segment: Segment) -> list[Entry]:
    """Its entries with the archived outputs in the place of what a trim has left, as far as these can be read."""
    entries = list(segment.entries)
    with suppress(StoreError):
        if version_of(connection, RESULTS, where="") == RESULTS.version:
            for index, reference, result in results_of(segment.run_id, segment.entries):
                if result.trimmed:
                    output = read_result(connection, reference, where="") or ""
                    entries[index] = changed(result, output=output, trimmed=None)
    return entries


def _known(connection: Connection, strand: Strand | None, run_id: str, n: int) -> dict[str, JSON]:
    """Its parent, and the run whose segment stands before its: with it ended the history that this one started from.

    Not exactly, where another run of the session ended meanwhile; a resume would have gone on behind that too (Z1).
    """
    known: dict[str, JSON] = {}
    with suppress(StoreError):
        line = read_line(connection, run_id, where="")
        known |= {name: line.get(name) for name in ("parent", "history_limit")}
    with suppress(StoreError):
        known["history_upto"] = segment_at(connection, strand, n - 1, where="").run_id if n > 1 else None
    return known


def write_again(connection: Connection, run_id: str, save: Save) -> None:
    """The run as that one save, in a new log. Its session knows already: it is settled."""
    row = RunRow(run_id=run_id, log=new_log(connection, run_id), settled=1)
    row.advance(save)
    insert(connection, row, codec.encode_save(save), None)
    row.insert(connection)
    update_line(connection, run_id, save.head, where="")
