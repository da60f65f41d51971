"""Doing something unless the run is stopped first (Z1, Z2, Z9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from lovia_cli.engine.options import StopSwitch
from lovia_cli.errors import CancelRequested, HookError, Stopped, TimedOut
from stores.errors import StoreError
from stores.protocols import RunLease
from stores.values import exception_text

T = TypeVar("T")
CANCEL_POLL_SECONDS = 0.4


async def unless_stopped(stop: StopSwitch, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``; when ``stop`` comes first, abandon it, let it clean up, and raise the reason.

    Work that is done counts, even when the stop came at the same moment: what was paid for is kept. So is what is done
    when the caller is cancelled: it is given back, and the cancellation comes with the next wait, which is the save's.
    """
    task = asyncio.ensure_future(work)
    try:
        either: set[asyncio.Future[Any]] = {task, stop.fired}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    except asyncio.CancelledError as cancellation:
        if not task.done() or task.cancelled() or task.exception() is not None:
            raise
        _put_off(cancellation)
        return task.result()
    finally:
        await _abandon(task)
    raise stop.fired.result()


def _put_off(cancellation: asyncio.CancelledError) -> None:
    """Have the running task cancelled at its next wait. It counts as the one cancellation that it is."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel(*cancellation.args)


async def contained(call: Callable[[], Awaitable[T]], failure: type[Exception]) -> T:
    """The result of code that is not ours. What would end the task, the process or the run is its own ``failure``.

    So is what a run of its own came to, or a store of its own: only what the engine raises itself stops this run.
    A cancellation from outside stays one (X13).
    """
    try:
        return await call()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise failure(exception_text(error)) from error
    except (SystemExit, KeyboardInterrupt, Stopped, StoreError, HookError) as error:
        raise failure(exception_text(error)) from error


async def _abandon(task: asyncio.Future[Any]) -> None:
    """Cancel ``task`` and wait until it has let go; what it says while it cleans up is no news."""
    task.cancel()
    await until_done(task)
    if not task.cancelled():
        task.exception()


async def until_done(task: asyncio.Future[Any]) -> None:
    """Wait until ``task`` has ended, however often the waiter itself is cancelled meanwhile."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})


@asynccontextmanager
async def watched(stop: StopSwitch, lease: RunLease | None, seconds: float | None) -> AsyncIterator[None]:
    """While this is open, ``stop`` also fires on the process's timeout and on a request to cancel."""
    loop = asyncio.get_running_loop()
    alarm = loop.call_later(seconds, lambda: stop.stop(TimedOut(seconds))) if seconds is not None else None
    poll = asyncio.ensure_future(_poll(stop, lease)) if lease is not None else None
    try:
        yield
    finally:
        if alarm is not None:
            alarm.cancel()
        if poll is not None:
            await _abandon(poll)


async def _poll(stop: StopSwitch, lease: RunLease) -> None:
    requested = False
    while not requested:
        with suppress(StoreError):  # a store that fails says so at the next save, and may work again at the next look
            requested = await lease.cancel_requested()
        if not requested:
            await asyncio.sleep(CANCEL_POLL_SECONDS)
    stop.stop(CancelRequested())
