"""`with_retries`: again after a failure that may pass, never after a response, and not for ever."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from lovia_cli.errors import CredentialsError, ProviderError
from lovia_cli.models.base import Delta, ModelRequest, ModelResponse, TextDelta
from lovia_cli.models.fallback import FallbackModel
from lovia_cli.models.retry import RetryPolicy, with_retries
from lovia_cli.models.scripted import ScriptedModel
from stores.entries import AssistantTextEntry

pytestmark = pytest.mark.anyio


class Retries:
    """Collects what was yielded, what was waited for and what was announced."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.told: list[tuple[int, float, str]] = []
        self.others: list[str | None] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def on_retry(self, attempt: int, wait: float, error: Exception, other: str | None) -> None:
        self.told.append((attempt, wait, str(error)))
        self.others.append(other)

    async def ask(self, model: object, policy: RetryPolicy | None = None) -> list[str]:
        request = ModelRequest(run_id="r", agent="a", number=1, system=None, entries=[])
        answer = with_retries(
            model,  # type: ignore[arg-type]  # the fakes below are models by shape
            request,
            policy=policy,
            on_retry=self.on_retry,
            sleep=self.sleep,
            jitter=lambda: 1.0,
        )
        return [delta.text if not isinstance(delta, ModelResponse) else f"<{delta.model}>" async for delta in answer]


class Failing:
    """Fails as told, one error an attempt, then answers; ``asked`` counts."""

    def __init__(self, *errors: Exception, id: str = "m", shown: str = "") -> None:
        self.errors, self.id, self.shown, self.asked = list(errors), id, shown, 0

    async def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.asked += 1
        if self.shown:
            yield TextDelta(self.shown)
        if self.errors:
            raise self.errors.pop(0)
        yield ModelResponse(entries=[AssistantTextEntry(text="ok")], finish_reason="stop", model=self.id)
        raise AssertionError("nothing is asked for once the response is there")


def passing(after: float | None = None, said: str = "down") -> ProviderError:
    return ProviderError(said, retryable=True, retry_after=after)


async def test_a_failure_that_may_pass_is_asked_again_with_growing_waits() -> None:
    retries, model = Retries(), Failing(passing(), passing(), shown="ans")
    assert await retries.ask(model) == ["ans", "ans", "ans", "<m>"]
    assert retries.waits == [0.5, 1.0]
    assert retries.told == [(1, 0.5, "down"), (2, 1.0, "down")]


async def test_the_number_of_retries_is_kept_and_the_last_error_raised() -> None:
    retries, model = Retries(), Failing(passing(said="1"), passing(said="2"), passing(said="3"))
    with pytest.raises(ProviderError, match="3"):
        await retries.ask(model, RetryPolicy(retries=2))
    assert model.asked == 3


async def test_what_cannot_pass_is_not_asked_again() -> None:
    retries, model = Retries(), Failing(ProviderError("bad request", status=400))
    with pytest.raises(ProviderError, match="bad request"):
        await retries.ask(model)
    assert (model.asked, retries.told) == (1, [])


async def test_retry_after_is_kept_as_the_provider_asked() -> None:
    retries = Retries()
    assert await retries.ask(Failing(passing(after=7.5), passing(after=0.0))) == ["<m>"]
    assert retries.waits == [7.5, 0.0]


async def test_a_retry_after_longer_than_the_bound_is_not_waited_for() -> None:
    retries, model = Retries(), Failing(passing(after=61.0))
    with pytest.raises(ProviderError, match=r"^down \(it asks to wait 61 s, longer than the 60 s") as caught:
        await retries.ask(model)
    assert (caught.value.retryable, caught.value.hint) == (True, "resume the run in 61 s")
    assert (model.asked, retries.told) == (1, [])


async def test_a_wait_past_the_deadline_is_not_begun() -> None:
    retries, model = Retries(), Failing(passing(after=5.0))
    with pytest.raises(ProviderError, match="down"):
        await retries.ask(model, RetryPolicy(deadline=4.0))
    assert (model.asked, retries.told) == (1, [])


async def test_r3_a_wait_that_took_longer_than_the_deadline_ends_in_the_failure_before_it() -> None:
    class Suspended(Retries):
        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(0.2 if seconds else 0)

    refused, model = ScriptedModel([{"fail": {"status": 400}, "text": ""}]), Failing(passing(said="busy"), passing())
    with pytest.raises(ProviderError, match="busy"):
        await Suspended().ask(FallbackModel([refused, model]), RetryPolicy(first_wait=0.01, deadline=0.2))
    assert model.asked == 1


async def test_the_deadline_stops_a_request_under_way() -> None:
    slow = ScriptedModel([{"text": "late", "delay": 60}])
    with pytest.raises(ProviderError, match="scripted gave no answer in time") as caught:
        await Retries().ask(slow, RetryPolicy(deadline=0.05))
    assert caught.value.retryable


async def test_an_answer_without_a_response_is_a_failure() -> None:
    class Silent:
        id = "s"

        async def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield TextDelta("half")

    with pytest.raises(ProviderError, match="s ended its answer without a response"):
        await Retries().ask(Silent(), RetryPolicy(retries=1))


async def test_other_errors_are_not_touched() -> None:
    with pytest.raises(ZeroDivisionError):
        await Retries().ask(Failing(ZeroDivisionError()))


async def test_a_fallback_is_asked_after_the_retries_of_the_one_before() -> None:
    retries, first, second = Retries(), Failing(passing(), passing(), id="one"), Failing(id="two")
    chain = FallbackModel([first, second])
    assert chain.id == "one"
    assert await retries.ask(chain, RetryPolicy(retries=1)) == ["<two>"]
    assert (first.asked, second.asked) == (2, 1)
    assert [wait for _, wait, _ in retries.told] == [0.5, 0.0]
    assert retries.others == [None, "two"]


async def test_a_fallback_is_not_asked_when_the_first_answers() -> None:
    first, second = Failing(id="one"), Failing(id="two")
    assert await Retries().ask(FallbackModel([first, second])) == ["<one>"]
    assert second.asked == 0


async def test_r3_a_chain_that_failed_is_resumable_when_one_failure_may_pass() -> None:
    models = [Failing(passing(said="busy"), id="one"), Failing(ProviderError("bad"), id="two")]
    with pytest.raises(ProviderError, match="busy") as caught:
        await Retries().ask(FallbackModel(models), RetryPolicy(retries=0))
    assert caught.value.retryable


async def test_of_keys_that_are_all_missing_each_is_named() -> None:
    models = [Failing(CredentialsError(f"no key {id}", hint=f"set {id}"), id=id) for id in ("one", "two")]
    with pytest.raises(CredentialsError, match=r"^no key one; no key two$") as caught:
        await Retries().ask(FallbackModel(models))
    assert caught.value.hint == "set one; or set two"


async def test_a_fallback_asked_directly_asks_each_once() -> None:
    request = ModelRequest(run_id="r", agent="a", number=1, system=None, entries=[])
    chain = FallbackModel([Failing(passing(), id="one"), Failing(id="two")])
    assert [getattr(delta, "model", "") async for delta in chain.respond(request)] == ["two"]
