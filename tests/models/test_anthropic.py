"""`AnthropicModel` against answers written out byte for byte: streams, errors within them, refused reasoning."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lovia_cli.errors import CredentialsError, ProviderError
from lovia_cli.models.anthropic import AnthropicModel
from stores.entries import AssistantTextEntry, ReasoningEntry
from tests.models.kit import Talk, shown

pytestmark = pytest.mark.anyio

JSON, SSE = "application/json", "text/event-stream"
Answer = tuple[int, str, str]


@asynccontextmanager
async def answering(*answers: Answer) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives ``answers`` one after the other; yields its address and the bodies it was sent."""
    bodies: list[dict[str, Any]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split("\r\n")[0])
        bodies.append(json.loads(await reader.readexactly(length)))
        status, kind, text = answers[len(bodies) - 1]
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{text}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", bodies


def sse(events: Sequence[dict[str, Any]]) -> Answer:
    return 200, SSE, "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


SAID = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "S2"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "hi"}},
]
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
BOUND = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."


def failure(status: int, kind: str, message: str) -> Answer:
    return status, JSON, json.dumps({"type": "error", "error": {"type": kind, "message": message}})


async def test_c11_refused_reasoning_is_left_out_and_the_request_sent_again() -> None:
    answers = [sse([*SAID, END]), failure(400, "invalid_request_error", BOUND), sse([*SAID, END])]
    async with answering(*answers) as (url, bodies):
        talk = Talk(AnthropicModel("m", base_url=url))
        talk.say("one")
        first = await talk.step()
        own = {"name": "anthropic", "block": {"type": "thinking", "signature": "S2"}}
        assert first.entries == [ReasoningEntry(text="", provider=own), AssistantTextEntry(text="hi")]
        talk.say("two")
        await talk.step()
        assert shown(talk.deltas) == "hi"
    kinds = [[block["type"] for block in body["messages"][1]["content"]] for body in bodies[1:]]
    assert kinds == [["thinking", "text"], ["text"]]


@pytest.mark.parametrize(
    ("answer", "kind", "said", "retryable"),
    [
        (sse(SAID), ProviderError, "broke off before its end: it has no stop reason", True),
        (sse([*SAID, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]),
         ProviderError, "answered 200 with an error: Overloaded", True),
        (failure(529, "overloaded_error", "Overloaded"), ProviderError, "answered 529: Overloaded", True),
        (failure(400, "invalid_request_error", "prompt is too long"), ProviderError, "400: prompt is too long", False),
        (failure(401, "authentication_error", "invalid x-api-key"), CredentialsError, "invalid x-api-key", False),
        ((200, JSON, '{"type": "error", "error": {"type": "permission_error", "message": "no"}}'),
         CredentialsError, "refused a request without a key (200): no", False),
        ((200, SSE, "event: message_start\ndata: {broken\n\n"), ProviderError, "is not valid JSON", True),
        ((200, "text/html", "<html>hello</html>"), ProviderError, "is not valid JSON", True),
        ((200, JSON, "[]"), ProviderError, "is no JSON object", True),
    ],
)  # fmt: skip
async def test_no_fault_is_taken_for_an_answer(
    answer: Answer, kind: type[ProviderError], said: str, retryable: bool
) -> None:
    async with answering(answer) as (url, _):
        talk = Talk(AnthropicModel("m", base_url=url))
        talk.say("go")
        with pytest.raises(ProviderError) as caught:
            await talk.step()
    assert type(caught.value) is kind
    assert said in caught.value.message
    assert f"anthropic ({url})" in caught.value.message
    assert caught.value.retryable is retryable


async def test_nothing_that_listens_is_a_failed_connection() -> None:
    async with answering() as (url, _):
        pass
    talk = Talk(AnthropicModel("m", base_url=url))
    talk.say("go")
    with pytest.raises(ProviderError, match=r"the connection to anthropic .* failed") as caught:
        await talk.step()
    assert caught.value.retryable
    assert caught.value.hint == "is the server running, and is base_url right?"
