"""Ask again when a provider failed, and ask the next model when one keeps failing.

Only a request that produced nothing recorded is repeated: the response is a model's last item, and once it is
there nothing is asked again. Pieces that were shown before a failure are void; ``on_retry`` says so.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from lovia_cli.errors import ProviderError
from lovia_cli.models.base import Delta, Model, ModelRequest, ModelResponse, asked
from lovia_cli.models.faults import Faults, all_refused
from lovia_cli.models.wire import BadAnswer, check_answer

OnRetry = Callable[[int, float, Exception, str | None], object]
"""Told of each failed attempt that is followed by another: its number from 1, the seconds until the next, why, and the
id of the model that is asked next, when that is another one.

What the attempt had yielded is void from then on.
"""


@dataclass(slots=True, frozen=True, kw_only=True)
class RetryPolicy:
    """How often and for how long. ``retries`` is the number of repeats for each model.

    The wait doubles from ``first_wait``, with jitter; a wait that the provider asks for (Retry-After) is kept
    instead. One that would be longer than ``max_wait`` is not waited for: the error is the answer. ``deadline``
    bounds all attempts and waits together, in seconds, and stops a request under way.
    """

    retries: int = 2
    first_wait: float = 0.5
    max_wait: float = 60.0
    deadline: float = 1800.0

    def wait(self, attempt: int, error: ProviderError, jitter: float) -> float | None:
        """Seconds to wait after the failed ``attempt``, or None when it was the last; ``jitter`` is 0 to 1."""
        if not error.retryable or attempt > self.retries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_wait else None
        return min(self.max_wait, self.first_wait * 2.0 ** min(attempt - 1, 30)) * (0.5 + jitter / 2)

    def given_up(self, error: ProviderError) -> ProviderError:
        """The error that is the answer; it says so when the provider asked for a longer wait than is kept."""
        asked = error.retry_after
        if not error.retryable or asked is None or asked <= self.max_wait:
            return error
        return ProviderError(
            f"{error.message} (it asks to wait {asked:.0f} s, longer than the {self.max_wait:g} s that are kept)",
            retryable=True,
            status=error.status,
            retry_after=asked,
            where=error.where,
            hint=f"resume the run in {asked:.0f} s",
        )


async def with_retries(
    model: Model,
    request: ModelRequest,
    *,
    policy: RetryPolicy | None = None,
    on_retry: OnRetry | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncIterator[Delta]:
    """Yield what ``model`` yields, asking again after a failure that may pass, as ``policy`` says.

    The models of a `Chain` are asked one after the other, each with its own retries. Raises the `ProviderError`
    of the last attempt; of a chain, the last error that may pass, else the first model's.
    """
    policy = policy or RetryPolicy()
    clock = asyncio.get_running_loop().time
    end = clock() + policy.deadline
    models = deque(asked(model))
    failures: list[ProviderError] = []
    attempt = tries = 0
    while models and (attempt == 0 or clock() < end):
        attempt, tries = attempt + 1, tries + 1
        try:
            async with aclosing(_one_answer(models[0], request, end)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        except ProviderError as error:
            failure = error
        wait = policy.wait(tries, failure, jitter())
        other: str | None = None
        if wait is None or clock() + wait >= end:
            failure = policy.given_up(failure)
            failures.append(failure)
            models.popleft()
            wait = tries = 0
            other = models[0].id if models else None
        if on_retry and models:
            on_retry(attempt, wait, failure, other)
        await sleep(wait)
    raise _verdict([*failures, failure])  # not among them when its wait took longer than the deadline allows


async def _one_answer(model: Model, request: ModelRequest, end: float) -> AsyncGenerator[Delta, None]:
    """One attempt, up to and with its response, stopped at ``end`` (event loop time)."""
    deltas = model.respond(request)
    try:
        while True:
            try:
                async with asyncio.timeout_at(end):
                    delta = await anext(deltas)
            except StopAsyncIteration:
                raise ProviderError(f"{model.id} ended its answer without a response", retryable=True) from None
            except TimeoutError:
                raise ProviderError(f"{model.id} gave no answer in time", retryable=True) from None
            if isinstance(delta, ModelResponse):
                yield _checked(delta, model)
                return
            yield delta
    finally:
        if close := getattr(deltas, "aclose", None):
            await close()


def _checked(response: ModelResponse, model: Model) -> ModelResponse:
    """The response, when it is an answer. The wires look themselves, and closer; this is for every other model."""
    try:
        check_answer(response.finish_reason, response.entries)
    except BadAnswer as error:
        raise Faults(label=model.id).bad_answer(error, None) from None
    return response


def _verdict(failures: Sequence[ProviderError]) -> ProviderError:
    """Which error a chain's failures come to: one that may pass leaves the run resumable (R3)."""
    passing = [failure for failure in failures if failure.retryable]
    return passing[-1] if passing else all_refused(failures) or failures[0]
