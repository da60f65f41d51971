"""Rewinding as a pure function: every cut of every transcript is one that a provider takes (M3)."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.conformance.samples import call, result, say, text, thought
from stores.entries import Entry, ReasoningEntry, ToolCallEntry, ToolResultEntry, pair, pending_calls
from stores.errors import UserError
from stores.records import Segment
from stores.surgery import cut_short, rewind_plan


def step(number: int, calls: int, thoughts: bool, said: bool) -> list[Entry]:
    """One response with its results, as the engine records it."""
    out: list[Entry] = [thought("hm", number)] if thoughts else []
    out += [text("so", number)] if said or not calls else []
    for position in range(1, calls + 1):
        out += [thought(f"then {position}", number)] if thoughts and position > 1 else []
        out.append(call(position, number))
    return out + [result(position, number) for position in range(1, calls + 1)]


STEPS = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=3)
RUNS = STEPS.map(lambda shapes: [say("go"), *(e for n, shape in enumerate(shapes, 1) for e in step(n, *shape))])


@given(RUNS, st.integers(0, 30))
def test_m3_c27_a_run_cut_anywhere_has_no_call_without_its_result_and_no_loose_reasoning(
    entries: list[Entry], keep: int
) -> None:
    before = deepcopy(entries)
    left = cut_short(entries, keep)
    assert entries == before
    assert pending_calls(left) == []
    assert len([e for e in left if isinstance(e, ToolResultEntry)]) == len(pair(left))
    assert not left or not isinstance(left[-1], ReasoningEntry)
    for entry, after in pairwise(left):
        if isinstance(entry, ReasoningEntry):
            assert not isinstance(after, ToolResultEntry)
    kept = iter(entries[:keep])
    assert all(any(entry is other for other in kept) for entry in left)
    lost = [entry for entry in entries[:keep] if not any(entry is other for other in left)]
    assert all(isinstance(entry, ToolCallEntry | ReasoningEntry) for entry in lost)


@given(RUNS)
def test_m3_a_run_cut_between_two_steps_loses_nothing_more(entries: list[Entry]) -> None:
    last = max(entry.step for entry in entries)
    for number in range(last + 1):
        keep = sum(entry.step <= number for entry in entries)
        assert cut_short(entries, keep) == entries[:keep]


@given(st.lists(RUNS, max_size=4), st.integers(0, 40))
def test_m3_the_plan_of_the_last_segments_is_that_of_all(runs: list[list[Entry]], keep: int) -> None:
    segments = [Segment(run_id=f"r{n}", entries=entries, meta={"n": n}) for n, entries in enumerate(runs)]
    whole = rewind_plan(segments, keep)
    before = sum(len(segment.entries) for segment in segments[: whole.untouched])
    tail = rewind_plan(segments[whole.untouched :], keep - before)
    assert (tail.untouched, tail.cut, tail.deleted, tail.removed) == (0, whole.cut, whole.deleted, whole.removed)
    left = [*segments[: whole.untouched], *([whole.cut] if whole.cut else [])]
    assert sum(len(segment.entries) for segment in segments) - whole.removed == sum(len(s.entries) for s in left)
    assert [*(s.run_id for s in left), *whole.deleted] == [s.run_id for s in segments]


def test_m4_the_plan_names_every_run_that_loses_something() -> None:
    segments = [Segment(run_id=f"r{n}", entries=[say("go"), text("ok")]) for n in (1, 2, 3)]
    assert (rewind_plan(segments, 3).truncated, rewind_plan(segments, 3).deleted) == ("r2", ["r3"])
    assert rewind_plan(segments, 3).runs == ["r2", "r3"]
    assert rewind_plan(segments, 4).runs == ["r3"]
    assert rewind_plan(segments, 6).runs == []


@pytest.mark.parametrize("keep", [-1, 1.0, "1", None, True])
def test_m3_a_count_that_is_none_is_a_user_error(keep: object) -> None:
    with pytest.raises(UserError, match="keep_entries must be a whole number of at least 0"):
        rewind_plan([], keep)  # type: ignore[arg-type] # that is what is refused
