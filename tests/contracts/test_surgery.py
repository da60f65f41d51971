"""The pure functions on entries that stores and engine share."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.conformance.samples import every_entry
from stores.entries import AssistantTextEntry, Entry, InputEntry, ToolCallEntry, ToolResultEntry, pending_calls
from stores.surgery import NOT_RUN_TO_ITS_END, cancelled, entries_checksum, finalise, same_entries


def said(text: str, step: int = 0) -> InputEntry:
    return InputEntry(text=text, step=step)


def call(call_id: str, step: int = 0, position: int = 0) -> ToolCallEntry:
    return ToolCallEntry(id=call_id, name="f", step=step, position=position)


def done(call_id: str, step: int = 0, position: int = 0, output: str = "ok") -> ToolResultEntry:
    return ToolResultEntry(call_id=call_id, output=output, step=step, position=position)


def gone(call_id: str, step: int = 0, position: int = 0) -> ToolResultEntry:
    return ToolResultEntry(
        call_id=call_id, output=NOT_RUN_TO_ITS_END, step=step, position=position, is_error=True, kind="cancelled"
    )


def test_s6_the_result_of_a_cancelled_call_says_so() -> None:
    result = cancelled(call("a", 3, 2))
    assert result == gone("a", 3, 2)
    assert "not run to its end" in result.output


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], []),
        ([said("hi"), call("a", 1, 1), done("a", 1, 1)], [said("hi"), call("a", 1, 1), done("a", 1, 1)]),
        ([call("a", 1, 1)], [call("a", 1, 1), gone("a", 1, 1)]),
        (
            [call("a", 1, 1), call("b", 1, 2), call("c", 1, 3), done("b", 1, 2)],
            [call("a", 1, 1), call("b", 1, 2), call("c", 1, 3), gone("a", 1, 1), done("b", 1, 2), gone("c", 1, 3)],
        ),
        (
            [call("a", 1, 1), call("b", 1, 2), done("b", 1, 2), said("next", 1)],
            [call("a", 1, 1), call("b", 1, 2), gone("a", 1, 1), done("b", 1, 2), said("next", 1)],
        ),
        (
            [call("a", 1, 1), AssistantTextEntry(text="x", step=1), call("b", 2, 1)],
            [call("a", 1, 1), AssistantTextEntry(text="x", step=1), gone("a", 1, 1), call("b", 2, 1), gone("b", 2, 1)],
        ),
        (  # ids repeat: the place decides, not the id
            [call("x", 1, 1), call("x", 1, 2), done("x", 1, 2)],
            [call("x", 1, 1), call("x", 1, 2), gone("x", 1, 1), done("x", 1, 2)],
        ),
        (  # an import without steps or positions: the turn and the n-th of an id decide
            [call("a"), done("a"), call("b"), call("c"), done("c"), said("so?"), call("b")],
            [call("a"), done("a"), call("b"), call("c"), gone("b"), done("c"), said("so?"), call("b"), gone("b")],
        ),
    ],
)  # fmt: skip
def test_s6_finalise_gives_every_call_a_result_in_its_place(entries: list[Entry], expected: list[Entry]) -> None:
    before = deepcopy(entries)
    assert finalise(entries) == expected
    assert entries == before
    assert finalise(expected) == expected


STEPS = st.integers(0, 2)
POSITIONS = st.integers(0, 3)
ENTRIES = st.lists(
    st.one_of(
        st.builds(said, st.just("in"), STEPS),
        st.builds(call, st.sampled_from("ab"), STEPS, POSITIONS),
        st.builds(done, st.sampled_from("ab"), STEPS, POSITIONS),
    ),
    max_size=12,
)


@given(ENTRIES)
def test_z2_finalise_loses_nothing_and_leaves_no_call_open(entries: list[Entry]) -> None:
    final = finalise(entries)
    added = [entry for entry in final if not any(entry is old for old in entries)]
    assert len(final) == len(entries) + len(pending_calls(entries))
    assert sorted(map(id, entries)) == sorted(id(entry) for entry in final if not any(entry is new for new in added))
    assert all(isinstance(entry, ToolResultEntry) and entry.kind == "cancelled" for entry in added)
    assert pending_calls(final) == []
    assert [e for e in final if not isinstance(e, ToolResultEntry)] == [
        e for e in entries if not isinstance(e, ToolResultEntry)
    ]


def test_s3_the_checksum_is_the_same_for_the_same_entries_however_their_keys_are_ordered() -> None:
    first = InputEntry(text="é \ud800", extra={"z": 1, "a": {"y": 2, "b": [1.0, None]}})
    second = InputEntry(text="é \ud800", extra={"a": {"b": [1.0, None], "y": 2}, "z": 1})
    assert same_entries([first], [second])
    assert entries_checksum(every_entry()) == entries_checksum(deepcopy(every_entry()))


def test_s3_the_checksum_of_no_entries_and_of_one_is_fixed_for_ever() -> None:
    assert entries_checksum([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
    assert (
        entries_checksum([InputEntry(text="hé")]) == "757233b65230a776f6bacb25ba6484c877647a2f7a8c289adf43ae771e4d8f62"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([said("a")], [said("b")]),
        ([said("a")], [said("a"), said("a")]),
        ([said("a"), said("b")], [said("b"), said("a")]),
        ([said("a")], [AssistantTextEntry(text="a")]),
        ([said("a")], [said("a", 1)]),
        ([said("a")], [InputEntry(text="a", extra={"later": 0})]),
        ([InputEntry(text="a", extra={"n": 1})], [InputEntry(text="a", extra={"n": 1.0})]),
        ([done("a")], [gone("a")]),
        ([said("caf\u00e9")], [said("cafe\u0301")]),
    ],
)
def test_s3_other_entries_have_another_checksum(first: list[Entry], second: list[Entry]) -> None:
    assert not same_entries(first, second)
