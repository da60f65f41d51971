"""What is wrong with a session, and in words what mending it can do, and has done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from stores.entries import ToolResultEntry
from stores.ids import as_words
from stores.sqlite.doctor.quarantine import Lost
from stores.sqlite.segments import SegmentRow, SessionRow
from stores.sqlite.strands import Strand


@dataclass(slots=True, frozen=True)
class Older:
    """The ``segment`` that is the older copy. ``cut`` is what a rewind has left of it, where that accounts for what the
    row counts, and all speaks for it; else another run's may have stood there, one with a checkpoint where the segment
    ``is_replaced``."""

    segment: SegmentRow
    cut: SegmentRow | None = None
    is_replaced: bool = False


@dataclass(slots=True)
class Diagnosis:
    """What is wrong with a session. ``whole`` are the row ids of the segments that can be kept, among them the
    ``changed``, as they were written; ``made`` are those that checkpoints have, ``proven`` those that stay as they
    stand, since their entries are proven, and ``lost`` is how many there are beside.
    ``guessed`` are the numbers of those ``made`` of which nothing tells which run's they were, ``unplaced`` the runs of
    which nothing tells whether they had one. ``extra`` are whole ones, by their row ids, that do not count; ``older``
    is one that is an older copy of what a whole row counts, in ``older_rows``. ``led`` is a strand with which the
    session has what it began with, and, if it ``is_led_whole``, what its row counts.

    ``chain`` are its strand and those that it goes on from. ``bared`` are the numbers of segments of which a trimmed
    copy is damaged that hid them.
    """

    session_id: str
    problems: list[str] = field(default_factory=list)
    row: SessionRow | None = None
    whole: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    changed: dict[int, SegmentRow] = field(default_factory=dict)
    made: list[SegmentRow] = field(default_factory=list)
    proven: list[SegmentRow] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    lost: int = 0
    entries: int = 0
    can_mend: bool = True
    strand: Strand | None = None
    chain: list[Strand] = field(default_factory=list)
    led: Strand | None = None
    is_led_whole: bool = False
    extra: dict[int, SegmentRow] = field(default_factory=dict)
    older: Older | None = None
    older_rows: list[int] = field(default_factory=list)
    bared: list[int] = field(default_factory=list)

    @property
    def cut(self) -> list[SegmentRow]:
        """What a rewind had left of the older copy."""
        return [self.older.cut] if self.older and self.older.cut else []

    @property
    def is_lost(self) -> bool:
        kept = (*self.whole, *self.made, *self.proven, *self.cut)
        return self.can_mend and bool(self.problems) and not kept and self.led is None

    @property
    def loses(self) -> bool:
        """True when not all of it can be kept."""
        return self.is_lost or (self.can_mend and bool(self.lost or self.extra or self.older))

    @property
    def is_in_order(self) -> bool:
        """True when with those that are made again all stand where they stood."""
        return not self.lost and not self.extra

    @property
    def outlook(self) -> str:
        """What mending can do."""
        if not self.problems or not self.can_mend:
            return ""
        return "; ".join(can for can, _ in self._told() if can)

    def done(self, aside: str) -> str:
        """What mending has done; what could not be kept is in ``aside``."""
        done = "; ".join(done for _, done in self._told(aside) if done)
        return Lost(done) if self.is_lost else done

    def _told(self, aside: str = "") -> list[tuple[str, str]]:
        """What mending comes to, sentence by sentence: each as what can be done, and as what was done."""
        whose, moved = f"session {self.session_id!r}", f"moved aside into {aside}"
        if self.is_lost:
            nothing, over = f"nothing of {whose} can be kept", "and its id would start over"
            return [*self._told_of_older(), (f"{nothing}, {over}", f"{nothing}: it was {moved}, {over}")]
        if self.led is not None:
            had = "what its row counts" if self.is_led_whole else "what it began with"
            return [(f"the strand with which it has {had} can be told", f"{whose} has again {had}")]
        told, is_any_moved = list(self._told_of_segments()), self.changed or self.damaged or self.extra or self.older
        if not told and not (self.row and is_any_moved):
            again = f"the row of {whose} was made again from its segments"
            told = [("its row can be made from its segments", again)]
        if self.unplaced:
            run, was = ("run", "was") if len(self.unplaced) == 1 else ("runs", "were")
            names = _and(map(repr, self.unplaced))
            doubt = f"whether {run} {names} stood in it as well, or {was} undone, cannot be told"
            told.append((doubt, doubt))
        if is_any_moved:
            told.append(("" if told else "it can be moved aside", f"what was there was {moved}"))
        return [*told, ("", self._untrimmed)]

    def _told_of_segments(self) -> Iterator[tuple[str, str]]:
        yield from _said(list(self.changed.values()), "made again as it was written", "made again as they were written")
        proven = "kept as it stands: a checksum proves its entries", "kept as they stand: checksums prove their entries"
        yield from _said(self.proven, *proven)
        yield from self._told_of_older()
        if self.made:
            runs = [repr(one.run_id) for one in self.made]
            many = "s" if len(runs) > 1 else ""
            yield from _said(self.made, *[f"made again from the checkpoint{many} of run{many} {_and(runs)}"] * 2)
        if self.guessed:
            run, they = ("run's", "it") if len(self.guessed) == 1 else ("runs'", "they")
            of_each = f"which {run} {_which(self.guessed, 'was', 'were')}"
            doubt = f"{of_each} cannot be told, and is a guess from when {they} ended"
            yield doubt, doubt
        if self.bared:
            as_read = "as forks read it"
            yield f"{_which(self.bared)} can be kept {as_read}", f"{_which(self.bared, 'is', 'are')} again {as_read}"
        if self.lost:
            can = f"the session can be kept without {'the others' if self.made else 'it'}"
            without = f"{self.lost} of its segments" if self.lost > 1 else "one of its segments"
            yield can, f"no checkpoint holds the same, so session {self.session_id!r} goes on without {without}"

    def _told_of_older(self) -> Iterator[tuple[str, str]]:
        if self.older:
            copy = f"{_named([self.older.segment])} is an older copy"
            told = copy if self.older.is_replaced else f"that {copy} is a guess from how many entries are counted"
            yield told, told
        for one in self.cut:
            entries = len(one.segment(where="").entries)
            again = f"cut again to {entries} entr{'y' if entries == 1 else 'ies'}, as a rewind had left it"
            yield f"it can be {again}", f"it was {again}"

    @property
    def _untrimmed(self) -> str:
        """A checkpoint knows of no trim (M1). What a session shares is not its own to trim."""
        again = f"trim it again with: lovia trim {as_words(self.session_id)}"
        filled = [one for one in self.made if _has_outputs(one)]
        if any(one.session_id == self.session_id for one in filled):
            return f"tool outputs are whole: where session {self.session_id!r} was trimmed, {again}"
        if self.bared:
            return f"where session {self.session_id!r} was trimmed since, {again}"
        return "its tool outputs are whole, also where they had been trimmed" if filled else ""


def _has_outputs(row: SegmentRow) -> bool:
    """True when a trim may have cut something of it."""
    return any(isinstance(entry, ToolResultEntry) for entry in row.segment(where="").entries)


def _said(rows: list[SegmentRow], one: str, more: str) -> Iterator[tuple[str, str]]:
    """That these segments can be, and were, what is said of ``one`` or ``more`` of them."""
    numbers, said = sorted(row.n for row in rows), one if len(rows) == 1 else more
    if numbers:
        yield f"{_which(numbers)} can be {said}", f"{_which(numbers, 'was', 'were')} {said}"


def uncounted(session_id: str, segments: Iterable[SegmentRow], by: str = "its row") -> str:
    """That the session has these segments, which its row does not count."""
    return f"session {session_id!r} has {_named(segments)}, which {by} does not count"


def _named(segments: Iterable[SegmentRow]) -> str:
    """These segments, with their runs."""
    rows = sorted(segments, key=lambda one: one.n)
    runs = _and(repr(one.run_id) for one in rows)
    return f"{_which([one.n for one in rows])} (run{'s' if len(rows) > 1 else ''} {runs})"


def _which(numbers: Sequence[int], one: str = "", more: str = "") -> str:
    """These segments, as the beginning of a sentence with that verb."""
    which = f"segment {numbers[0]} {one}" if len(numbers) == 1 else f"segments {_and(map(str, numbers))} {more}"
    return which.rstrip()


def _and(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
