"""Trimming a session: its old segments are written again with shorter outputs, each in a transaction of its own (M1).

What is cut goes to the archive first. No lock is held meanwhile, so a segment is only replaced while it is what was
looked at; else it is looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stores.archiving import archive_first
from stores.entries import Entry
from stores.protocols import ResultStore
from stores.sqlite.database import Database
from stores.sqlite.segments import SESSIONS, SegmentRow, encode_entries, read_session, segment_at
from stores.sqlite.strands import strand_of, tidy, writable
from stores.surgery import Cut, apply_cuts, trim_cuts

if TYPE_CHECKING:
    from sqlite3 import Connection


@dataclass(slots=True, frozen=True)
class Trim:
    """One trim of one session."""

    database: Database
    session_id: str
    keep_chars: int
    keep_runs: int
    archive: ResultStore | None

    async def carry_out(self) -> int:
        """Cut the outputs of all but the last ``keep_runs`` segments, and count the cuts.

        Segments that a fork shares with its source are the source's to trim.
        """
        trimmed, n = 0, await self.database.worker.call(self._first)
        while (old := await self.database.worker.call(self._look, n)) is not None:
            cuts = await archive_first(old.cuts, self.archive)
            if not cuts or await self.database.worker.call(self._replace, old, cuts):
                trimmed, n = trimmed + len(cuts), n + 1
        return trimmed

    def _first(self) -> int:
        with self.database.reading(SESSIONS) as connection:
            strand = strand_of(connection, self.session_id, where=self.database.where) if connection else None
        return strand.shared + 1 if strand else 1

    def _look(self, n: int) -> _Old | None:
        """Segment ``n`` and what could be cut of it; None when that is none of the old ones."""
        with self.database.reading(SESSIONS) as connection:
            row = self._row(connection, n) if connection else None
        if row is None:
            return None
        entries = row.segment(where=self.database.where).entries
        cuts = trim_cuts(row.run_id, entries, self.keep_chars, archived=self.archive is not None)
        return _Old(row, entries, cuts)

    def _row(self, connection: Connection, n: int) -> SegmentRow | None:
        session = read_session(connection, self.session_id, where=self.database.where)
        if session is None or n > session.segments - self.keep_runs:
            return None
        strand = session.strand(connection, where=self.database.where)
        return segment_at(connection, strand, n, where=self.database.where)

    def _replace(self, old: _Old, cuts: list[Cut]) -> bool:
        """Write the segment again; False when it is no longer what was looked at."""
        with self.database.writing(SESSIONS) as connection:
            strand = strand_of(connection, self.session_id, where=self.database.where)
            if strand is None or self._row(connection, old.row.n) != old.row:
                return False
            strand = writable(connection, strand, old.row.n)
            entries = encode_entries(apply_cuts(old.entries, cuts))
            replace(old.row, entries=entries, strand=strand.number, session_id=self.session_id).put(connection)
            tidy(connection, strand.base)
        return True


@dataclass(slots=True, frozen=True)
class _Old:
    """One segment as it is, and what could be cut of it."""

    row: SegmentRow
    entries: list[Entry]
    cuts: list[Cut]
