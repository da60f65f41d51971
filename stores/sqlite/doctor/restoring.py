"""A session's lost segments, made again in their place from the checkpoints of their runs (R7).

A completed run's checkpoint holds all that its segment did. Which run's a lost segment was, its damaged row says, and
with it the checksum that proves it; of a row that is gone, the runs before and behind it do, which name the one that
their history ended with, and the counts in the session's row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from sqlite3 import Connection
from typing import Any

from stores import codec
from stores.closing import segment_meta
from stores.records import RunSnapshot, Status
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.completed import CompletedRuns, held_by, whole_run
from stores.sqlite.doctor.leading import forks_at, histories, last_seen
from stores.sqlite.doctor.session_diagnosis import Diagnosis
from stores.sqlite.segments import SegmentRow, SessionRow, encode_entries, stored_segment
from stores.sqlite.strands import Strand
from stores.surgery import entries_checksum


def find_lost(
    connection: Connection, found: Diagnosis, session: SessionRow, whole: list[SegmentRow], completed: CompletedRuns
) -> None:
    """Find the segments among the ``session.segments`` that are lost, as far as checkpoints have them.

    Where the session has no row, how many there were is not known. Where none of its own is left, there was one of
    every completed run then: a rewind deletes the checkpoints of what it cuts first.

    Each is to be put into the strand of the session's chain in which it stood; 0 is one that there is none of.
    """
    chain, is_counted = found.chain or [Strand(0, session.session_id)], found.row is not None
    search = _Search(connection, session, chain, [stored_segment(connection, rowid) for rowid in found.damaged])
    search.add_whole(whole)
    search.add_runs(found.damaged, completed)
    is_any_left = found.damaged or any(row.session_id == session.session_id for row in whole)
    last = session.segments + (0 if is_counted or is_any_left else len(search.runs) + 1)
    proven = search.proven()
    if not is_counted:
        last = max([last, *(n for n, _ in proven if n <= last + len(proven))])
    search.homes = homes = {n: _home(chain, n) for n in range(1, last + 1) if n not in search.known}
    for n, run_id in proven:
        search.learn(n, run_id)
    search.follow()
    if is_counted:
        search.fill()
    else:
        found.unplaced = search.fill_all()
    again = sorted((n, run_id) for n, run_id in search.known.items() if n in homes)
    found.made = [_segment(homes[n], n, search.runs[run_id]) for n, run_id in again]
    found.guessed = sorted(search.guessed)


def _home(chain: list[Strand], n: int) -> Strand:
    """The strand in which segment ``n`` was first written: the others go on behind it, and can only hide it."""
    return next(strand for strand in chain if n > strand.upto or strand is chain[-1])


@dataclass(slots=True)
class _Search:
    """Which run stood at which of the lost places, whose ``homes`` are strands of the ``chain``; ``damaged`` is what is
    left there, each with its checksum. ``known`` are the runs at all places, as far as it can be told, ``guessed`` the
    places of which nothing tells; ``present`` is how many entries the segments that are there hold; ``runs`` are those
    that may have stood at a place, the oldest first; of these and of those that are there, ``began`` has the session
    and the run behind which they began, ``behind`` the same the other way round, and ``ended`` when."""

    connection: Connection
    session: SessionRow
    chain: list[Strand]
    damaged: list[tuple[SegmentRow, Any]]
    known: dict[int, str] = field(default_factory=dict)
    guessed: list[int] = field(default_factory=list)
    present: int = 0
    homes: dict[int, Strand] = field(default_factory=dict)
    runs: dict[str, RunSnapshot] = field(default_factory=dict)
    began: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    behind: dict[tuple[str, str | None], list[str]] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def add_whole(self, whole: list[SegmentRow]) -> None:
        """Take in the segments that are there."""
        for row in whole:
            segment = row.segment(where="")
            self.known[row.n] = row.run_id
            self.present += len(segment.entries)
            if (at := segment.finished_at) is not None:
                self.ended[row.run_id] = at

    def add_runs(self, damaged: list[int], completed: CompletedRuns) -> None:
        """Find the completed runs whose checkpoints are whole. None of which there is a segment may have stood at a
        place: one that only others see was undone. What nobody sees, since a copy of it was put back, tells nothing.
        One that was deleted, all but its history, may have been undone as well, unless a damaged segment tells that it
        was its."""
        query = "SELECT rowid, run_id FROM lovia_segments WHERE strand = ? AND n <= ?"
        places = [(one.number, last_seen(self.connection, one)) for one in self.chain]
        rows = [row for place in places for row in fetch(self.connection, query, place)]
        stand = {run_id for rowid, run_id in rows if rowid not in damaged}
        histories = list(self._histories())
        for session_id in dict.fromkeys(strand.session_id for strand in self.chain):
            kept = [run for run in histories if run.head.session_id == session_id]
            for run in (*completed(session_id), *kept):
                self.began[run.run_id] = (session_id, run.head.history_upto)
                self.behind.setdefault(self.began[run.run_id], []).append(run.run_id)
                self.ended[run.run_id] = run.head.updated_at or 0.0
                if run.run_id not in stand:
                    self.runs[run.run_id] = run
        self._put_in_order()

    def _put_in_order(self) -> None:
        """A run ended after the one behind which it began, also where the clock was set back in between."""
        done: set[str] = set()
        for run_id in self.began:
            line: list[str] = []
            one: str | None = run_id
            while one in self.began and one not in done:
                done.add(one)
                line.insert(0, one)
                one = self.began[one][1]
            for one in line:
                before = self.ended.get(self.began[one][1] or "", 0.0)
                self.ended[one] = max(self.ended[one], math.nextafter(before, math.inf))
        self.runs = dict(sorted(self.runs.items(), key=lambda found: self.ended[found[0]]))

    def _histories(self) -> Iterator[RunSnapshot]:
        """The completed runs that were deleted, all but their histories, which hold just what damaged segments did."""
        for one, _ in self._uncut():
            row, run = whole_run(self.connection, one.run_id) or (None, None)
            is_kept = row and row.is_deleted and run and run.status == Status.COMPLETED
            if run and is_kept and entries_checksum(run.entries) == one.checksum:
                yield run

    def _uncut(self) -> list[tuple[SegmentRow, Any]]:
        """The damaged ones of which no rewind has cut anything."""
        return [(row, total) for row, total in self.damaged if row.truncated == 0]

    def proven(self) -> list[tuple[int, str]]:
        """Those whose damaged rows have the checksum of what the checkpoints hold, and the places that these tell: what
        a row says, unless its number is proven to be what changed."""
        held, rows = held_by(self.runs.values()), self._uncut()
        taken = {*self.known, *(row.n for row, _ in rows)}
        free = [n for n in range(1, self.session.segments + len(rows) + 1) if n not in taken]
        told = [
            (next((n for n in free if replace(row, n=n).sum == total), row.n), row.run_id)
            for row, total in rows
            if (row.run_id, row.checksum) in held
        ]
        return [(n, run_id) for n, run_id in told if isinstance(n, int)]

    def follow(self) -> None:
        """Know those that a fork began behind, and from there, and from what is present, one by one, the run before
        and the run behind, where just one can be meant."""
        sure = dict(self.known)
        for fork in (fork for strand in self.chain for fork in forks_at(self.connection, strand)):
            if fork.upto in self.homes and fork.upto not in self.known:
                any(self.learn(fork.upto, run_id) for run_id in histories(self.connection, fork.session_id))
        while any(self.learn(n, self._beside(n)) for n in self.homes if n not in self.known):
            pass
        if 0 < self.session.entries < self._held():
            self.known = sure

    def learn(self, n: int, run_id: str | None) -> bool:
        """Take that run for the one at that place, if it can be; True when it is news."""
        if n not in self.homes or n in self.known or run_id not in self.runs:
            return False
        if run_id in self.known.values() or self.began[run_id][0] != self.homes[n].session_id:
            return False
        self.known[n] = run_id
        return True

    def _beside(self, n: int) -> str | None:
        """The run at that place, as the one behind it says, or the one before it."""
        following = self.known.get(n + 1, "")
        began = self.began.get(following)
        if began is not None and len(self.behind[began]) == 1 and not self._is_any_between(began[1], following):
            return began[1]
        if n > 1 and n - 1 not in self.known:
            return None
        before = self.known.get(n - 1)
        found = self.behind.get((self.homes[n].session_id, before), [])
        return found[0] if len(found) == 1 and not self._is_any_between(before, found[0]) else None

    def _is_any_between(self, before: str | None, behind: str) -> bool:
        """True when another run whose place is lost ended after the one, and before the other, which began without it:
        segments stand in the order in which their runs ended (K6)."""
        session_id, start, end = self.began[behind][0], self.ended.get(before or "", 0.0), self.ended[behind]
        lost = (one for one in self.runs if one not in self.known.values() and one not in (before, behind))
        return any(self.began[one][0] == session_id and start < self.ended[one] < end for one in lost)

    def fill(self) -> None:
        """Give the other places to the other runs of the session: where they are as many, and hold what its row counts,
        in the order in which they ended; where they are fewer, each to one that is behind whatever ended before it."""
        places, own, rest = self._left()
        entries = self._held(*rest)
        if len(rest) == len(places) == len(own) and entries == self.session.entries:
            self.known |= zip(own, rest, strict=True)
            self.guessed = own if len(own) > 1 else []  # one that is left alone can be no other
        elif len(rest) < len(places) and len(rest) <= len(own) and entries <= self.session.entries:
            self._fill_between(own, rest, is_counted=True)

    def fill_all(self) -> list[str]:
        """Give a place to all other runs of the session, but for those of which something else is known to be there.
        Those for which there is none."""
        named = [row.run_id for row, _ in self.damaged]
        _, own, rest = self._left()
        others = [run_id for run_id in rest if run_id not in named]
        self._fill_between(own, others, is_counted=False)
        return [run_id for run_id in others if run_id not in self.known.values()]

    def _left(self) -> tuple[list[int], list[int], list[str]]:
        """The places of which nothing is known, those of them that are the session's own, and its other runs."""
        places = [n for n in self.homes if n not in self.known]
        mine = self.session.session_id
        rest = [one for one in self.runs if one not in self.known.values() and self.began[one][0] == mine]
        return places, [n for n in places if self.homes[n].session_id == mine], rest

    def _fill_between(self, places: list[int], rest: list[str], *, is_counted: bool) -> None:
        ends = [(n, self.ended[run_id]) for n, run_id in self.known.items() if run_id in self.ended]
        last = 0
        for run_id in rest:
            at, first = self.ended[run_id], 1 if self.began[run_id][1] is None else 2
            first = max([first, *(n + 1 for n, end in ends if end <= at)])
            stop = min((n for n, end in ends if end > at), default=sys.maxsize)
            fitting = [n for n in places if first <= n < stop]
            if place := next((n for n in fitting if n > last), 0):
                self.known[place], last = run_id, place
                if len(fitting) > 1 or not is_counted:
                    self.guessed.append(place)

    def _held(self, *more: str) -> int:
        """How many entries the session has with all that is known, and with these runs."""
        made = [run_id for n, run_id in self.known.items() if n in self.homes]
        return self.present + sum(len(self.runs[run_id].entries) for run_id in (*made, *more))


def _segment(strand: Strand, n: int, run: RunSnapshot) -> SegmentRow:
    meta = codec.dumps(segment_meta(run.head, run.head.updated_at))
    texts = (encode_entries(run.entries), meta, entries_checksum(run.entries))
    return SegmentRow(strand.session_id, n, run.run_id, *texts, strand=strand.number)
