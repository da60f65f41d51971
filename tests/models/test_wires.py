"""The request bodies of both wires, and what a provider is spared."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from lovia_cli.errors import AgentFileError, ProviderError
from lovia_cli.models.anthropic_wire import DEFAULT_MAX_TOKENS, AnthropicWire
from lovia_cli.models.base import ModelRequest
from lovia_cli.models.openai_wire import OpenAIWire
from lovia_cli.models.parts import attachment
from lovia_cli.models.wire import BadAnswer
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry
from tests.models.kit import TOOL

MARK = {"cache_control": {"type": "ephemeral"}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}


def request(*entries: Entry, system: str | None = None, **more: Any) -> ModelRequest:
    return ModelRequest(run_id="r", agent="a", number=1, system=system, entries=entries, **more)


def openai(ask: ModelRequest, *, stream: bool = False, **options: Any) -> dict[str, Any]:
    return OpenAIWire(model="m", **options).body(ask, stream=stream)


def anthropic(ask: ModelRequest, *, stream: bool = False, **options: Any) -> dict[str, Any]:
    return AnthropicWire(model="m", **{"prompt_cache": False, **options}).body(ask, stream=stream)


def part(kind: str, media_type: str, data: bytes) -> dict[str, Any]:
    return {"type": kind, "media_type": media_type, "name": "f", "data": base64.b64encode(data).decode()}


HI = InputEntry(text="hi")


def test_the_smallest_bodies() -> None:
    assert openai(request(HI)) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert anthropic(request(HI)) == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


def test_streams_tools_and_system_prompts() -> None:
    ask = request(InputEntry(text="be kind", role="system"), HI, system="Be brief.", tools=[TOOL])
    body = openai(ask, stream=True)
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"][0] == {"role": "system", "content": "Be brief.\n\nbe kind"}
    assert body["tools"][0]["function"] == {
        "name": "sh", "description": "Run a command.", "parameters": TOOL.parameters,
    }  # fmt: skip
    assert "stream_options" not in openai(ask, stream=True, stream_usage=False)
    body = anthropic(ask, stream=True)
    assert (body["stream"], body["system"]) == (True, [{"type": "text", "text": "Be brief.\n\nbe kind"}])
    assert body["tools"] == [{"name": "sh", "description": "Run a command.", "input_schema": TOOL.parameters}]


def test_settings_pass_through_and_those_of_the_agent_come_first() -> None:
    ask = request(HI, settings={"temperature": 0, "max_tokens": 5, "x_new": {"a": 1}, "top_p": None})
    body = openai(ask, settings={"temperature": 1, "seed": 7}, max_tokens_field="max_completion_tokens")
    assert {name: body[name] for name in body.keys() - {"model", "messages"}} == {
        "temperature": 0, "seed": 7, "max_completion_tokens": 5, "x_new": {"a": 1},
    }  # fmt: skip
    body = anthropic(ask, settings={"thinking": {"type": "adaptive"}})
    assert (body["max_tokens"], body["x_new"], body["thinking"]) == (5, {"a": 1}, {"type": "adaptive"})


@pytest.mark.parametrize("name", ["messages", "model", "stream", "tools"])
def test_settings_that_would_break_a_run_are_refused(name: str) -> None:
    for body in (openai, anthropic):
        with pytest.raises(AgentFileError, match=f"model_settings cannot set '{name}'"):
            body(request(HI, settings={name: []}))


def test_an_output_schema_has_a_field_or_is_asked_for_in_words() -> None:
    ask = request(HI, output_schema=SCHEMA, tools=[TOOL])
    assert openai(ask)["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "output", "schema": SCHEMA},
    }  # fmt: skip
    assert json.dumps(SCHEMA) in openai(ask, native_schema=False)["messages"][0]["content"]
    assert json.dumps(SCHEMA) in anthropic(ask)["system"][0]["text"]
    assert anthropic(ask, native_schema=True)["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


def test_attachments_are_typed_parts_on_both_wires() -> None:
    parts = [
        part("image", "image/png", b"\x89PNG"),
        part("file", "application/pdf", b"%PDF-1.7"),
        part("file", "text/csv", b"a,b"),
    ]
    ask = request(InputEntry(text="look", parts=parts))
    assert openai(ask)["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "file", "file": {"filename": "f", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}},
        {"type": "text", "text": "File f:\n\na,b"},
    ]
    assert anthropic(ask)["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
            "title": "f",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}, "title": "f"},
        {"type": "text", "text": "look"},
    ]


@pytest.mark.parametrize(
    ("media_type", "content", "said"),
    [
        ("application/zip", b"PK", "is application/zip, which models cannot read"),
        ("image/tiff", b"II*", "is image/tiff, which models cannot read"),
        ("image/png", b"", "is empty"),
        ("application/pdf", b"", "is empty"),
        ("image/webp", b"RIFF....WAVE", "is no image/webp, nor an image"),
        ("application/pdf", b"just text", "is no application/pdf, nor an image"),
        ("application/pdf", b" " * 1030 + b"%PDF-1.7", "is no application/pdf, nor an image"),
    ],
)
def test_an_attachment_that_no_model_reads_is_refused(media_type: str, content: bytes, said: str) -> None:
    ask = request(InputEntry(text="look", parts=[part("file", media_type, content)]))
    for body in (openai, anthropic):
        with pytest.raises(BadAnswer, match=f"^the attachment 'f' {said}$"):
            body(ask)


@pytest.mark.parametrize(
    ("media_type", "content", "kind", "sent_as"),
    [
        ("image/jpg", b"\xff\xd8\xff\xe0", "image", "image/jpeg"),
        ("image/png", b"GIF89a", "image", "image/gif"),
        ("image/bmp", b"RIFF\n\x00\x00\x00WEBPVP8 ", "image", "image/webp"),
        ("image/png", b"%PDF-1.7", "pdf", "application/pdf"),
        ("application/pdf", b"\x89PNG", "image", "image/png"),
        ("application/pdf", b"\xef\xbb\xbf\n" + b" " * 1000 + b"%PDF-1.7", "pdf", "application/pdf"),
        ("image/svg+xml", b"<svg/>", "text", "image/svg+xml"),
    ],
)
def test_what_an_image_or_a_pdf_is_its_content_tells(media_type: str, content: bytes, kind: str, sent_as: str) -> None:
    """Providers refuse one that is named otherwise. An SVG is read as the text that it is."""
    found = attachment(part("image", media_type, content))
    assert (found.kind, found.media_type) == (kind, sent_as)


def test_an_attachment_may_be_base64_in_lines() -> None:
    data = base64.encodebytes(b"\x89PNG" + b"x" * 3_000).decode()
    found = attachment({"type": "image", "media_type": "image/png", "name": "f", "data": data})
    assert (found.kind, found.media_type) == ("image", "image/png")


def test_a_blank_input_and_an_image_alone_are_still_messages() -> None:
    image = part("image", "image/png", b"\x89PNG")
    for blank in ("", " \n"):
        assert openai(request(InputEntry(text=blank)))["messages"][0]["content"] == "(empty message)"
        blocks = anthropic(request(InputEntry(text=blank)))["messages"][0]["content"]
        assert blocks == [{"type": "text", "text": "(empty message)"}]
        alone = request(InputEntry(text=blank, parts=[image]))
        assert len(openai(alone)["messages"][0]["content"]) == len(anthropic(alone)["messages"][0]["content"]) == 1


def thought(text: str, signature: str) -> ReasoningEntry:
    own = {"name": "anthropic", "block": {"type": "thinking", "signature": signature}}
    return ReasoningEntry(text=text, provider=own)


def test_anthropic_roles_alternate_and_no_answer_ends_in_reasoning() -> None:
    body = anthropic(
        request(HI, thought("a", "S1"), InputEntry(text="more"), thought("b", "S2"), AssistantTextEntry(text="ok"),
                AssistantTextEntry(text="and", step=1), thought("c", "S3"), HI)
    )  # fmt: skip
    assert [(message["role"], len(message["content"])) for message in body["messages"]] == [
        ("user", 2), ("assistant", 3), ("user", 1),
    ]  # fmt: skip
    assert body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "b", "signature": "S2"}


def test_an_openai_turn_of_nothing_but_reasoning_is_left_out() -> None:
    own = {"name": "openai", "text_field": "reasoning", "fields": {}}
    body = openai(request(HI, ReasoningEntry(text="hm", provider=own), HI))
    assert [message["role"] for message in body["messages"]] == ["user", "user"]


def test_openai_reasoning_goes_back_in_its_field_unless_told_not_to() -> None:
    own = {"name": "openai", "text_field": "reasoning_content", "fields": {"x": 1}}
    entries = [HI, ReasoningEntry(text="hm", provider=own), AssistantTextEntry(text="ok"), HI]
    said = {"role": "assistant", "content": "ok"}
    assert openai(request(*entries))["messages"][1] == {**said, "reasoning_content": "hm", "x": 1}
    assert openai(request(*entries), replay_extra=False)["messages"][1] == said


def test_errors_are_marked_where_the_wire_can() -> None:
    call = ToolCallEntry(id="c", name="sh", arguments='{"n": 1}')
    failed = ToolResultEntry(call_id="c", output="Error: no", is_error=True, kind="error")
    assert openai(request(HI, call, failed))["messages"][2] == {
        "role": "tool", "tool_call_id": "c", "content": "Error: no",
    }  # fmt: skip
    messages = anthropic(request(HI, call, failed))["messages"]
    assert messages[1]["content"] == [{"type": "tool_use", "id": "c", "name": "sh", "input": {"n": 1}}]
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c", "content": "Error: no", "is_error": True}
    ]


def test_the_cache_marks_stand_at_the_ends_of_what_comes_again() -> None:
    answer = AssistantTextEntry(text="a")
    body = anthropic(request(HI, answer, HI, answer, HI, system="S", tools=[TOOL]), prompt_cache=True)
    assert body["system"][-1] == {"type": "text", "text": "S", **MARK}
    marked = [MARK.items() <= message["content"][-1].items() for message in body["messages"]]
    assert marked == [False, False, True, False, True]
    assert MARK.items() <= anthropic(request(HI, tools=[TOOL]), prompt_cache=True)["tools"][-1].items()


def bound(where: int = 400) -> ProviderError:
    said = "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    return ProviderError(f"anthropic answered {where}: messages.1.content.0: {said}", status=where)


def test_c11_reasoning_that_the_provider_will_not_have_back_is_left_out_whole_and_for_good() -> None:
    wire = AnthropicWire(model="m")
    hidden = ReasoningEntry(
        text="", provider={"name": "anthropic", "block": {"type": "redacted_thinking", "data": "D"}}
    )
    ask = request(HI, thought("a", "S1"), hidden, AssistantTextEntry(text="ok"), HI)
    body = wire.body(ask, stream=False)
    assert not wire.give_way(ProviderError("answered 400: bad", status=400), body)
    assert not wire.give_way(bound(500), body)
    assert wire.give_way(bound(), body)
    body = wire.body(ask, stream=False)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]
    assert not wire.give_way(bound(), body)
    later = request(*ask.entries, thought("b", "S2"), AssistantTextEntry(text="ok"), HI)
    kinds = [block["type"] for message in wire.body(later, stream=False)["messages"] for block in message["content"]]
    assert kinds == ["text", "text", "text", "thinking", "text", "text"]
