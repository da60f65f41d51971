"""What may be wrong with a session, and how it is put right: every segment that is whole is kept, in its order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from sqlite3 import Connection

from stores.entries import UnknownEntryError
from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.check_segment import changed_segment, proven_by_entries, write_as_it_was
from stores.sqlite.doctor.completed import CompletedRuns, completed_runs
from stores.sqlite.doctor.leading import fits, led_elsewhere, seen_in
from stores.sqlite.doctor.older_copies import last_counted, without_older
from stores.sqlite.doctor.quarantine import copy_aside, set_aside
from stores.sqlite.doctor.restoring import find_lost
from stores.sqlite.doctor.session_diagnosis import Diagnosis, uncounted
from stores.sqlite.segments import SegmentRow, SessionRow, read_segment, read_session
from stores.sqlite.strands import DROPPED, Strand, new_strand, pieces, readers, release, strand_of

_EXTRA = "its session does not count it"


def stray_rows(connection: Connection) -> Iterator[tuple[str, str]]:
    """Rows whose id is no text any more, so that no session is found by it: what each is, and the table and condition
    that select it. The session itself is there with its strand."""
    for rowid, name in fetch(connection, "SELECT rowid, session_id FROM lovia_sessions"):
        if not _is_found(connection, name):
            yield f"the row of session {name!r} is not what was written", f"lovia_sessions WHERE rowid = {rowid}"


def _is_found(connection: Connection, name: object) -> bool:
    query = "SELECT 1 FROM lovia_sessions WHERE session_id = ?"
    return isinstance(name, str) and bool(fetch(connection, query, (name,)))


def session_ids(connection: Connection) -> list[str]:
    """Every session that there is a row of, or that has a strand. Forks come behind what they were forked from, where
    what they share is made again."""
    names = {name for (name,) in fetch(connection, "SELECT session_id FROM lovia_sessions")}
    names = {name for name in names if _is_found(connection, name)}
    names |= {name for (name,) in fetch(connection, "SELECT session_id FROM lovia_strands WHERE state = 'own'")}
    depths: dict[object, int] = {}
    strands: dict[object, tuple[object, int]] = {}
    query = "SELECT strand, base, session_id FROM lovia_strands ORDER BY strand"  # a base is older
    for number, base, name in fetch(connection, query):
        source, depth = strands.get(base, (name, 0))
        depths[name] = depth + (source != name)
        strands[number] = name, depths[name]
    return sorted(names, key=lambda name: (depths.get(name, 0), str(name)))


def is_reached(connection: Connection, session_id: str) -> bool:
    """True when all that says where its segments are is whole, and there."""
    try:
        strand = strand_of(connection, session_id, where="")
        return strand is not None and bool(list(pieces(connection, strand, where="")))
    except StoreDamagedError:
        return False


def examine(connection: Connection, session_id: str, *, completed: CompletedRuns | None = None) -> Diagnosis:
    """Look at everything that belongs to the session."""
    found = Diagnosis(session_id)
    try:
        found.row = read_session(connection, session_id, where="")
    except StoreDamagedError as error:
        found.problems.append(error.message)
    found.strand = strand_of(connection, session_id, where="")
    with suppress(StoreDamagedError):
        found.chain = [piece for piece, _ in pieces(connection, found.strand, where="")]
    completed = completed or completed_runs(connection)
    whole = _go_through(connection, found, completed)
    if found.row and not found.problems:
        _compare(connection, found, found.row, {segment.n for segment in whole})
    elif found.extra:
        found.problems.append(uncounted(session_id, found.extra.values()))
    if found.problems and found.can_mend and found.led is None:
        _look_for_lost(connection, found, without_older(found, whole, completed), completed)
    return found


def _look_for_lost(connection: Connection, found: Diagnosis, whole: list[SegmentRow], completed: CompletedRuns) -> None:
    """Look for what can be made again, and count what cannot."""
    hidden = _hidden(connection, found.damaged, whole)
    count = max([len(whole) + len(found.damaged) - len(hidden), *(segment.n for segment in whole)])
    row = found.row or SessionRow(found.session_id, count)
    find_lost(connection, found, row, whole, completed)
    found.proven = _proven(connection, row, found.damaged, [*whole, *found.made])
    found.bared = [segment.n for segment in whole if segment.n in hidden]
    found.lost = max([row.segments, *(one.n for one in found.made)]) - len(whole) - len(found.made) - len(found.proven)


def _proven(connection: Connection, row: SessionRow, damaged: list[int], present: list[SegmentRow]) -> list[SegmentRow]:
    """The damaged segments whose entries are proven, of runs and at places of which there is none ``present``."""
    free = {*range(1, row.segments + 1)} - {segment.n for segment in present}
    runs = {segment.run_id for segment in present}
    found = [segment for rowid in damaged if (segment := proven_by_entries(connection, rowid, free))]
    return list({segment.n: segment for segment in found if segment.run_id not in runs}.values())


def _hidden(connection: Connection, damaged: list[int], whole: list[SegmentRow]) -> list[int]:
    """The numbers of the whole segments of which a copy is damaged that hid them."""
    rows = [fetch(connection, "SELECT n, run_id FROM lovia_segments WHERE rowid = ?", (rowid,)) for rowid in damaged]
    copies = {copy for row in rows for copy in row}
    return [segment.n for segment in whole if (segment.n, segment.run_id) in copies]


def _go_through(connection: Connection, found: Diagnosis, completed: CompletedRuns) -> list[SegmentRow]:
    """Look at the segments, and give those that can be kept. What a whole row does not count was undone (M3), unless it
    is the row that is older."""
    whole: dict[int, tuple[int, SegmentRow, int]] = {}
    for rowid in seen_in(connection, found.strand):
        try:
            segment = _as_written(connection, found, rowid)
            entries = len(segment.segment(where="").entries)
        except UnknownEntryError as error:
            found.problems.append(error.message)
            found.can_mend = False
        except StoreDamagedError as error:
            found.problems.append(error.message)
            found.damaged.append(rowid)
        else:
            if segment.n not in whole or whole[segment.n][1].strand < segment.strand:
                whole[segment.n] = (rowid, segment, entries)
    last = last_counted(found, (segment for _, segment, _ in whole.values()), completed)
    found.extra = {rowid: segment for rowid, segment, _ in whole.values() if segment.n > last}
    kept = [whole[n] for n in sorted(whole) if n <= last]
    found.whole = [rowid for rowid, _, _ in kept]
    found.entries = sum(entries for _, _, entries in kept)
    return [segment for _, segment, _ in kept]


def _as_written(connection: Connection, found: Diagnosis, rowid: int) -> SegmentRow:
    """The segment of that row id, also where it is not what was written, and can be told what that was."""
    try:
        return read_segment(connection, rowid, where="")
    except StoreDamagedError as error:
        segment = changed_segment(connection, rowid)
        if segment is None:
            raise
        found.problems.append(error.message)
        found.changed[rowid] = segment
        return segment


def _compare(connection: Connection, found: Diagnosis, row: SessionRow, numbers: set[int]) -> None:
    """The session's row, its strand, and the segments must agree; where they do not, the row is the truth."""
    session_id, missing = found.session_id, sorted({*range(1, row.segments + 1)} - numbers)
    if found.strand is None and row.segments:
        found.problems.append(f"the row that says where the segments of session {session_id!r} are is missing")
    elif missing:
        s, are = ("", "is") if len(missing) == 1 else ("s", "are")
        found.problems.append(f"segment{s} {', '.join(map(str, missing))} of session {session_id!r} {are} missing")
    elif found.entries != row.entries:
        found.problems.append(f"session {session_id!r} should have {row.entries} entries, and has {found.entries}")
    elif not found.extra:
        return
    found.led = led_elsewhere(connection, found.strand, row)
    found.is_led_whole = found.led is not None and fits(connection, found.led, row)
    if found.extra and (found.led is None or not found.problems):
        found.problems.append(uncounted(session_id, found.extra.values()))


def mend(connection: Connection, session_id: str, *, aside: str) -> str | None:
    """Put the session right, in the transaction that is open, and say what was done.

    What it loses is in the quarantine, or, in a file that was made of a damaged one, in that one: ``aside``.
    """
    found = examine(connection, session_id)
    if not found.problems or not found.can_mend:
        return "it is whole again with what it shares" if found.can_mend else None
    done = found.done(aside)
    if found.changed:
        write_as_it_was(connection, found.changed)
        found = examine(connection, session_id)
    if found.problems and found.can_mend:
        _mend(connection, found)
    return done


def _mend(connection: Connection, found: Diagnosis) -> None:
    """Put right what is wrong with the session beside segments of which it can be told what they were."""
    session_id = found.session_id
    copy_aside(connection, "lovia_sessions", "session_id = ?", session_id)
    if found.led is not None:
        _lead(connection, found, found.led)
        return
    for rowid in (*found.damaged, *found.older_rows):
        set_aside(connection, "lovia_segments", "rowid = ?", rowid)
    for rowid in found.extra:
        copy_aside(connection, "lovia_segments", "rowid = ?", rowid, why=_EXTRA)
    whole = _with_made(connection, found)
    entries = sum(len(read_segment(connection, rowid, where="").segment(where="").entries) for rowid in whole)
    left = _put_in_order(connection, found, whole)
    if whole:
        at = found.row.updated_at if found.row else time.time()
        SessionRow(session_id, len(whole), entries, at).write(connection)
    else:
        connection.execute("DELETE FROM lovia_sessions WHERE session_id = ?", (session_id,))
    if left is not None:
        release(connection, left)


def _put_in_order(connection: Connection, found: Diagnosis, whole: list[int]) -> Strand | None:
    """Number what is left of the session anew; the strand that it has no longer, if any."""
    strand = strand_of(connection, found.session_id, where="")
    if not whole:
        return strand
    if found.is_in_order:
        return None  # all stand where they stood
    assert strand is not None
    if strand.base is not None or readers(connection, strand.number) != []:
        _copy(connection, strand, found.session_id, whole)
        return strand
    for rowid in found.extra:
        connection.execute("DELETE FROM lovia_segments WHERE rowid = ?", (rowid,))
    for n, rowid in enumerate(whole, 1):
        _renumber(connection, rowid, n)
    return None


def _lead(connection: Connection, found: Diagnosis, strand: Strand) -> None:
    """Give the session the strand with which it has what its row counts."""
    if found.strand is not None:
        copy_aside(connection, "lovia_strands", "strand = ?", found.strand.number)
        strand.put(connection)
    else:
        new_strand(connection, strand.session_id, base=strand.base, upto=strand.upto, shared=strand.shared)


def _with_made(connection: Connection, found: Diagnosis) -> list[int]:
    """Put the segments that checkpoints have, and those whose entries are proven, in their places, in whatever strand
    that is. The row ids of all that are whole then, in order.

    The extra ones are still there, and no part of the session."""
    again = [*found.made, *found.proven, *found.cut]
    if not again:
        return found.whole
    strand = found.strand or new_strand(connection, found.session_id)
    for one in again:
        replace(one, strand=one.strand or strand.number).put(connection)
    return [rowid for rowid in seen_in(connection, strand) if rowid not in found.extra]


def _copy(connection: Connection, old: Strand, session_id: str, whole: list[int]) -> None:
    """A strand of its own for a session that shares with others: what they have is not ours to number anew."""
    replace(old, state=DROPPED).put(connection)
    strand = new_strand(connection, session_id)
    for n, rowid in enumerate(whole, 1):
        row = read_segment(connection, rowid, where="")
        replace(row, n=n, session_id=session_id, strand=strand.number).put(connection)


def _renumber(connection: Connection, rowid: int, n: int) -> None:
    """Move a segment, which is whole, to place ``n``."""
    row = read_segment(connection, rowid, where="")
    if row.n != n:
        connection.execute("DELETE FROM lovia_segments WHERE rowid = ?", (rowid,))
        replace(row, n=n).put(connection)
