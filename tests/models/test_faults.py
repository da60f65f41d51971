"""A provider that misbehaves: no fault is taken for an answer, each is named, and the key is in no message."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Any

import pytest

from lovia_cli.errors import CredentialsError, ProviderError
from lovia_cli.models.anthropic import AnthropicModel
from lovia_cli.models.base import ModelResponse
from lovia_cli.models.faults import Faults
from lovia_cli.models.openai import OpenAIModel
from lovia_cli.models.provider import ProviderModel
from lovia_cli.models.retry import RetryPolicy, with_retries
from tests.models.kit import StartFaulty, Talk, shown

pytestmark = pytest.mark.anyio

KEY = "sk-secret-0123456789"

FAULTS = [
    # step, status, retryable, what the message says
    ("429", 429, True, "answered 429: rate limited"),
    ("500", 500, True, "answered 500: status 500"),
    ("502", 502, True, "answered 502: status 502"),
    ("503", 503, True, "answered 503: status 503"),
    ("504", 504, True, "answered 504: status 504"),
    ("529", 529, True, "answered 529: status 529"),
    ("400", 400, False, "answered 400: status 400"),
    ("html503", 503, True, "answered 503: an HTML page: upstream [31mdown"),
    ("hang:5", None, True, "sent nothing within 0.3 s"),
    ("slow:1", 200, True, "did not finish its answer within 2 s (status 200)"),
    ("rst", None, True, "failed: "),
    ("rstmid", 200, True, "failed within its answer (status 200): "),
    ("half:5", 200, True, "failed within its answer (status 200): "),
    ("trunc", 200, True, "failed within its answer (status 200): "),
    ("badjson", 200, True, "answered 200, but its answer is not valid JSON"),
    ("empty", 200, True, "answered 200, but its answer is empty"),
    ("nochoices", 200, True, "answered 200, but the answer holds no choice"),
    ("ssecut", 200, True, "answered 200, but the answer broke off before its end: it has no finish reason"),
    ("ssehang:5", 200, True, "sent nothing within 0.3 s (status 200)"),
    ("sseerr", 200, True, "answered 200 with an error: overloaded"),
    ("redirect", 302, False, "answered 302, a redirect, which is not followed"),
]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, _keys: None) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def talk_with(url: str, **options: Any) -> Talk:
    talk = Talk(OpenAIModel("m", base_url=url, **{"api_key_env": "OPENAI_API_KEY", **options}))
    talk.say("go")
    return talk


@pytest.mark.parametrize(("step", "status", "retryable", "said"), FAULTS, ids=[fault[0] for fault in FAULTS])
async def test_a_fault_is_a_provider_error_that_names_provider_and_status(
    faulty: StartFaulty, step: str, status: int | None, retryable: bool, said: str
) -> None:
    server = faulty(step)
    stream = step not in {"slow:1", "rstmid", "half:5", "trunc", "badjson"}
    timeout = 2.0 if step == "slow:1" else 60.0
    read_timeout = 0.3 if step in {"hang:5", "ssehang:5"} else 60.0
    talk = talk_with(server.url, timeout=timeout, read_timeout=read_timeout, stream=stream)
    with pytest.raises(ProviderError) as caught:
        await talk.step()
    error = caught.value
    assert said in error.message
    assert error.message.startswith((f"openai ({server.url})", f"the connection to openai ({server.url})"))
    assert (error.status, error.retryable) == (status, retryable)
    assert KEY not in f"{error.as_json()} {error!r} {error.__cause__!r} {talk.model!r}"
    assert not any(ord(letter) < 32 for letter in error.message)
    assert len(talk.groups[0]) == 1


@pytest.mark.parametrize("tail", ["<script ", "<style>a", "<", "</script"])
async def test_an_error_page_is_read_once_however_it_is_broken(tail: str) -> None:
    page = "<html><style>p {}</STYLE><p class=a>Down.</p>" + tail * 100_000
    error = Faults(label="x").status(503, {}, page.encode())
    assert error.message == "x answered 503: an HTML page: Down."


async def test_a_refused_key_is_a_credentials_error_that_names_the_variable(faulty: StartFaulty) -> None:
    with pytest.raises(CredentialsError, match=r"refused the key in OPENAI_API_KEY \(401\): status 401"):
        await talk_with(faulty("401").url).step()


async def test_a_missing_key_is_a_credentials_error_before_anything_is_sent(
    faulty: StartFaulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server = faulty("ok")
    with pytest.raises(CredentialsError, match="the environment variable MY_KEY is not set"):
        await talk_with(server.url, api_key_env="MY_KEY").step()
    with pytest.raises(CredentialsError, match="the environment variable OPENAI_API_KEY is not set"):
        await Talk(OpenAIModel("m")).step()
    assert server.log() == []


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk two", "sk-\u2026"])
async def test_a_key_that_is_none_is_not_sent_and_not_shown(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(CredentialsError, match="in OPENAI_API_KEY is no key") as caught:
        await talk_with("http://127.0.0.1:1/v1").step()
    assert "sk" not in str(caught.value.as_json())


VENDORS_OWN = {
    "OPENAI_ADMIN_KEY": "sk-vendor", "OPENAI_ORG_ID": "sk-vendor", "OPENAI_PROJECT_ID": "sk-vendor",
    "OPENAI_CUSTOM_HEADERS": "X-Own: sk-vendor\nAuthorization: sk-vendor", "ANTHROPIC_API_KEY": "sk-vendor",
    "ANTHROPIC_AUTH_TOKEN": "sk-vendor", "ANTHROPIC_CUSTOM_HEADERS": "X-Own: sk-vendor\nAuthorization: sk-vendor",
}  # fmt: skip


@pytest.mark.parametrize("kind", [OpenAIModel, AnthropicModel])
async def test_nothing_of_the_vendors_goes_to_a_server_elsewhere(
    faulty: StartFaulty, monkeypatch: pytest.MonkeyPatch, kind: type[ProviderModel]
) -> None:
    for name, value in VENDORS_OWN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OWN_KEY", "sk-own")
    server = faulty("ok")
    for key in (None, "OWN_KEY"):
        talk = Talk(kind("m", base_url=server.url, api_key_env=key))  # type: ignore[call-arg]  # the subclasses' own
        talk.say("go")
        with suppress(ProviderError):  # it answers in OpenAI's words
            await talk.step()
    sent = [{name.lower(): value for name, value in row["headers"].items()} for row in server.log()]
    assert not [value for headers in sent for value in headers.values() if KEY in value or "sk-vendor" in value]
    assert [headers.get("authorization") for headers in sent] == [None, "Bearer sk-own"]


async def test_an_address_in_the_vendors_own_variable_is_the_users_word(
    faulty: StartFaulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = faulty("ok")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    talk = Talk(OpenAIModel("m"))
    talk.say("go")
    await talk.step()
    headers = {name.lower(): value for name, value in server.log()[0]["headers"].items()}
    assert (headers["authorization"], headers["openai-organization"]) == (f"Bearer {KEY}", "org")


async def test_the_key_goes_to_the_server_and_not_along_a_redirect(faulty: StartFaulty) -> None:
    server = faulty("redirect,ok")
    talk = talk_with(server.url)
    with pytest.raises(ProviderError, match="redirect"):
        await talk.step()
    await talk.step()
    headers = [{name.lower(): value for name, value in row["headers"].items()} for row in server.log()]
    assert [row["authorization"] for row in headers] == [f"Bearer {KEY}", f"Bearer {KEY}"]


@pytest.mark.parametrize(("step", "least", "most"), [("429:7", 7.0, 7.0), ("429date", 0.0, 2.0)])
async def test_retry_after_is_read_in_both_forms(faulty: StartFaulty, step: str, least: float, most: float) -> None:
    with pytest.raises(ProviderError) as caught:
        await talk_with(faulty(step).url).step()
    assert caught.value.retry_after is not None
    assert least <= caught.value.retry_after <= most


@pytest.mark.parametrize(("step", "cap"), [("huge:80", 64), ("ssehuge:300", 256)])
async def test_an_answer_that_is_too_long_is_none(faulty: StartFaulty, step: str, cap: int) -> None:
    talk = Talk(OpenAIModel("m", base_url=faulty(step).url))
    talk.say("go")
    with pytest.raises(ProviderError, match=f"its answer is longer than {cap} MB"):
        await talk.step()


@pytest.mark.parametrize("stream", [True, False])
async def test_good_steps_are_answers(faulty: StartFaulty, stream: bool) -> None:
    talk = talk_with(faulty('tool:sh:{"cmd": "ls"},dup,ok:fine').url, stream=stream)
    assert (await talk.step()).finish_reason == "tool_calls"
    assert len((await talk.step()).entries) == 2
    answer = await talk.step()
    assert answer.finish_reason == "stop"
    assert shown(talk.deltas) == "answer 2" if stream else "fine"


async def test_retries_go_through_every_kind_of_fault_to_the_answer(faulty: StartFaulty) -> None:
    server = faulty("500,rst,ssecut,sseerr,nochoices,429:0,ok")
    talk = talk_with(server.url)
    told: list[str] = []

    async def no_wait(seconds: float) -> None:
        await asyncio.sleep(0)

    answer = with_retries(
        talk.model,
        talk.request(),
        policy=RetryPolicy(retries=6),
        on_retry=lambda attempt, wait, error, other: told.append(str(error)),
        sleep=no_wait,
    )
    responses = [delta async for delta in answer if isinstance(delta, ModelResponse)]
    assert [response.finish_reason for response in responses] == ["stop"]
    assert (len(told), len(server.log())) == (6, 7)


async def test_a_stream_without_a_finish_reason_is_an_answer_where_the_model_is_told_so(faulty: StartFaulty) -> None:
    answer = await talk_with(faulty("ssecut").url, finish_optional=True).step()
    assert (answer.finish_reason, shown([answer])) == ("stop", "")


async def test_one_model_serves_two_event_loops_one_after_the_other(faulty: StartFaulty) -> None:
    talk = talk_with(faulty("ok:a").url, stream=False)
    await talk.step()
    other_loop = await asyncio.to_thread(lambda: asyncio.run(talk.step()))
    assert isinstance(other_loop, ModelResponse)
    await talk.step()


async def test_models_that_come_and_go_share_the_connections_to_one_address(faulty: StartFaulty) -> None:
    from httpx2 import AsyncClient

    def open_clients() -> int:
        gc.collect()
        return sum(issubclass(type(one), AsyncClient) and not one.is_closed for one in gc.get_objects())

    server, before = faulty("ok:a"), open_clients()
    for _ in range(3):
        await talk_with(server.url).step()
    assert open_clients() - before == 1


async def test_a_closed_iterator_abandons_the_request(faulty: StartFaulty) -> None:
    talk = talk_with(faulty("ok").url)
    answer = talk.model.respond(talk.request())
    await anext(answer)
    await answer.aclose()  # type: ignore[attr-defined]  # the seam says that closing abandons
    await talk.step()


@pytest.mark.parametrize(
    ("body", "said", "retryable", "status"),
    [
        (
            {"error": {"message": "no such model", "type": "invalid_request_error"}},
            "an error: no such model",
            False,
            200,
        ),
        ({"error": {"message": "busy", "code": 502}}, "error 502: busy", True, 502),
        ({"error": {"message": "slow down", "code": 429}}, "error 429: slow down", True, 429),
        ({"error": {"message": "too long", "code": 413}}, "error 413: too long", False, 413),
        ({"error": "out of memory"}, "an error: out of memory", True, 200),
        ({"error": {"message": f"key {KEY} is odd"}}, "key [key] is odd", True, 200),
    ],
)
async def test_an_error_body_with_status_200_is_an_error(
    strict: Any, body: dict[str, Any], said: str, retryable: bool, status: int
) -> None:
    talk = talk_with(strict([{"raw": body}]).url)
    with pytest.raises(ProviderError) as caught:
        await talk.step()
    assert said in caught.value.message
    assert (caught.value.retryable, caught.value.status) == (retryable, status)


async def test_a_refused_key_inside_a_body_is_a_credentials_error(strict: Any) -> None:
    body = {"error": {"message": "bad key", "type": "authentication_error"}}
    with pytest.raises(CredentialsError, match="bad key"):
        await talk_with(strict([{"raw": body}]).url).step()
