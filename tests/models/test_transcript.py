"""`WireTranscript`: whatever is stored, the provider gets a valid conversation (Z4)."""

import copy
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lovia_cli.models.transcript import WireIds, wire_arguments
from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entry_to_json,
)
from tests.models.kit import wire_transcript


def user(text: str, step: int = 0) -> InputEntry:
    return InputEntry(text=text, step=step)


def said(text: str, step: int = 1) -> AssistantTextEntry:
    return AssistantTextEntry(text=text, step=step)


def thought(text: str, step: int = 1) -> ReasoningEntry:
    return ReasoningEntry(text=text, step=step)


def call(call_id: str, step: int = 1, position: int = 1, arguments: str = "{}", name: str = "sh") -> ToolCallEntry:
    return ToolCallEntry(id=call_id, name=name, arguments=arguments, step=step, position=position)


def result(call_id: str, output: str, step: int = 1, position: int = 1) -> ToolResultEntry:
    return ToolResultEntry(call_id=call_id, output=output, step=step, position=position)


def brief(entries: list[Entry]) -> list[str]:
    """One word an entry: ``call:ID``, ``result:ID=OUTPUT``, or its text."""
    words = []
    for entry in entries:
        if isinstance(entry, ToolCallEntry):
            words.append(f"call:{entry.id}")
        elif isinstance(entry, ToolResultEntry):
            words.append(f"result:{entry.call_id}={entry.output}")
        else:
            words.append(entry.text)
    return words


def test_z4_results_follow_their_turn_in_call_order_and_inputs_come_after() -> None:
    run = [
        user("go"), thought("hm"), said("two calls"), call("a", position=1), call("b", position=2),
        result("b", "B", position=2), user("and hurry", step=1), result("a", "A", position=1), said("done", step=2),
    ]  # fmt: skip
    assert brief(wire_transcript([run])) == [
        "go", "hm", "two calls", "call:a", "call:b", "result:a=A", "result:b=B", "and hurry", "done",
    ]  # fmt: skip


def test_c05_equal_ids_of_one_step_are_paired_by_position_and_made_unique() -> None:
    run = [
        call("c", position=1), call("c", position=2), result("c", "second", position=2), result("c", "first"),
        call("c", step=2), result("c", "third", step=2),
    ]  # fmt: skip
    assert brief(wire_transcript([run])) == [
        "call:c", "call:c_2", "result:c=first", "result:c_2=second", "call:c_3", "result:c_3=third",
    ]  # fmt: skip


def test_z4_without_positions_the_nth_result_of_an_id_belongs_to_the_nth_call() -> None:
    run = [
        call("c", position=0), call("d", position=0), call("c", position=0),
        result("c", "1", position=0), result("c", "2", position=0), result("d", "3", position=0),
    ]  # fmt: skip
    assert brief(wire_transcript([run]))[3:] == ["result:c=1", "result:d=3", "result:c_2=2"]


def test_z4_each_group_is_paired_by_itself_since_steps_restart() -> None:
    first = [user("one"), call("x"), result("x", "old"), said("1", step=2)]
    second = [user("two"), call("x"), result("x", "new"), said("2", step=2)]
    assert brief(wire_transcript([first, second])) == [
        "one", "call:x", "result:x=old", "1", "two", "call:x_2", "result:x_2=new", "2",
    ]  # fmt: skip


def test_z4_a_call_without_a_result_and_a_result_without_a_call_are_left_out() -> None:
    run = [user("go"), said("both"), call("a"), call("b", position=2), result("a", "A"), result("z", "?", position=9)]
    assert brief(wire_transcript([run])) == ["go", "both", "call:a", "result:a=A"]


def test_z4_a_turn_of_which_only_reasoning_would_be_left_goes_with_its_calls() -> None:
    assert brief(wire_transcript([[user("go"), thought("hm"), said(" \n"), call("a")]])) == ["go"]
    assert brief(wire_transcript([[user("go"), thought("hm"), said("Well."), call("a")]])) == ["go", "hm", "Well."]


@pytest.mark.parametrize(
    ("stored", "wire"),
    [
        ("", "{}"),
        (" \n", "{}"),
        ('{ "a":1e2 }', '{ "a":1e2 }'),
        ('{"n": 36893488147419103232}', '{"n": 36893488147419103232}'),
        ('{"t": "\u00e9 \\u00e9 \\ud83d\\ude00"}', '{"t": "\u00e9 \\u00e9 \\ud83d\\ude00"}'),
        ('{"cmd": "ls', '{"_raw": "{\\"cmd\\": \\"ls"}'),
        ("[1]", '{"_raw": "[1]"}'),
        ('{"a": NaN}', '{"_raw": "{\\"a\\": NaN}"}'),
        ('{"t": "x\\ud83d"}', '{"t": "x\ufffd"}'),
        ('{"t": "x\ud83d"}', '{"t": "x\ufffd"}'),
        ("\ud83d", '{"_raw": "\ufffd"}'),
    ],
)
def test_c07_arguments_are_a_valid_object_and_otherwise_as_they_came(stored: str, wire: str) -> None:
    assert wire_arguments(stored) == wire


@pytest.mark.parametrize(
    ("stored", "wire"),
    [
        (["call_0", "call_0", "call_0"], ["call_0", "call_0_2", "call_0_3"]),
        (["", ""], ["call", "call_2"]),
        (["functions.sh:0", "functions_sh_0"], ["functions_sh_0", "functions_sh_0_2"]),
        (["x", "x", "x_2"], ["x", "x_2", "x_2_2"]),
        (["a" * 70, "a" * 80], ["a" * 64, "a" * 62 + "_2"]),
        (["\u00e9\n", "tab\t"], ["__", "tab_"]),
    ],
)
def test_z4_ids_are_legal_unique_and_kept_where_they_can_be(stored: list[str], wire: list[str]) -> None:
    ids = WireIds()
    assert [ids.give(name) for name in stored] == wire


def test_z4_half_characters_and_illegal_names_do_not_reach_the_wire() -> None:
    entry = said("a\udc00")
    entry.provider = {"name": "x", "raw": {"\ud800": ["\udfff"]}}
    run = [user("u\ud800"), thought("r\ud800"), entry, call("i", name="get weather!"), result("i", "o\ud800")]
    wire = wire_transcript([run])
    assert brief(wire) == ["u\ufffd", "r\ufffd", "a\ufffd", "call:i", "result:i=o\ufffd"]
    assert isinstance(wire[2], AssistantTextEntry)
    assert wire[2].provider == {"name": "x", "raw": {"\ufffd": ["\ufffd"]}}
    assert isinstance(wire[3], ToolCallEntry)
    assert wire[3].name == "get_weather_"


_IDS = st.sampled_from(["c", "call_0", "c_2", "", "a.b"])
_STEPS = st.integers(0, 3)
_ENTRIES = st.one_of(
    st.builds(InputEntry, text=st.text(max_size=3), step=_STEPS),
    st.builds(AssistantTextEntry, text=st.text(max_size=3), step=_STEPS),
    st.builds(ReasoningEntry, text=st.text(max_size=3), step=_STEPS),
    st.builds(ToolCallEntry, id=_IDS, name=st.just("t"), arguments=st.text(max_size=5), step=_STEPS, position=_STEPS),
    st.builds(ToolResultEntry, call_id=_IDS, output=st.text(max_size=3), step=_STEPS, position=_STEPS),
)  # fmt: skip
_GROUPS = st.lists(st.lists(_ENTRIES, max_size=12), max_size=3)


def assert_valid(entries: list[Entry]) -> None:
    """Every call is answered right after its turn, in order, once; ids and arguments are legal."""
    seen: set[str] = set()
    open_: list[str] = []
    for before, entry in zip([None, *entries], entries, strict=False):
        if isinstance(entry, ToolResultEntry):
            assert open_.pop(0) == entry.call_id
            continue
        assert not open_ or not isinstance(before, ToolResultEntry)
        if isinstance(entry, InputEntry):
            assert not open_
        if isinstance(entry, ToolCallEntry):
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", entry.id)
            assert entry.id not in seen
            seen.add(entry.id)
            open_.append(entry.id)
            assert isinstance(json.loads(entry.arguments), dict)
    assert not open_


@settings(max_examples=150, deadline=None)
@given(groups=_GROUPS)
def test_z4_any_stored_entries_give_a_valid_conversation_and_are_not_changed(groups: list[list[Entry]]) -> None:
    before = copy.deepcopy(groups)
    wire = wire_transcript(groups)
    assert_valid(wire)
    assert groups == before
    assert wire_transcript(groups) == wire


@settings(max_examples=100, deadline=None)
@given(groups=_GROUPS, more=st.lists(_ENTRIES, max_size=6))
def test_z4_a_longer_session_begins_with_the_same_conversation(groups: list[list[Entry]], more: list[Entry]) -> None:
    short = [entry_to_json(entry) for entry in wire_transcript(groups)]
    long = [entry_to_json(entry) for entry in wire_transcript([*groups, more])]
    assert long[: len(short)] == short
