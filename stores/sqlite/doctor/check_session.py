"""What may be wrong with a session, and how it is put right: every segment that is whole is kept, in its order."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stores.entries import UnknownEntryError
from stores.errors import StoreDamagedError, StoreVersionError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.lost_strands import lost_strand, put_back
from stores.sqlite.doctor.quarantine import copy_aside, set_aside
from stores.sqlite.doctor.restoring import restorable
from stores.sqlite.rows import RUNS
from stores.sqlite.schema import bring_up, version_of
from stores.sqlite.segments import SegmentRow, SessionRow, read_segment, read_session, row_ids
from stores.sqlite.strands import new_strand, read_by_others, release, strand_of

if TYPE_CHECKING:
    from sqlite3 import Connection

_WHY = "it was damaged"


@dataclass(slots=True)
class Diagnosis:
    """What is wrong with a session. ``whole`` are the row ids of the segments that can be kept, ``made`` those that
    checkpoints have, and ``lost`` how many neither."""

    session_id: str
    problems: list[str] = field(default_factory=list)
    row: SessionRow | None = None
    whole: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    made: list[SegmentRow] = field(default_factory=list)
    lost: int = 0
    entries: int = 0
    can_mend: bool = True
    is_strand_lost: bool = False

    @property
    def is_lost(self) -> bool:
        return self.can_mend and bool(self.problems) and not self.whole and not self.made

    @property
    def outlook(self) -> str:
        """What mending can do."""
        if self.is_lost:
            return f"nothing of session {self.session_id!r} can be kept, and its id would start over"
        if not self.problems or not self.can_mend:
            return ""
        made = f"{self._made()} can be made again from {self._runs()}" if self.made else ""
        if self.is_strand_lost and not made and not self.lost:
            return "it can be made again from the segments that name it"
        return made or ("the session can be kept without it" if self.lost else "its row can be made from its segments")

    def done(self, aside: str) -> str:
        """What mending has done; what could not be kept is in ``aside``."""
        if self.is_lost:
            what = f"nothing of session {self.session_id!r} can be kept"
            return f"{what}: it was moved aside into {aside}, and its id would start over"
        done = [f"{self._made()} was made again from {self._runs()}"] if self.made else []
        if self.lost:
            done.append(f"no checkpoint holds the same, so session {self.session_id!r} goes on without {self._lost()}")
        if self.damaged:
            done.append(f"what was there was moved aside into {aside}")
        return "; ".join(done) or f"the row of session {self.session_id!r} was made again from its segments"

    def _made(self) -> str:
        return " and ".join(f"segment {one.n}" for one in self.made)

    def _runs(self) -> str:
        return " and ".join(f"the checkpoint of run {one.run_id!r}" for one in self.made)

    def _lost(self) -> str:
        return f"{self.lost} of its segments" if self.lost > 1 else "one of its segments"


def session_ids(connection: Connection, *, where: str) -> dict[str, list[int]]:
    """Every session there is a row of, with the row ids of its segments in their order.

    Forks come last: what they share is made again where it came from.
    """
    names = {session_id for query in _EVERY for (session_id,) in fetch(connection, query)}
    forks = {name for query in _FORKS for (name,) in fetch(connection, query)}
    order = sorted(names, key=lambda name: (name in forks, name))
    return {name: _segments_of(connection, name, where=where) for name in order}


_FORKS = (
    "SELECT session_id FROM lovia_strands WHERE base IS NOT NULL",
    "SELECT session_id FROM lovia_segments WHERE strand NOT IN (SELECT strand FROM lovia_strands)"
    " GROUP BY strand, session_id HAVING min(n) > 1",
)
_EVERY = (
    "SELECT session_id FROM lovia_sessions",
    "SELECT session_id FROM lovia_strands WHERE state = 'own'",
    "SELECT session_id FROM lovia_segments WHERE strand NOT IN (SELECT strand FROM lovia_strands)",
)


def _segments_of(connection: Connection, session_id: str, *, where: str) -> list[int]:
    """The row ids of its segments; those that it wrote itself when it cannot be told what it has."""
    try:
        strand = strand_of(connection, session_id) or lost_strand(connection, session_id, where=where)
        if strand is not None:
            return row_ids(connection, strand, where=where)
    except StoreDamagedError:
        pass
    query = "SELECT rowid FROM lovia_segments WHERE session_id = ? ORDER BY n"
    return [rowid for (rowid,) in fetch(connection, query, (session_id,))]


def examine(connection: Connection, session_id: str, segments: list[int], *, where: str) -> Diagnosis:
    """Look at everything that belongs to the session."""
    found, whole = Diagnosis(session_id), []
    for rowid in segments:
        try:
            segment = read_segment(connection, rowid, where=where)
            found.entries += len(segment.segment(where=where).entries)
            whole.append(segment)
            found.whole.append(rowid)
        except UnknownEntryError as error:
            found.problems.append(error.message)
            found.can_mend = False
        except StoreDamagedError as error:
            found.problems.append(error.message)
            found.damaged.append(rowid)
    try:
        found.row = read_session(connection, session_id, where=where)
    except StoreDamagedError as error:
        found.problems.append(error.message)
    row = found.row or SessionRow(session_id, len(segments))
    if not found.problems and found.row is None:
        found.problems.append(f"the row of session {session_id!r} is missing")
    numbers = [segment.n for segment in whole]
    if not found.problems and (numbers != list(range(1, row.segments + 1)) or found.entries != row.entries):
        found.problems.append(_miscounted(row, numbers))
    if lost_strand(connection, session_id, where=where):
        found.is_strand_lost = True
        found.problems.append(f"the row that says where the segments of session {session_id!r} are is missing")
    if found.problems and found.can_mend:
        if _can_restore(connection, session_id, segments):
            found.made = restorable(connection, row, whole, found.damaged, where=where)
        found.lost = max(row.segments, len(segments)) - len(whole) - len(found.made)
    return found


def _miscounted(row: SessionRow, numbers: list[int]) -> str:
    if missing := sorted({*range(1, row.segments + 1)} - {*numbers}):
        which = f"segment {missing[0]}" if len(missing) == 1 else f"segments {', '.join(map(str, missing))}"
        return f"{which} of session {row.session_id!r} {'is' if len(missing) == 1 else 'are'} missing"
    return f"session {row.session_id!r} does not have as many segments as its row counts, {row.segments}"


def _can_restore(connection: Connection, session_id: str, segments: list[int]) -> bool:
    """Where a fork's own segments begin is its source's to say."""
    try:
        strand = strand_of(connection, session_id)
    except StoreDamagedError:
        return False
    return strand.base is None if strand else not segments


def mend(connection: Connection, session_id: str, *, aside: str, where: str) -> str | None:
    """Put the session right, in the transaction that is open, and say what was done.

    What it loses is in the quarantine, or, in a file that was made of a damaged one, in that one: ``aside``.
    """
    with suppress(StoreVersionError):  # a newer lovia's runs are not asked for what the session lost
        if version_of(connection, RUNS, where=where):
            bring_up(connection, RUNS, where=where)
    again = put_back(connection, session_id, where=where)
    found = examine(connection, session_id, _segments_of(connection, session_id, where=where), where=where)
    if not found.problems or not found.can_mend:
        return again or ("it is whole again with what it shares" if found.can_mend else None)
    for rowid in found.damaged:
        set_aside(connection, "lovia_segments", _WHY, "rowid = ?", rowid)
    copy_aside(connection, "lovia_sessions", _WHY, "session_id = ?", session_id)
    whole = _with_made(connection, found, where=where)
    entries = sum(len(read_segment(connection, rowid, where=where).segment(where=where).entries) for rowid in whole)
    strand = strand_of(connection, session_id)
    if not whole:
        connection.execute("DELETE FROM lovia_sessions WHERE session_id = ?", (session_id,))
    elif found.made and not found.lost:
        strand = None  # all stand where they stood
    elif strand is None or strand.base is not None or read_by_others(connection, strand.number):
        _copy(connection, session_id, whole, where=where)
    else:
        for n, rowid in enumerate(whole, 1):
            _renumber(connection, rowid, n, where=where)
        strand = None
    if strand is not None:
        release(connection, strand.number)
    if whole:
        at = found.row.updated_at if found.row else time.time()
        SessionRow(session_id, len(whole), entries, at).write(connection)
    return "; ".join(done for done in (again, found.done(aside)) if done)


def _with_made(connection: Connection, found: Diagnosis, *, where: str) -> list[int]:
    """Put the segments that checkpoints have in their places; the row ids of all that are whole then, in order."""
    if not found.made:
        return found.whole
    strand = strand_of(connection, found.session_id) or new_strand(connection, found.session_id)
    for one in found.made:
        replace(one, strand=strand.number).put(connection)
    return row_ids(connection, strand, where=where)


def _copy(connection: Connection, session_id: str, whole: list[int], *, where: str) -> None:
    """A strand of its own for a session that shares with others: what they have is not ours to number anew."""
    connection.execute(
        "UPDATE lovia_strands SET state = 'dropped' WHERE session_id = ? AND state = 'own'", (session_id,)
    )
    strand = new_strand(connection, session_id)
    for n, rowid in enumerate(whole, 1):
        row = read_segment(connection, rowid, where=where)
        replace(row, n=n, session_id=session_id, strand=strand.number).put(connection)


def _renumber(connection: Connection, rowid: int, n: int, *, where: str) -> None:
    """Move a segment, which is whole, to place ``n``."""
    row = read_segment(connection, rowid, where=where)
    if row.n != n:
        connection.execute("DELETE FROM lovia_segments WHERE rowid = ?", (rowid,))
        replace(row, n=n).put(connection)
