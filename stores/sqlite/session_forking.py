"""A session that begins with what another one began with: a strand that goes on from the other's (H3)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from stores.errors import RunExistsError
from stores.ids import as_words
from stores.sqlite.segments import SessionRow, begins_with, count_entries, find_segment, read_session, segment_at
from stores.sqlite.strands import OWN, PREPARED, new_strand, release, strand_of
from stores.surgery.forking import lost_beginning, own_beginning

if TYPE_CHECKING:
    from sqlite3 import Connection


def refuse_taken(connection: Connection, new_id: str, *, where: str) -> None:
    """Raise when there is a session of that id."""
    if read_session(connection, new_id, where=where):
        hint = f"look at it: lovia history {as_words(f'session:{new_id}')}"
        raise RunExistsError(f"session {new_id!r} exists already", hint=hint)


def prepare(connection: Connection, session_id: str, new_id: str, upto: str, *, where: str) -> None:
    """A strand for ``new_id``, which no session has yet."""
    refuse_taken(connection, new_id, where=where)
    row = read_session(connection, session_id, where=where)
    source = row.strand(connection, where=where) if row else None
    found = find_segment(connection, source, upto, where=where)
    if source is None or row is None or found is None:
        raise lost_beginning(session_id, upto)
    shared = found[0]
    if segment_at(connection, source, shared, where=where).truncated:
        raise lost_beginning(session_id, upto)
    if begins_with(connection, source, new_id, where=where):
        raise own_beginning(session_id, new_id)
    if 2 * shared <= row.segments:
        entries = count_entries(connection, source, 1, shared, where=where)
    else:
        entries = row.entries - count_entries(connection, source, shared + 1, row.segments, where=where)
    begins = {"base": source.number, "upto": shared, "shared": shared, "shared_entries": entries}
    new_strand(connection, new_id, **begins, state=PREPARED)


def confirm(connection: Connection, new_id: str, *, where: str) -> None:
    """The session is there from now on, when it was prepared."""
    strand = strand_of(connection, new_id, PREPARED, where=where)
    if strand is None or read_session(connection, new_id, where=where):
        return
    replace(strand, state=OWN).put(connection)
    SessionRow(new_id, strand.shared, strand.shared_entries, time.time()).write(connection)


def drop(connection: Connection, new_id: str, *, where: str) -> bool:
    """Remove a forked session that has no segment of its own; False when it is none."""
    row = read_session(connection, new_id, where=where)
    strand = strand_of(connection, new_id, OWN if row else PREPARED, where=where)
    if strand is None or not strand.shared or (row and row.segments > strand.shared):
        return False
    connection.execute("DELETE FROM lovia_sessions WHERE session_id = ?", (new_id,))
    release(connection, strand)
    return True
