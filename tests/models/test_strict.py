"""Both wires against a server that refuses every invalid transcript: C07, C09, C11, C13, C15, and a second run."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli.models.anthropic import AnthropicModel
from lovia_cli.models.base import ModelResponse, ReasoningDelta, TextDelta
from lovia_cli.models.openai import OpenAIModel
from lovia_cli.models.provider import ProviderModel
from stores.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from tests.models.kit import StartStrict, Talk

pytestmark = pytest.mark.anyio

WIRES = [(OpenAIModel, True), (OpenAIModel, False), (AnthropicModel, True), (AnthropicModel, False)]
IDS = ["openai-streamed", "openai-whole", "anthropic-streamed", "anthropic-whole"]
both_wires = pytest.mark.parametrize(("kind", "stream"), WIRES, ids=IDS)


def model(kind: type[ProviderModel], url: str, **options: Any) -> Any:
    return kind("m", base_url=url, **options)  # type: ignore[call-arg]  # the base is built by its subclasses


def calls(response: ModelResponse) -> list[tuple[str, str, str]]:
    return [(entry.id, entry.name, entry.arguments) for entry in response.entries if isinstance(entry, ToolCallEntry)]


def text(response: ModelResponse) -> str:
    return "".join(entry.text for entry in response.entries if isinstance(entry, AssistantTextEntry))


@both_wires
async def test_c05_parallel_calls_with_equal_ids_a_kill_and_a_second_run(
    strict: StartStrict, kind: type[ProviderModel], stream: bool
) -> None:
    server = strict([
        {"text": "two", "calls": [{"id": "c", "name": "sh", "args": {"cmd": "a"}}, {"id": "c", "name": "sh"}]},
        {"calls": [{"id": "c", "name": "sh", "args": {"n": 36893488147419103232}}]},
        {"text": "done"},
        {"text": "again"},
    ])  # fmt: skip
    talk = Talk(model(kind, server.url, stream=stream))
    talk.say("go")
    first = await talk.step(["A", "B"])
    assert (text(first), calls(first)) == ("two", [("c", "sh", '{"cmd": "a"}'), ("c", "sh", "{}")])
    assert (first.finish_reason, first.usage.input_tokens, first.usage.output_tokens) == ("tool_calls", 10, 5)
    assert calls(await talk.step()) == [("c", "sh", '{"n": 36893488147419103232}')]
    assert text(await talk.step()) == "done"
    talk.say("next")
    second = await talk.step()
    assert (text(second), second.finish_reason, second.model) == ("again", "stop", talk.model.id)
    assert len(server.requests()) == 4


@both_wires
async def test_c07_empty_and_broken_arguments_are_kept_as_they_came_and_sent_as_objects(
    strict: StartStrict, kind: type[ProviderModel], stream: bool
) -> None:
    server = strict([
        {"calls": [{"id": "a", "name": "now", "args": ""}]},
        {"calls": [{"id": "b", "name": "sh", "args": '{"cmd": "ls'}]},
        {"text": "done"},
        {"text": "again"},
    ])  # fmt: skip
    talk = Talk(model(kind, server.url, stream=stream))
    talk.say("go")
    empty, broken = await talk.step(), await talk.step()
    await talk.step()
    talk.say("next")
    await talk.step()
    if kind is OpenAIModel:
        assert (calls(empty), calls(broken)) == ([("a", "now", "")], [("b", "sh", '{"cmd": "ls')])
    assert len(server.requests()) == 4


@both_wires
@pytest.mark.parametrize("said", ["", None, "  \n"])
async def test_c09_no_blank_text_reaches_the_wire_and_an_empty_output_does(
    strict: StartStrict, kind: type[ProviderModel], stream: bool, said: str | None
) -> None:
    server = strict(
        [{"text": said, "calls": [{"id": "t1", "name": "sh", "args": {"cmd": "true"}}]}, {"text": "ok"}] * 2
    )
    talk = Talk(model(kind, server.url, stream=stream))
    for message in ("one", "two"):
        talk.say(message)
        await talk.step([""])
        assert text(await talk.step()) == "ok"
    assert "(no output)" in str(server.bodies()[1]["messages"][-1])


@pytest.mark.parametrize("stream", [True, False])
async def test_c11_signed_thinking_stands_in_its_place_byte_for_byte(strict: StartStrict, stream: bool) -> None:
    thinking = {"text": "plan \u00e9 \U0001f7e2", "sig": "SIG=="}
    two = [{"id": "a", "name": "sh", "args": {}}, {"id": "b", "name": "sh", "args": {}}]
    server = strict([{"thinking": thinking, "text": "first", "calls": two}, {"text": "done"}, {"text": "again"}])
    talk = Talk(AnthropicModel("m", base_url=server.url, stream=stream))
    talk.say("go")
    response = await talk.step()
    assert response.entries[0] == ReasoningEntry(
        text="plan \u00e9 \U0001f7e2",
        provider={"name": "anthropic", "block": {"type": "thinking", "signature": "SIG=="}},
    )
    assert [type(delta) for delta in talk.deltas] == [ReasoningDelta, TextDelta, ModelResponse]
    await talk.step()
    talk.say("next")
    await talk.step()
    block = {"type": "thinking", "thinking": "plan \u00e9 \U0001f7e2", "signature": "SIG=="}
    assert [body["messages"][1]["content"][0] for body in server.bodies()[1:]] == [block, block]


@both_wires
@pytest.mark.parametrize("usage", [None, "omit", {}])
async def test_c13_missing_usage_is_unknown_and_loses_no_answer(
    strict: StartStrict, kind: type[ProviderModel], stream: bool, usage: Any
) -> None:
    server = strict([{"text": "a", "usage": usage}])
    talk = Talk(model(kind, server.url, stream=stream))
    talk.say("go")
    response = await talk.step()
    assert text(response) == "a"
    assert (response.usage.input_tokens, response.usage.requests, response.usage.unknown) == (None, 1, 1)


async def test_c13_only_a_total_is_unknown_too(strict: StartStrict) -> None:
    answer = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": {"total_tokens": 15}}
    server = strict([{"raw": answer}])
    talk = Talk(OpenAIModel("m", base_url=server.url))
    talk.say("go")
    usage = (await talk.step()).usage
    assert (usage.input_tokens, usage.output_tokens, usage.unknown) == (None, None, 1)


@both_wires
async def test_c15_half_a_character_does_not_come_back_to_the_wire(
    strict: StartStrict, kind: type[ProviderModel], stream: bool
) -> None:
    half = [{"id": "a", "name": "sh", "args": {"cmd": "\ud83d x"}}]
    server = strict([{"text": "\ud83d x", "calls": half}, {"text": "done"}])
    talk = Talk(model(kind, server.url, stream=stream), system="\ud83d")
    talk.say("caf\udce9")
    await talk.step(["x\udcffy"])
    assert text(await talk.step()) == "done"
    assert "\ufffd x" in str(server.bodies()[1]["messages"])


OPENAI_RAW: dict[str, Any] = {
    "id": "x",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "hi", "x_mark": 1}, {"type": "zap", "deep": [{"k": None}, 1.5]}],
                "reasoning_content": "because",
                "x_unknown": {"a": [1, {"b": "\u00e9"}], "c": 1e30},
                "tool_calls": [
                    {"id": "same", "type": "function", "function": {"name": "sh", "arguments": "{}"},
                     "extra_content": {"google": {"thought_signature": "SIG"}}},
                    {"id": "same", "type": "function", "function": {"name": "sh", "arguments": "{}"}},
                ],
            },
        }
    ],
}  # fmt: skip


@pytest.mark.parametrize("stream", [True, False])
async def test_openai_unknown_blocks_stand_in_the_next_request_as_they_came(strict: StartStrict, stream: bool) -> None:
    server = strict([{"raw": OPENAI_RAW}, {"text": "done"}])
    talk = Talk(OpenAIModel("m", base_url=server.url, stream=stream))
    talk.say("go")
    response = await talk.step()
    assert (response.usage.unknown, response.usage.input_tokens) == (1, None)
    assert [call[0] for call in calls(response)] == ["same", "same"]
    await talk.step()
    sent, came = server.bodies()[1]["messages"][2], OPENAI_RAW["choices"][0]["message"]
    assert sent["content"] == came["content"]
    assert sent["reasoning_content"] == "because"
    assert sent["x_unknown"] == came["x_unknown"]
    assert sent["tool_calls"][0] == came["tool_calls"][0]
    assert [call["id"] for call in sent["tool_calls"]] == ["same", "same_2"]


ANTHROPIC_RAW: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "zap", "deep": [{"k": None}, {"\u00e9": 1.5}], "text": None},
        {"type": "text", "text": "hi", "citations": [{"type": "page", "n": 3}]},
        {"type": "tool_use", "id": "same", "name": "sh", "input": {}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "same", "name": "sh", "input": {"cmd": "ls"}},
    ],
}


@pytest.mark.parametrize("stream", [True, False])
async def test_anthropic_unknown_blocks_stand_in_the_next_request_as_they_came(
    strict: StartStrict, stream: bool
) -> None:
    server = strict([{"raw": ANTHROPIC_RAW}, {"text": "done"}])
    talk = Talk(AnthropicModel("m", base_url=server.url, stream=stream))
    talk.say("go")
    response = await talk.step()
    assert (response.usage.unknown, response.usage.input_tokens) == (1, None)
    assert [call[0] for call in calls(response)] == ["same", "same"]
    await talk.step()
    sent = server.bodies()[1]["messages"][1]["content"]
    assert sent[:4] == ANTHROPIC_RAW["content"][:4]
    assert sent[4] == {**ANTHROPIC_RAW["content"][4], "id": "same_2"}


async def test_another_providers_private_parts_are_left_out(strict: StartStrict) -> None:
    server = strict([{"raw": OPENAI_RAW}, {"text": "done"}, {"text": "again"}])
    talk = Talk(OpenAIModel("m", base_url=server.url))
    talk.say("go")
    await talk.step()
    talk.model = AnthropicModel("m", base_url=server.url)
    assert text(await talk.step()) == "done"
    talk.say("next")
    talk.model = OpenAIModel("m", base_url=server.url, provider="other")
    assert text(await talk.step()) == "again"
    anthropic, other = (body["messages"] for body in server.bodies()[1:])
    assert anthropic[1]["content"][0] == {"type": "text", "text": "hi"}
    assert sorted(other[2]) == ["content", "role", "tool_calls"]
    assert sorted(other[2]["tool_calls"][0]) == ["function", "id", "type"]
