"""`OpenAIReader`: the ways in which servers stream a turn, and what is no turn."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli.models.base import ModelResponse
from lovia_cli.models.openai_reader import OpenAIReader
from lovia_cli.models.wire import BadAnswer, ErrorBody
from stores.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from tests.models.kit import shown


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(
    index: int | None = None, call_id: Any = None, name: str | None = None, arguments: Any = ""
) -> dict[str, Any]:
    item = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in item.items() if value is not None}


def read(*events: Any, finish_optional: bool = False) -> tuple[str, ModelResponse]:
    reader = OpenAIReader("openai", "m", finish_optional=finish_optional)
    deltas = [delta for event in events for delta in reader.feed(event)]
    return shown(deltas), reader.response()


def calls(*events: Any) -> list[tuple[str, str, str]]:
    _, response = read(*events, chunk("tool_calls"))
    assert response.finish_reason == "tool_calls"
    return [(entry.id, entry.name, entry.arguments) for entry in response.entries if isinstance(entry, ToolCallEntry)]


def test_parallel_calls_are_put_together_by_their_number() -> None:
    assert calls(
        chunk(role="assistant", content=None, tool_calls=[piece(0, "a", "f", "{")]),
        chunk(tool_calls=[piece(1, "b", "g", "")]),
        chunk(tool_calls=[piece(0, arguments='"x": 1')]),
        chunk(tool_calls=[piece(1, arguments="{}"), piece(0, arguments="}")]),
    ) == [("a", "f", '{"x": 1}'), ("b", "g", "{}")]


@pytest.mark.parametrize(
    "items",
    [
        [piece(0, "a", "f", "{}"), piece(0, "b", "f", "{}")],
        [piece(0, "a", "f", "{}"), piece(0, "a", "f", "{}")],
        [piece(None, "a", "f", "{}"), piece(None, "b", "f", "{}")],
        [piece(None, "a", "f", "{}"), piece(None, "a", "f", "{}")],
        [piece(0, None, "f", "{}"), piece(1, None, "f", "{}")],
    ],
    ids=["all-zero", "all-zero-one-id", "no-number", "no-number-one-id", "no-id"],
)
def test_calls_that_come_whole_stay_two_however_they_are_numbered(items: list[dict[str, Any]]) -> None:
    assert len(calls(*(chunk(tool_calls=[item]) for item in items))) == 2
    assert len(calls(chunk(tool_calls=items))) == 2


def test_an_id_and_a_name_may_come_again_with_each_piece() -> None:
    assert calls(
        chunk(tool_calls=[piece(0, "a", "f", '{"x"')]),
        chunk(tool_calls=[piece(0, "a", "f", ": 1}")]),
    ) == [("a", "f", '{"x": 1}')]


def test_pieces_without_a_number_continue_the_last_call() -> None:
    assert calls(
        chunk(tool_calls=[piece(None, "a", "f", '{"x"')]), chunk(tool_calls=[piece(arguments=": 1}")])
    ) == [("a", "f", '{"x": 1}')]  # fmt: skip


def test_arguments_may_come_as_an_object_and_not_at_all() -> None:
    items = [piece(0, "a", "f", {"x": "\u00e9"}), piece(1, "b", "g", None)]
    assert calls(chunk(tool_calls=items)) == [("a", "f", '{"x": "\u00e9"}'), ("b", "g", "")]


@pytest.mark.parametrize("finish", ["stop", "function_call", "tool_calls"])
def test_a_turn_with_calls_ends_in_calls_whatever_the_server_says(finish: str) -> None:
    _, response = read(chunk(tool_calls=[piece(0, "a", "f", "{}")]), chunk(finish))
    assert response.finish_reason == "tool_calls"


def test_reasoning_in_pieces_is_kept_with_its_signature() -> None:
    said, response = read(
        chunk(reasoning="pl", reasoning_details=[{"type": "reasoning.text", "text": "pl", "index": 0}]),
        chunk(reasoning="an", reasoning_details=[{"type": "reasoning.text", "text": "an", "index": 0}]),
        chunk(reasoning_details=[{"type": "reasoning.text", "signature": "SIG", "index": 0}]),
        chunk(content="hi"),
        chunk("stop"),
    )
    assert said == "planhi"
    details = [{"type": "reasoning.text", "text": "plan", "index": 0, "signature": "SIG"}]
    own = {"name": "openai", "text_field": "reasoning", "fields": {"reasoning_details": details}}
    assert response.entries == [ReasoningEntry(text="plan", provider=own), AssistantTextEntry(text="hi")]


def test_content_parts_of_an_unknown_kind_keep_their_place() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    said, response = read(
        chunk(content=[thinking]),
        chunk(content=[{"type": "text", "text": "h"}]),
        chunk(content=[{"type": "text", "text": "i"}]),
        chunk("stop"),
    )
    own = {"name": "openai", "part": thinking}
    assert (said, response.entries) == (
        "hi",
        [ReasoningEntry(text="", provider=own), AssistantTextEntry(text="hi")],
    )


def test_empty_fields_that_mean_nothing_are_no_reasoning() -> None:
    message = {"role": "assistant", "content": "hi", "refusal": None, "annotations": [], "reasoning_content": ""}
    _, response = read({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert response.entries == [AssistantTextEntry(text="hi")]


def test_c15_a_character_cut_between_two_pieces_is_whole() -> None:
    said, response = read(chunk(content="a\ud83d"), chunk(content="\ude00b"), chunk("stop"))
    assert said == "a\U0001f600b"
    assert isinstance(response.entries[0], AssistantTextEntry)


def test_usage_comes_last_and_counts_what_was_cached() -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}
    _, response = read(chunk("stop", content="a"), {"choices": [], "usage": usage})
    used = response.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.unknown) == (10, 3, 8, 0)
    assert response.extra["usage"] == usage


@pytest.mark.parametrize(
    "usage", [None, {}, [], {"prompt_tokens": "7"}, {"prompt_tokens": -1, "completion_tokens": True}]
)
def test_c13_a_usage_that_says_nothing_is_unknown(usage: Any) -> None:
    _, response = read(chunk("stop", content="a") | {"usage": usage})
    used = response.usage
    assert (used.input_tokens, used.output_tokens, used.requests, used.unknown) == (None, None, 1, 1)


@pytest.mark.parametrize(
    ("events", "said", "retryable"),
    [
        ([], "holds no choice", True),
        ([{"choices": None}], "holds no choice", True),
        ([[]], "is no JSON object", True),
        ([chunk(content="ans")], "no finish reason", True),
        ([chunk("error", content="ans")], "broke the answer off", True),
        ([chunk("tool_calls")], "holds no call", True),
        ([chunk(tool_calls=[piece(0, "a", "f", '{"x": "ab')]), chunk("length")], "within its call of 'f'", False),
        ([chunk(tool_calls=[piece(0, "a", "f", "")]), chunk("length")], "within its call of 'f'", False),
        ([chunk(reasoning="hm"), chunk("length")], "before it said anything", False),
        ([chunk(content="half a sen"), chunk("length")], "the answer was cut at the limit of tokens", False),
        ([chunk(refusal="I can"), chunk(refusal="not."), chunk("stop")], "(refusal): I cannot.", False),
        ([chunk(content="Well"), chunk("content_filter")], "(content_filter): Well", False),
        ([chunk(tool_calls=[piece(0, "a", "f", "{}")]), chunk("content_filter")], "(content_filter)", False),
    ],
)
def test_what_is_no_whole_turn_is_refused(events: list[Any], said: str, retryable: bool) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(*events)
    assert said in caught.value.message
    assert caught.value.retryable is retryable


def test_an_error_object_is_no_turn() -> None:
    with pytest.raises(ErrorBody):
        read({"error": {"message": "x"}})


def test_a_whole_last_call_before_the_limit_is_a_turn() -> None:
    _, call = read(chunk(tool_calls=[piece(0, "a", "f", '{"x": 1}')]), chunk("length"))
    assert (call.finish_reason, len(call.entries)) == ("length", 1)


def test_an_unknown_finish_reason_is_the_providers_own_word() -> None:
    assert read(chunk("eos_token", content="a"))[1].finish_reason == "eos_token"


def test_other_choices_are_not_ours() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    assert read(other, chunk("stop", content="yes"))[0] == "yes"
