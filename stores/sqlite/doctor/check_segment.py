"""A segment's row of which something changed, found again as it was written, or kept as it stands.

Where one value changed beside its entries, its checksum over all of it proves what that was. Where that is no help, the
checksum with which its entries were appended proves these; of a run that was pruned there is no other copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from sqlite3 import Connection
from typing import Any

from stores import codec
from stores.entries import ToolResultEntry
from stores.errors import StoreError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.completed import has_runs
from stores.sqlite.doctor.finished import with_archived
from stores.sqlite.doctor.leading import histories, is_whole
from stores.sqlite.doctor.links import MOST, with_one_changed
from stores.sqlite.doctor.naming import known_runs, near
from stores.sqlite.doctor.quarantine import copy_aside
from stores.sqlite.segments import SegmentRow, encode_entries, stored_segment
from stores.sqlite.strands import strand_at
from stores.surgery import entries_checksum

_BYTES = 200_000_000
"""How much is read for one value of a row at the most: less than a second's work."""

_RIVALS = "SELECT rowid FROM lovia_segments WHERE strand = ? AND (n = ? OR run_id = ?) AND rowid != ?"


def changed_segment(connection: Connection, rowid: int) -> SegmentRow | None:
    """The segment as its checksum proves that it was, if one value of its row has changed, and nothing whole stands in
    its place."""
    stands, total = stored_segment(connection, rowid)
    place = (stands.session_id, stands.n, stands.run_id)
    values = (*place, stands.entries, stands.meta, stands.checksum, stands.truncated, stands.strand)
    could_be = with_one_changed(values, _candidates(connection, stands))
    session_id = _session_of(connection, stands)
    rows = (SegmentRow(*values) for values in could_be)
    found = next((row for row in rows if row.sum == total and row.session_id == session_id), None)
    return found if found and not _has_rival(connection, rowid, found) else None


def proven_by_entries(connection: Connection, rowid: int, free: set[int]) -> SegmentRow | None:
    """The segment as it stands, where the checksum of its entries proves these, and its number is ``free``."""
    stands, _ = stored_segment(connection, rowid)
    session_id = _session_of(connection, stands)
    if stands.n not in free or session_id is None or not isinstance(stands.run_id, str):
        return None
    if _checksum(connection, stands) != stands.checksum or _has_rival(connection, rowid, stands):
        return None
    found = replace(stands, session_id=session_id, truncated=0, meta=_readable(stands.meta))
    return replace(found, entries=encode_entries(found.segment(where="").entries))


def write_as_it_was(connection: Connection, changed: dict[int, SegmentRow]) -> None:
    """Put these, by their row ids, in the place of what has become of them: they may stand in each other's."""
    for rowid in changed:
        copy_aside(connection, "lovia_segments", "rowid = ?", rowid)
    for row in changed.values():
        row.put(connection)


def _candidates(connection: Connection, row: SegmentRow) -> Iterator[Iterable[Any]]:
    """Of each column, what could have stood in it. Entries that are none, or not those of the checksum, though nothing
    was cut from them, are what changed themselves, unless it was the checksum."""
    session_id, total = _session_of(connection, row), _checksum(connection, row)
    if total is None:
        return
    yield [session_id]
    if total == row.checksum or row.truncated or _is_trimmed(row):
        most = min(MOST, _BYTES // len(row.entries))
        yield range(1, min(_last(connection, row), most) + 1)
        began_behind = histories(connection, session_id) if session_id is not None else ()
        known = known_runs(connection) if has_runs(connection) else ()
        yield islice(chain(near(row.run_id), known, began_behind), most)
    else:
        yield from ([], [])
    yield from ([], [_readable(row.meta)], [total], [0, 1])


def _is_trimmed(row: SegmentRow) -> bool:
    entries = replace(row, meta=b"{}").segment(where="").entries
    return any(isinstance(entry, ToolResultEntry) and entry.trimmed for entry in entries)


def _last(connection: Connection, row: SegmentRow) -> int:
    """The highest number that a segment can have in its strand."""
    query = "SELECT count(*) FROM lovia_segments WHERE strand = :strand"
    query += " UNION ALL SELECT upto FROM lovia_strands WHERE :strand IN (strand, base) AND typeof(upto) = 'integer'"
    count, *upto = (n for (n,) in connection.execute(query, {"strand": row.strand}).fetchall())
    return int(count) + max(upto, default=0)


def _session_of(connection: Connection, row: SegmentRow) -> str | None:
    """The session in whose strand it is."""
    strand = strand_at(connection, row.strand, where="")
    return strand.session_id if strand else None


def _checksum(connection: Connection, row: SegmentRow) -> str | None:
    """That of its entries, as they were before a trim cut them; None where they are none."""
    with suppress(ValueError, TypeError, LookupError, AttributeError, StoreError):
        segment = replace(row, meta=_readable(row.meta)).segment(where="")
        return entries_checksum(with_archived(connection, segment))
    return None


def _readable(meta: bytes) -> bytes:
    """What is noted of the run, as it was written; nothing, where it cannot be read any more."""
    with suppress(ValueError):
        if isinstance(read := codec.loads(meta), dict):
            return codec.dumps(read)
    return b"{}"


def _has_rival(connection: Connection, rowid: int, row: SegmentRow) -> bool:
    rivals = fetch(connection, _RIVALS, (row.strand, row.n, row.run_id, rowid))
    return any(is_whole(connection, rival) for (rival,) in rivals)
