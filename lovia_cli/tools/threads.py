"""Blocking work in a thread that never holds up the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], *, name: str | None = None) -> T:
    """Run ``work`` in a daemon thread of its own, with the caller's context variables, and return its result.

    Not in the event loop's pool: the interpreter joins that pool's threads at exit, so one hanging call
    would hang the process, and enough of them would starve everybody else. When the caller is cancelled
    it lets go at once; the thread goes on alone, and what it returns is dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only where T has None

    def body() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = context.run(work)
        except StopIteration as raised:  # which no future takes, and no coroutine raises
            error = RuntimeError("the work raised StopIteration")
            error.__cause__ = raised
        except BaseException as raised:  # the caller's task gets it, whatever it is
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=body, name=name, daemon=True).start()
    return await future
