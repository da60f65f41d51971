"""The pure functions on entries that stores and engine share."""

from copy import deepcopy

import pytest

from stores.conformance.samples import every_entry
from stores.entries import AssistantTextEntry, Entry, InputEntry, ToolCallEntry, ToolResultEntry
from stores.surgery import NOT_RUN_TO_ITS_END, cancelled, entries_checksum, same_entries


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
