"""The scripted model: each key of a script, the order of things, and what a bad script is told."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.errors import AgentFileError, CredentialsError, ProviderError, ScriptError
from lovia_cli.models.base import Delta, Model, ModelRequest, ModelResponse, ReasoningDelta, TextDelta
from lovia_cli.models.scripted import ScriptedModel
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry
from stores.records import Usage

pytestmark = pytest.mark.anyio


def request(number: int = 1, entries: Sequence[Entry] = (), *, run: str = "r1", agent: str = "bot") -> ModelRequest:
    return ModelRequest(run_id=run, agent=agent, number=number, system=None, entries=entries)


async def play(model: ScriptedModel, number: int = 1, entries: Sequence[Entry] = ()) -> ModelResponse:
    """The response, which comes last and once."""
    deltas = await stream(model, number, entries)
    assert [isinstance(delta, ModelResponse) for delta in deltas] == [False] * (len(deltas) - 1) + [True]
    response = deltas[-1]
    assert isinstance(response, ModelResponse)
    return response


async def collect(model: ScriptedModel, seen: list[Delta]) -> None:
    """For what comes before an error."""
    async for delta in model.respond(request()):
        seen.append(delta)


async def stream(model: ScriptedModel, number: int = 1, entries: Sequence[Entry] = ()) -> list[Delta]:
    return [delta async for delta in model.respond(request(number, entries))]


def script(folder: Path, text: str, name: str = "s.yaml") -> ScriptedModel:
    (folder / name).write_text(text, encoding="utf-8")
    return ScriptedModel.from_file(name, base_dir=folder)


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(AgentFileError) as caught:
        script(folder, text)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


async def test_a_whole_turn_from_a_file(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        "turns:\n"
        "  - reasoning: The weather decides.\n"
        "    text: Let me look.\n"
        "    tool_calls:\n"
        "      - {id: call_weather, name: weather, arguments: {city: Lisbon, days: 2, when: 2026-01-01}}\n"
        "      - {id: call_weather, name: on, arguments: '{\"broken'}\n"
        "      - {name: now}\n"
        "    usage: {input_tokens: 12, output_tokens: 7, cache_read_tokens: 3}\n",
    )
    assert model.id == "scripted:s.yaml"
    assert isinstance(model, Model)
    assert await stream(model) == [
        ReasoningDelta("The weather decides."),
        TextDelta("Let me look."),
        ModelResponse(
            entries=[
                ReasoningEntry(text="The weather decides.", provider={"name": "scripted"}),
                AssistantTextEntry(text="Let me look."),
                ToolCallEntry(
                    id="call_weather", name="weather", arguments='{"city":"Lisbon","days":2,"when":"2026-01-01"}'
                ),
                ToolCallEntry(id="call_weather", name="on", arguments='{"broken'),
                ToolCallEntry(id="call_1_3", name="now", arguments="{}"),
            ],
            finish_reason="tool_calls",
            usage=Usage(input_tokens=12, output_tokens=7, cache_read_tokens=3, requests=1, unknown=0),
            model="scripted:s.yaml",
        ),
    ]


async def test_a_path_is_shown_as_given_and_relative_to_the_agent_file(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "s.yaml").write_text("log: calls.jsonl\nturns: [{text: hi}]")
    model = ScriptedModel.from_file("scripts/s.yaml", base_dir=tmp_path)
    await play(model)
    assert model.id == "scripted:scripts/s.yaml"
    assert (tmp_path / "scripts" / "calls.jsonl").exists()


async def test_the_number_of_the_response_chooses_the_turn() -> None:
    model = ScriptedModel(["one", {"text": "two"}])
    assert [(await play(model, number)).entries for number in (2, 1, 2)] == [
        [AssistantTextEntry(text="two")], [AssistantTextEntry(text="one")], [AssistantTextEntry(text="two")],
    ]  # fmt: skip


async def test_past_the_last_turn_is_an_error_that_says_so() -> None:
    with pytest.raises(ScriptError) as caught:
        await play(ScriptedModel(["one", "two"]), 3)
    assert str(caught.value) == "the script ends after turn 2: this is response 3 of bot"
    assert caught.value.hint == "add a turn, or 'loop: true' to start over"
    assert not caught.value.retryable


async def test_loop_starts_over(tmp_path: Path) -> None:
    model = script(tmp_path, "loop: true\nturns: [{text: a}, {tool_calls: [{name: t}]}]")
    assert [(await play(model, number)).entries for number in (3, 4)] == [
        [AssistantTextEntry(text="a")], [ToolCallEntry(id="call_4_1", name="t")],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("turn", "finish_reason"),
    [
        ({"text": "a"}, "stop"), ({}, "stop"), ({"tool_calls": [{"name": "t"}]}, "tool_calls"),
        ({"text": "a", "finish_reason": "length"}, "length"),
        ({"tool_calls": [{"name": "t"}], "finish_reason": "odd"}, "odd"),
    ],
)  # fmt: skip
async def test_the_finish_reason_follows_the_content_unless_given(turn: dict[str, Any], finish_reason: str) -> None:
    assert (await play(ScriptedModel([turn]))).finish_reason == finish_reason


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage(requests=1, unknown=1)),
        ({}, Usage(requests=1, unknown=1)),
        ({"input_tokens": 3}, Usage(input_tokens=3, requests=1, unknown=1)),
        ({"input_tokens": 0, "output_tokens": 0}, Usage(input_tokens=0, output_tokens=0, requests=1, unknown=0)),
    ],
)
async def test_c13_usage_that_was_not_counted_is_unknown(usage: dict[str, int] | None, expected: Usage) -> None:
    assert (await play(ScriptedModel([{"text": "a", "usage": usage}]))).usage == expected


async def test_a_reasoning_block_is_kept_as_it_is(tmp_path: Path) -> None:
    model = script(tmp_path, "turns: [{reasoning: {text: 012, signature: SIG==, type: thinking, n: 3, deep: [true]}}]")
    block = {"text": "012", "signature": "SIG==", "type": "thinking", "n": 3, "deep": [True]}
    assert (await play(model)).entries == [ReasoningEntry(text="012", provider={"name": "scripted", "block": block})]
    redacted = ScriptedModel([{"reasoning": {"data": "x"}}])
    assert (await play(redacted)).entries == [
        ReasoningEntry(text="", provider={"name": "scripted", "block": {"data": "x"}})
    ]


async def test_arguments_that_are_text_are_sent_exactly(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        'turns: [{tool_calls: [{name: a, arguments: ""}, {name: b, arguments: " {}\\n"}, {name: c, arguments: 012},\n'
        "  {name: d, arguments: {}}, {name: e, id: ''}]}]",
    )
    calls = [entry for entry in (await play(model)).entries if isinstance(entry, ToolCallEntry)]
    assert [(call.name, call.arguments, call.id) for call in calls] == [
        ("a", "", "call_1_1"), ("b", " {}\n", "call_1_2"), ("c", "012", "call_1_3"), ("d", "{}", "call_1_4"),
        ("e", "{}", ""),
    ]  # fmt: skip


async def test_c15_half_characters_are_replaced_in_a_file_and_kept_from_python(tmp_path: Path) -> None:
    model = script(tmp_path, r'turns: [{text: "\uD83D x", tool_calls: [{name: t, arguments: {k: "\uDE00"}}]}]')
    assert (await play(model)).entries == [
        AssistantTextEntry(text="\ufffd x"), ToolCallEntry(id="call_1_1", name="t", arguments='{"k":"\ufffd"}'),
    ]  # fmt: skip
    from_python = ScriptedModel([{"text": "\ud83d x", "tool_calls": [{"name": "t", "arguments": "\ude00"}]}])
    assert (await play(from_python)).entries == [
        AssistantTextEntry(text="\ud83d x"), ToolCallEntry(id="call_1_1", name="t", arguments="\ude00"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("chunks", "pieces"),
    [
        (1, [ReasoningDelta("ab"), TextDelta("cdefgh")]),
        (2, [ReasoningDelta("ab"), TextDelta("cd"), TextDelta("efgh")]),
        (3, [ReasoningDelta("ab"), TextDelta("cde"), TextDelta("fgh")]),
        (16, [ReasoningDelta("a"), ReasoningDelta("b"), *map(TextDelta, "cdefgh")]),
    ],
)
async def test_chunks_cut_reasoning_and_text_into_pieces(chunks: int, pieces: list[Delta]) -> None:
    model = ScriptedModel([{"reasoning": "ab", "text": "cdefgh", "chunks": chunks}])
    assert (await stream(model))[:-1] == pieces


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_cut_after_breaks_the_stream_off_once_without_a_response(after: int) -> None:
    model = ScriptedModel([{"text": "abcd", "chunks": 2, "cut_after": after, "tool_calls": [{"name": "t"}]}])
    seen: list[Delta] = []
    with pytest.raises(ProviderError) as caught:
        await collect(model, seen)
    assert seen == [TextDelta("ab"), TextDelta("cd")][:after]
    assert str(caught.value) == f"scripted: the stream broke off after {after} of 2 pieces"
    assert caught.value.retryable
    assert (await play(model)).entries[0] == AssistantTextEntry(text="abcd")


@pytest.mark.parametrize(
    ("fail", "status", "retryable", "message"),
    [
        ({"status": 429}, 429, True, "scripted: status 429"),
        ({"status": 408, "message": "slow"}, 408, True, "scripted: status 408: slow"),
        ({"status": 500, "code": "x", "message": "y"}, 500, True, "scripted: status 500 (x): y"),
        ({"status": 599}, 599, True, "scripted: status 599"),
        ({"status": 400, "code": "bad"}, 400, False, "scripted: status 400 (bad)"),
        ({"status": 404}, 404, False, "scripted: status 404"),
        ("timeout", None, True, "scripted: no answer in time"),
        ("disconnect", None, True, "scripted: the connection was lost"),
        ({"status": "timeout", "message": "zzz"}, None, True, "scripted: zzz"),
    ],
)
async def test_fail_comes_before_the_answer_and_then_no_more(
    fail: Any, status: int | None, retryable: bool, message: str
) -> None:
    model = ScriptedModel([{"text": "a", "fail": fail}])
    seen: list[Delta] = []
    with pytest.raises(ProviderError) as caught:
        await collect(model, seen)
    error = caught.value
    assert (type(error), error.status, error.retryable, str(error)) == (ProviderError, status, retryable, message)
    assert seen == []
    assert (await play(model)).entries == [AssistantTextEntry(text="a")]


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_are_their_own_error(status: int) -> None:
    with pytest.raises(CredentialsError) as caught:
        await play(ScriptedModel([{"fail": {"status": status}}]))
    assert (caught.value.status, caught.value.retryable) == (status, False)


async def test_fail_counts_each_turn_for_itself() -> None:
    fail = {"status": 503, "times": 2}
    model = ScriptedModel([{"text": "a", "fail": fail}, {"text": "b", "fail": fail}])
    outcomes = []
    for number in (1, 2, 1, 2, 1, 2):
        try:
            outcomes.append((await play(model, number)).entries)
        except ProviderError:
            outcomes.append([])
    assert outcomes == [[], [], [], [], [AssistantTextEntry(text="a")], [AssistantTextEntry(text="b")]]


CASES = [{"when": "^rain|mm$", "text": "museum"}, {"when": "(?i)SUN", "text": "beach"}]


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([InputEntry(text="rain now")], "museum"),
        ([InputEntry(text="no rain, sun")], "beach"),
        ([InputEntry(text="rain"), AssistantTextEntry(text="rain"), InputEntry(text="the sun")], "beach"),
        (
            [
                InputEntry(text="rain"), ToolCallEntry(id="a", name="rain"), ToolCallEntry(id="b", name="t"),
                ToolResultEntry(call_id="a", output="sun"), ToolResultEntry(call_id="b", output="3 mm"),
            ],
            "museum",
        ),
        (
            [
                ToolCallEntry(id="a", name="t"), ToolResultEntry(call_id="a", output="sun"),
                InputEntry(text="and more"), InputEntry(text="still"),
            ],
            "beach",
        ),
    ],
)  # fmt: skip
async def test_cases_match_all_that_was_said_since_the_last_response(entries: list[Entry], text: str) -> None:
    assert (await play(ScriptedModel([{"cases": CASES}]), 1, entries)).entries == [AssistantTextEntry(text=text)]


async def test_a_case_without_when_is_the_default_and_none_is_an_error() -> None:
    told = [InputEntry(text="snow")]
    model = ScriptedModel([{"cases": [*CASES, {"text": "home"}]}])
    assert (await play(model, 1, told)).entries == [AssistantTextEntry(text="home")]
    with pytest.raises(ScriptError) as caught:
        await play(ScriptedModel([{"cases": CASES}]), 1, told)
    assert str(caught.value) == "no case of turn 1 matches the messages since the last response"


async def test_the_log_has_a_line_for_each_request_also_for_one_that_fails(tmp_path: Path) -> None:
    model = script(tmp_path, "log: calls.jsonl\nturns: [{text: a, fail: {status: 500}}]")
    for number in (1, 1, 2):
        try:
            async for _ in model.respond(request(number, run="r\u00e9", agent="b")):
                pass
        except ProviderError:
            pass
    lines = (tmp_path / "calls.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"run_id": "r\u00e9", "agent": "b", "n": n} for n in (1, 1, 2)]


async def test_a_second_model_appends_to_the_log(tmp_path: Path) -> None:
    for _ in range(2):
        await play(script(tmp_path, "log: calls.jsonl\nturns: [{text: a}]"))
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 2


async def test_a_log_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        await play(script(tmp_path, "log: no/calls.jsonl\nturns: [{text: a}]"))
    assert caught.value.where == str(tmp_path / "no" / "calls.jsonl")


async def test_on_request_sees_what_the_model_was_sent() -> None:
    seen: list[ModelRequest] = []
    model = ScriptedModel(["a"], on_request=seen.append, id="scripted:test")
    await play(model, 1, [InputEntry(text="hi")])
    assert (model.id, [one.entries for one in seen]) == ("scripted:test", [[InputEntry(text="hi")]])


async def test_delay_is_the_time_of_the_whole_answer() -> None:
    model = ScriptedModel([{"text": "ab", "chunks": 2, "delay": 0.002}])
    assert len(await stream(model)) == 3


def test_c39_every_fault_of_a_script_has_its_place(tmp_path: Path) -> None:
    text = """\
log: [x]
lop: true
summary: {text: x}
turns:
  - txt: a
  - {text: a, loop: true}
  - {reasoning: [a]}
  - {tool_calls: [{id: a}, {name: b, arguments: [1]}]}
  - {usage: {input_tokens: -1}}
  - {delay: soon, chunks: 0}
  - {text: abc, chunks: 2, cut_after: 3}
  - {fail: 200}
  - {fail: {times: 2}}
  - {cases: []}
  - {cases: [{when: "("}], text: a}
  - just text
"""
    assert faults(tmp_path, text) == [
        "s.yaml:1:6: 'log' needs text, got a list",
        "s.yaml:2:1: unknown key 'lop' in the script (did you mean 'loop'?)",
        "s.yaml:3:1: 'summary' is not there yet in this version of lovia (remove it, or use a newer lovia)",
        "s.yaml:5:5: unknown key 'txt' in a turn (did you mean 'text'?)",
        "s.yaml:6:15: unknown key 'loop' in a turn ('loop' belongs at the top level of the file; "
        "check the indentation)",
        "s.yaml:7:17: 'reasoning' needs text or a mapping, got a list",
        "s.yaml:8:19: a tool call needs 'name' (add 'name: ...')",
        "s.yaml:8:49: 'arguments' needs a mapping or text, got a list",
        "s.yaml:9:28: 'input_tokens' must be 0 or more, got -1",
        "s.yaml:10:13: 'delay' needs a number, got soon",
        "s.yaml:10:27: 'chunks' must be 1 or more, got 0",
        "s.yaml:11:5: a turn is cut after 3 of 2 pieces (raise 'chunks')",
        "s.yaml:12:12: 'status' needs an HTTP status from 400 to 599, timeout or disconnect, got 200",
        "s.yaml:13:12: fail needs 'status' (add 'status: ...')",
        "s.yaml:14:13: 'cases' needs at least one entry",
        "s.yaml:15:21: 'when' is not a regular expression: missing ), unterminated subpattern at position 0",
        "s.yaml:15:28: unknown key 'text' in a turn with cases (known: cases)",
        "s.yaml:16:5: a turn needs a mapping, got just text",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("loop: true\n", "s.yaml:1:1: the script needs 'turns' (add 'turns: ...')"),
        ("turns: []\n", "s.yaml:1:8: 'turns' needs at least one entry"),
        ("turns: {text: a}\n", "s.yaml:1:8: 'turns' needs a list, got a mapping"),
        ("- text: a\n", "s.yaml:1:1: the file holds a list, not keys with values "
         "(start with lines like 'name: ...')"),
    ],
)  # fmt: skip
def test_c39_a_script_of_the_wrong_shape(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text) == [fault]


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError) as caught:
        ScriptedModel.from_file("no.yaml", base_dir=tmp_path)
    assert caught.value.where == str(tmp_path / "no.yaml")


@pytest.mark.parametrize(
    ("turns", "message", "hint"),
    [
        ([{"txt": "a"}], "unknown key 'txt' in a turn (at turns.0.txt, from 0)", "did you mean 'text'?"),
        (["a", {"text": 3}], "'text' needs text, got 3 (at turns.1.text, from 0)", None),
        ([], "'turns' needs at least one entry (at turns, from 0)", None),
        ([3], "a turn needs a mapping, got 3 (at turns.0, from 0)", None),
    ],
)
def test_a_bad_script_from_python(turns: list[Any], message: str, hint: str | None) -> None:
    with pytest.raises(ScriptError) as caught:
        ScriptedModel(turns)
    assert (str(caught.value), caught.value.hint) == (message, hint)
