"""Dropping the tail of a session (M3): what goes, what is cut, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stores.entries import Entry, ReasoningEntry, ToolResultEntry, drop_dangling_tool_calls
from stores.errors import UserError
from stores.records import Segment
from stores.surgery.turns import turns


@dataclass(slots=True, frozen=True, kw_only=True)
class RewindPlan:
    """What a rewind does, worked out before anything is touched.

    The first ``untouched`` segments stay as they are. The one behind them is left with the entries of ``cut``, when
    there is one; all others go. ``deleted`` are the run ids of those that go, oldest first, ``truncated`` is that of
    ``cut``. ``removed`` is the number of entries that are gone afterwards.
    """

    untouched: int
    cut: Segment | None
    deleted: list[str]
    removed: int

    @property
    def truncated(self) -> str | None:
        return self.cut.run_id if self.cut else None

    @property
    def runs(self) -> list[str]:
        """Every run that loses something: a checkpoint of theirs would bring the tail back (M4)."""
        return [*([self.cut.run_id] if self.cut else ()), *self.deleted]


def rewind_plan(segments: Sequence[Segment], keep_entries: int) -> RewindPlan:
    """What rewinding ``segments`` to their first ``keep_entries`` entries comes to (M3). They are not changed.

    A count at or past the end leaves everything, 0 leaves nothing. ``segments`` may be a session's last ones only,
    with ``keep_entries`` counted from the first of them.
    """
    check_count("keep_entries", keep_entries)
    total = sum(len(segment.entries) for segment in segments)
    if keep_entries >= total and (keep_entries or not segments):
        return RewindPlan(untouched=len(segments), cut=None, deleted=[], removed=0)
    untouched, kept = 0, 0
    while keep_entries and kept + len(segments[untouched].entries) <= keep_entries:
        kept += len(segments[untouched].entries)
        untouched += 1
    first = segments[untouched]
    left = cut_short(first.entries, keep_entries - kept)
    cut = Segment(run_id=first.run_id, entries=left, truncated=True) if left else None
    gone = segments[untouched + 1 :] if cut else segments[untouched:]
    return RewindPlan(
        untouched=untouched, cut=cut, deleted=[segment.run_id for segment in gone], removed=total - kept - len(left)
    )


def cut_short(entries: Sequence[Entry], keep: int) -> list[Entry]:
    """The first ``keep`` entries of a run as a provider takes them, so possibly fewer.

    A call whose result was cut goes, and so does reasoning of the last response that nothing it led to follows.
    """
    kept = drop_dangling_tool_calls(entries[: max(keep, 0)])
    last = next(reversed(list(turns(kept))), [])
    said = [n for n, entry in enumerate(last) if not isinstance(entry, ReasoningEntry | ToolResultEntry)]
    start = len(kept) - len(last) + (said[-1] + 1 if said else 0)
    kept[start:] = [entry for entry in kept[start:] if not isinstance(entry, ReasoningEntry)]
    while kept and isinstance(kept[-1], ReasoningEntry):
        kept.pop()
    return kept


def cut_to(entries: Sequence[Entry], size: int) -> list[Entry] | None:
    """What a rewind leaves of them, if it leaves just so many: there is one such cut, or none."""
    lefts = (cut_short(entries, keep) for keep in range(max(size, 1), len(entries)))
    return next((left for left in lefts if len(left) == size), None)


def check_count(name: str, value: int, *, least: int = 0) -> None:
    """Raise `UserError` unless ``value`` is a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UserError(f"{name} must be a whole number of at least {least}, not {value!r}", hint="count from 0")
