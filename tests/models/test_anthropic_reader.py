"""`AnthropicReader`: blocks put together from raw events, known or not, and what is no turn."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli.models.anthropic_reader import AnthropicReader
from lovia_cli.models.base import ModelResponse
from lovia_cli.models.wire import BadAnswer, ErrorBody
from stores.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from tests.models.kit import shown


def start(**usage: Any) -> dict[str, Any]:
    return {
        "type": "message_start",
        "message": {"id": "m1", "model": "claude-x", "content": [], "usage": usage or None},
    }


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    begin = {"type": "content_block_start", "index": index, "content_block": content}
    pieces = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [begin, *pieces, {"type": "content_block_stop", "index": index}]


def stop(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or None}


def read(*events: Any) -> tuple[str, ModelResponse]:
    reader = AnthropicReader("anthropic", "m")
    deltas = [delta for event in events for delta in reader.feed(event)]
    return shown(deltas), reader.response()


def own(**content: Any) -> dict[str, Any]:
    return {"name": "anthropic", "block": content}


def tool(index: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": f"t{index}", "name": "sh", "input": {}}, *deltas)


def test_c11_thinking_text_and_calls_stand_in_the_models_order() -> None:
    thinking = [{"type": "thinking_delta", "thinking": "pl"}, {"type": "thinking_delta", "thinking": "an"}]
    said, response = read(
        start(input_tokens=5),
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thinking,
               {"type": "signature_delta", "signature": "SIG"}),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"}),
        {"type": "ping"},
        *tool(2, '{"cmd": ', '"ls"}'),
        *tool(3),
        stop("tool_use", output_tokens=9),
        {"type": "message_stop"},
    )  # fmt: skip
    assert said == "planhi"
    assert response.entries == [
        ReasoningEntry(text="plan", provider=own(type="thinking", signature="SIG")),
        AssistantTextEntry(text="hi"),
        ToolCallEntry(id="t2", name="sh", arguments='{"cmd": "ls"}'),
        ToolCallEntry(id="t3", name="sh", arguments=""),
    ]
    assert (response.finish_reason, response.model) == ("tool_calls", "anthropic:m")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 9)


def test_unknown_blocks_and_pieces_are_put_together_and_kept_whole() -> None:
    cited = {"type": "citations_delta", "citation": {"page": 1}}
    _, response = read(
        start(),
        *block(0, {"type": "zap", "data": "a", "list": [1]}, {"type": "zap_delta", "data": "b", "new": {"x": 1}}),
        *block(1, {"type": "server_tool_use", "id": "s", "name": "web", "input": {}},
               {"type": "input_json_delta", "partial_json": '{"q": 1}'}),
        *block(2, {"type": "text", "text": "", "citations": None}, {"type": "text_delta", "text": "hi"}, cited, cited),
        stop("end_turn"),
    )  # fmt: skip
    assert response.entries == [
        ReasoningEntry(text="", provider=own(type="zap", data="ab", list=[1], new={"x": 1})),
        ReasoningEntry(text="", provider=own(type="server_tool_use", id="s", name="web", input={"q": 1})),
        AssistantTextEntry(text="hi", provider=own(citations=[{"page": 1}, {"page": 1}])),
    ]
    assert response.finish_reason == "stop"


def test_input_tokens_are_all_input_tokens_cached_or_not() -> None:
    cached = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    _, response = read(start(input_tokens=3, output_tokens=1, **cached), stop("end_turn", output_tokens=7))
    used = response.usage
    assert (used.input_tokens, used.output_tokens) == (123, 7)
    assert (used.cache_read_tokens, used.cache_write_tokens, used.unknown) == (100, 20, 0)


def test_c13_the_output_count_at_the_start_of_a_stream_is_no_total() -> None:
    _, response = read(start(input_tokens=3, output_tokens=1), stop("end_turn"))
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.unknown) == (3, None, 1)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("compaction", "compaction")],
)
def test_stop_reasons_have_our_words_or_the_providers_own(reason: str, finish: str) -> None:
    said = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})
    assert read(start(), *said, stop(reason))[1].finish_reason == finish


def whole(reason: str | None, *content: Any) -> dict[str, Any]:
    return {"type": "message", "content": list(content), "stop_reason": reason, "usage": None}


HALF = {"type": "text", "text": "half a sen"}
CALL = {"type": "tool_use", "id": "t", "name": "sh", "input": {"cmd": "ls"}}


@pytest.mark.parametrize(
    ("events", "said", "retryable"),
    [
        ([], "holds no message", True),
        ([[]], "is no JSON object", True),
        ([start(), *tool(0, "{}")], "no stop reason", True),
        ([whole(None, {"type": "text", "text": "a"})], "no stop reason", True),
        ([start(), stop("tool_use")], "holds no call", True),
        ([start(), *tool(0, '{"cmd": "l'), stop("max_tokens")], "within its call of 'sh'", False),
        ([start(), *tool(0), stop("max_tokens")], "within its call of 'sh'", False),
        ([whole("max_tokens", CALL)], "within its call of 'sh'", False),
        ([whole("max_tokens", {"type": "thinking", "thinking": "hm"})], "before it said anything", False),
        ([whole("max_tokens", HALF)], "the answer was cut at the limit of tokens", False),
        ([whole("model_context_window_exceeded", HALF)], "was cut at the limit of tokens", False),
        ([whole("refusal", HALF)], "refused to answer (refusal): half a sen", False),
        ([{**whole("refusal"), "stop_details": {"explanation": "It is bio."}}], "(refusal): It is bio.", False),
        ([whole("refusal", CALL)], "(refusal)", False),
        ([whole("pause_turn", HALF)], "(pause_turn): half a sen", False),
    ],
)
def test_what_is_no_whole_turn_is_refused(events: list[Any], said: str, retryable: bool) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(*events)
    assert said in caught.value.message
    assert caught.value.retryable is retryable


@pytest.mark.parametrize("event", [{"type": "error", "error": {"message": "x"}}, {"error": {"message": "x"}}])
def test_an_error_object_is_no_turn(event: dict[str, Any]) -> None:
    with pytest.raises(ErrorBody):
        read(event)


def test_a_call_that_is_whole_before_the_text_was_cut_is_a_turn() -> None:
    _, response = read(start(), *tool(0, '{"cmd": "ls"}'), stop("max_tokens"))
    assert (response.finish_reason, len(response.entries)) == ("length", 1)
    _, response = read(whole("max_tokens", CALL, {"type": "text", "text": "and th"}))
    assert (response.finish_reason, len(response.entries)) == ("length", 2)


def test_c07_an_input_that_is_text_is_kept_as_the_text_it_is() -> None:
    _, response = read(whole("tool_use", {**CALL, "input": '{"cmd": "l'}))
    assert response.entries == [ToolCallEntry(id="t", name="sh", arguments='{"cmd": "l')]


def test_an_empty_text_block_is_no_entry() -> None:
    assert read(whole("tool_use", {"type": "text", "text": ""}, CALL))[1].entries == [
        ToolCallEntry(id="t", name="sh", arguments='{"cmd": "ls"}')
    ]
