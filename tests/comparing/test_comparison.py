"""H4: which steps of two runs belong together, where they part, and how they drift."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lovia_cli import compare_trajectories
from lovia_cli.comparing import Act, Trajectory
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry
from stores.fields import changed
from stores.records import RunHead, RunSnapshot
from tests.comparing.kit import Call, Step, rows, run

LOOK = Step(calls=[Call("weather", {"city": "Lisbon"}, "sun")])
BOOK = Step("Let me book.", [Call("book", {"city": "Lisbon", "nights": 2}, "done")])
END = Step("Two nights in Lisbon are booked.")


def no_drift() -> dict[str, Any]:
    return {"tool_order": None, "arguments": [], "step_count": None, "finish_reason": None}


def snapshot(entries: list[Entry], **head: Any) -> RunSnapshot:
    return RunSnapshot(run_id="r", head=RunHead(**head), entries=entries)


# --- where they part --------------------------------------------------------------------------------------------------


def test_h4_a_run_is_the_same_as_itself_whatever_its_calls_are_called() -> None:
    found = compare_trajectories(run(LOOK, BOOK, END), run(LOOK, BOOK, END, ids="other"))
    assert (found.same, found.diverged_at, len(found.a), len(found.b)) == (True, None, 3, 3)
    assert rows(found) == ["= 1 1", "= 2 2", "= 3 3"]
    assert found.drift.as_json() == no_drift()


def test_h4_a_result_is_part_of_its_step() -> None:
    rain = Step(calls=[Call("weather", {"city": "Lisbon"}, "rain")])
    found = compare_trajectories(run(LOOK, BOOK, END), run(rain, BOOK, END))
    assert (found.diverged_at, rows(found)) == (1, ["~ 1 1", "= 2 2", "= 3 3"])
    assert found.drift.as_json() == no_drift()


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ([LOOK, Step(calls=[Call("think")]), BOOK, END], ["= 1 1", "+ . 2", "= 2 3", "= 3 4"]),
        ([LOOK, END], ["= 1 1", "- 2 .", "= 3 2"]),
        ([LOOK, BOOK, END, Step("More?")], ["= 1 1", "= 2 2", "= 3 3", "+ . 4"]),
        ([LOOK, BOOK], ["= 1 1", "= 2 2", "- 3 ."]),
        ([Step("Hello."), LOOK, BOOK, END], ["+ . 1", "= 1 2", "= 2 3", "= 3 4"]),
        ([], ["- 1 .", "- 2 .", "- 3 ."]),
    ],
)
def test_h4_one_step_more_or_less_is_one_step(other: list[Step], expected: list[str]) -> None:
    found = compare_trajectories(run(LOOK, BOOK, END), run(*other))
    assert rows(found) == expected
    first = next(row for row in expected if row[0] != "=")
    assert found.diverged_at == int(first.replace(".", "").split()[1])


def test_h4_steps_behind_an_inserted_one_are_compared_with_those_they_belong_to() -> None:
    """Also when each of them differs a little, so that no two steps are the same any more."""
    a = run(*[Step(calls=[Call("fetch", {"page": n}, f"page {n} as it was")]) for n in range(1, 7)])
    changed = [Step(calls=[Call("fetch", {"page": n}, f"page {n} as it is")]) for n in range(1, 7)]
    b = run(*changed[:2], Step("Wait.", [Call("wait")]), *changed[2:])
    assert rows(compare_trajectories(a, b)) == ["~ 1 1", "~ 2 2", "+ . 3", "~ 3 4", "~ 4 5", "~ 5 6", "~ 6 7"]


def test_h4_a_repeated_beginning_is_no_difference() -> None:
    """The longest stretch of the same is at another place: that does not move where the runs part."""
    found = compare_trajectories(run(LOOK, END, LOOK, BOOK, END, BOOK), run(LOOK, BOOK, END, BOOK))
    assert found.diverged_at == 2
    assert rows(found)[0] == "= 1 1"


def test_h4_large_gaps_are_paired_too() -> None:
    a = [Step(calls=[Call("old", {"n": n})]) for n in range(150)]
    b = [Step(calls=[Call("new", {"n": n})]) for n in range(150)]
    found = compare_trajectories(run(LOOK, *a, END), run(LOOK, *b, BOOK, END))
    assert (found.count("same"), found.count("changed"), found.count("added"), found.count("removed")) == (2, 150, 1, 0)


@pytest.mark.parametrize("differ", ["nowhere else", "in results", "in arguments"])
def test_h4_hundreds_of_steps_are_paired_as_few_are(differ: str) -> None:
    """Also when they are all calls of two tools, and also when none of them is the same any more."""

    def steps(side: str) -> list[Step]:
        told = side if differ == "in arguments" else "x"
        got = "x" if differ == "nowhere else" else side
        tools = Random(1).choices(["look", "book"], k=250)
        return [Step(calls=[Call(tool, {"n": n % 90, "told": told}, got)]) for n, tool in enumerate(tools)]

    a, b = steps("a"), steps("b")
    added = Call("look", {"page": "none"}) if differ == "in results" else Call("think")
    found = compare_trajectories(run(*a), run(*b[:20], Step(calls=[added]), *b[20:180], *b[183:]))
    assert [row for row in rows(found) if row[0] == "+"] == ["+ . 21"]
    assert found.count("removed") == 3
    assert found.count("same" if differ == "nowhere else" else "changed") == 247


def test_h4_what_a_step_means_is_worked_out_once() -> None:
    asked = []

    class Counted(Act):
        def key(self) -> tuple[object, ...]:
            asked.append(self.place)
            return super().key()

    def counted() -> Trajectory:
        trajectory = Trajectory.of(run(LOOK, BOOK, END))
        for step in trajectory.steps:
            step.acts = [Counted(act.call, act.result, act.position) for act in step.acts]
        return trajectory

    assert compare_trajectories(counted(), counted()).same
    assert sorted(asked) == ["1.1", "1.1", "2.1", "2.1"]


def test_h4_the_input_is_step_0_and_later_input_part_of_the_step_before() -> None:
    asked = compare_trajectories(run(END), run(END, asked="stop"))
    later = compare_trajectories(run(LOOK, END), run(LOOK._replace(then="Hurry!"), END))
    assert (asked.diverged_at, later.diverged_at) == (0, 1)
    assert later.rows[1].as_json()["differences"] == [
        {"part": "input", "a": None, "b": "Hurry!", "a_label": "", "b_label": "user", "paths": []}
    ]


def test_h4_queued_input_stands_where_it_will_be() -> None:
    waiting = snapshot(run(LOOK), steps=1, queued_input=[{"type": "input", "text": "It will rain."}])
    found = compare_trajectories(snapshot(run(LOOK), steps=1), waiting)
    assert (found.diverged_at, found.b[0].inputs[0].text) == (1, "It will rain.")


def test_h4_reasoning_counts_and_what_only_a_provider_understands_does_not() -> None:
    thinking = Step("ok", reasoning="hm")
    assert compare_trajectories(run(thinking), run(thinking._replace(reasoning="aha"))).diverged_at == 1
    signed = [
        changed(entry, provider={"signature": "x"}) if isinstance(entry, ReasoningEntry) else entry
        for entry in run(thinking)
    ]
    assert compare_trajectories(run(thinking), signed).same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1}', True),
        ('{"a": 1}', '{"a": 1.0}', False),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": 123456789012345678901234567890}', '{"a": 123456789012345678901234567891}', False),
        ("{not json", "{ not json", False),
        ("[" * 5000, "[" * 5000, True),
    ],
)
def test_h4_json_is_compared_by_what_it_means(one: str, other: str, same: bool) -> None:
    asked = compare_trajectories(run(Step(calls=[Call("t", one)])), run(Step(calls=[Call("t", other)])))
    got = compare_trajectories(run(Step(calls=[Call("t", {}, one)])), run(Step(calls=[Call("t", {}, other)])))
    assert (asked.same, got.diverged_at is None) == (same, same)


def test_h4_a_pending_call_and_another_kind_of_result_differ() -> None:
    pending = Step(calls=[Call("weather", {"city": "Lisbon"}, None)])
    assert compare_trajectories(run(LOOK), run(pending)).diverged_at == 1
    failed = [changed(entry, kind="error") if isinstance(entry, ToolResultEntry) else entry for entry in run(LOOK)]
    assert compare_trajectories(run(LOOK), failed).diverged_at == 1


def test_h4_transcripts_without_numbers_have_steps_all_the_same() -> None:
    plain: list[Entry] = [
        InputEntry(text="go"),
        AssistantTextEntry(text="Look."),
        ToolCallEntry(id="x", name="weather"),
        ToolCallEntry(id="x", name="weather"),
        ToolResultEntry(call_id="x", output="sun"),
        ToolResultEntry(call_id="x", output="rain"),
        AssistantTextEntry(text="Done."),
    ]
    found = compare_trajectories(plain, plain)
    assert [(step.number, [act.result.output for act in step.acts if act.result]) for step in found.a] == [
        (1, ["sun", "rain"]),
        (2, []),
    ]


# --- drift ------------------------------------------------------------------------------------------------------------


def test_h4_drift_in_four_kinds() -> None:
    faro = Step("Let me book.", [Call("book", {"city": "Faro", "nights": 2, "pet": True}, "done")])
    a = snapshot(run(LOOK, BOOK, END), steps=3, finish_reason="stop")
    b = snapshot(run(LOOK, Step(calls=[Call("think")]), faro, END), steps=4, finish_reason="length")
    assert compare_trajectories(a, b).drift.as_json() == {
        "tool_order": {"a": ["weather", "book"], "b": ["weather", "think", "book"]},
        "arguments": [
            {
                "tool": "book",
                "a": {"call": "2.1", "arguments": '{"city": "Lisbon", "nights": 2}'},
                "b": {"call": "3.1", "arguments": '{"city": "Faro", "nights": 2, "pet": true}'},
                "paths": [
                    {"path": "city", "kind": "changed", "a": "Lisbon", "b": "Faro"},
                    {"path": "pet", "kind": "added", "a": None, "b": True},
                ],
            }
        ],
        "step_count": {"a": 3, "b": 4},
        "finish_reason": {"a": "stop", "b": "length"},
    }


def test_h4_another_end_after_the_same_steps_is_drift_alone() -> None:
    found = compare_trajectories(snapshot(run(END), finish_reason="stop"), snapshot(run(END), finish_reason="length"))
    assert (found.diverged_at, found.same) == (None, False)


def test_h4_calls_of_one_step_are_paired_by_tool() -> None:
    a = run(Step(calls=[Call("look", {"n": 1}), Call("book", {"n": 2})]))
    b = run(Step(calls=[Call("think"), Call("look", {"n": 1}), Call("book", {"n": 3})]))
    (drift,) = compare_trajectories(a, b).drift.arguments
    assert (drift.tool, drift.a.place, drift.b.place) == ("book", "1.2", "1.3")
    labels = [
        (part.a_label, part.b_label) for part in compare_trajectories(a, b).rows[1].parts() if part.kind == "call"
    ]
    assert labels == [("", "1.1 think"), ("1.1 look", "1.2 look"), ("1.2 book", "1.3 book")]


def test_h4_calls_of_two_tools_are_two_calls() -> None:
    found = compare_trajectories(run(Step(calls=[Call("look")])), run(Step(calls=[Call("book", {"n": 1})])))
    labels = [(part.a_label, part.b_label) for part in found.rows[1].parts() if part.kind == "call"]
    assert (labels, found.drift.arguments) == ([("1.1 look", ""), ("", "1.1 book")], [])


# --- any runs ---------------------------------------------------------------------------------------------------------

_CALLS = st.builds(Call, st.sampled_from(["look", "book"]), st.just(None) | st.integers(0, 3).map(lambda n: {"n": n}))
_STEPS = st.lists(st.builds(Step, st.sampled_from(["", "a", "b c"]), st.lists(_CALLS, max_size=2)), max_size=7)


@settings(max_examples=50, deadline=None)
@given(_STEPS, st.data())
def test_h4_equal_runs_are_equal_and_one_edit_is_where_they_part(steps: list[Step], data: st.DataObject) -> None:
    a = run(*steps)
    assert compare_trajectories(a, run(*steps, ids="other")).same
    new = Step("never said", [Call("never")])
    at = data.draw(st.integers(0, len(steps)))
    inserted = compare_trajectories(a, run(*steps[:at], new, *steps[at:]))
    assert (inserted.diverged_at, inserted.count("added"), inserted.count("same")) == (at + 1, 1, len(steps))
    if at < len(steps):
        edited = compare_trajectories(run(*steps[:at], new, *steps[at + 1 :]), a)
        assert (edited.diverged_at, edited.count("changed"), edited.count("same")) == (at + 1, 1, len(steps) - 1)
