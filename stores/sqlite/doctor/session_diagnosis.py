"""What is wrong with a session, and in words what mending it can do, and has done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stores.ids import as_words
from stores.sqlite.doctor.quarantine import Lost
from stores.sqlite.segments import SegmentRow, SessionRow
from stores.sqlite.strands import Strand


@dataclass(slots=True)
class Diagnosis:
    """What is wrong with a session. ``whole`` are the row ids of the segments that can be kept, ``made`` those that
    checkpoints have, and ``lost`` how many neither. ``extra`` are whole ones that a whole row does not count, and
    ``led`` is a strand with which the session has what it began with, and, if it ``is_led_whole``, what its row counts.

    ``chain`` are its strand and those that it goes on from. ``bared`` are the numbers of segments of which a trimmed
    copy is damaged that hid them; ``filled``, of those that are made again, have outputs.
    """

    session_id: str
    problems: list[str] = field(default_factory=list)
    row: SessionRow | None = None
    whole: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    made: list[SegmentRow] = field(default_factory=list)
    lost: int = 0
    entries: int = 0
    can_mend: bool = True
    strand: Strand | None = None
    chain: list[Strand] = field(default_factory=list)
    led: Strand | None = None
    is_led_whole: bool = False
    extra: list[int] = field(default_factory=list)
    bared: list[int] = field(default_factory=list)
    filled: list[SegmentRow] = field(default_factory=list)

    @property
    def is_lost(self) -> bool:
        return self.can_mend and bool(self.problems) and not self.whole and not self.made and self.led is None

    @property
    def is_in_order(self) -> bool:
        """True when with those that are made again all stand where they stood."""
        return not self.lost and not self.extra

    @property
    def outlook(self) -> str:
        """What mending can do."""
        if self.is_lost:
            return f"nothing of session {self.session_id!r} can be kept, and its id would start over"
        if not self.problems or not self.can_mend:
            return ""
        if self.led is not None:
            return f"the strand with which it has {self._had} can be told"
        can = [f"{_which(self._made, 'can', 'can')} be made again from {self._runs}"] if self.made else []
        can += [f"{_which(self.bared, 'can', 'can')} be kept as forks read it"] if self.bared else []
        if self.lost:
            can.append(f"the session can be kept without {'the others' if self.made else 'it'}")
        return "; ".join(can) or "its row can be made from its segments"

    def done(self, aside: str) -> str:
        """What mending has done; what could not be kept is in ``aside``."""
        if self.is_lost:
            what = f"nothing of session {self.session_id!r} can be kept"
            return Lost(f"{what}: it was moved aside into {aside}, and its id would start over")
        if self.led is not None:
            return f"session {self.session_id!r} has again {self._had}"
        done = [f"{_which(self._made, 'was', 'were')} made again from {self._runs}"] if self.made else []
        done += [f"{_which(self.bared, 'is', 'are')} again as forks read it"] if self.bared else []
        if self.lost:
            done.append(f"no checkpoint holds the same, so session {self.session_id!r} goes on without {self._lost}")
        if self.damaged or self.extra:
            done.append(f"what was there was moved aside into {aside}")
        done += self._untrimmed()
        return "; ".join(done) or f"the row of session {self.session_id!r} was made again from its segments"

    @property
    def _had(self) -> str:
        return "what its row counts" if self.is_led_whole else "what it began with"

    @property
    def _made(self) -> list[int]:
        return [one.n for one in self.made]

    @property
    def _runs(self) -> str:
        runs = [repr(one.run_id) for one in self.made]
        return f"the checkpoint{'s' if len(runs) > 1 else ''} of run{'s' if len(runs) > 1 else ''} {_and(runs)}"

    @property
    def _lost(self) -> str:
        return f"{self.lost} of its segments" if self.lost > 1 else "one of its segments"

    def _untrimmed(self) -> list[str]:
        """A checkpoint knows of no trim (M1). What a session shares is not its own to trim."""
        mine = [one for one in self.filled if one.session_id == self.session_id]
        again = f"trim it again with: lovia trim {as_words(self.session_id)}"
        if mine:
            return [f"tool outputs are whole: where session {self.session_id!r} was trimmed, {again}"]
        if self.bared:
            return [f"where session {self.session_id!r} was trimmed since, {again}"]
        return ["its tool outputs are whole, also where they had been trimmed"] if self.filled else []


def _which(numbers: Sequence[int], one: str, more: str) -> str:
    """These segments, as the beginning of a sentence."""
    return f"segment {numbers[0]} {one}" if len(numbers) == 1 else f"segments {_and(map(str, numbers))} {more}"


def _and(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
