"""The thread that does a store's blocking work, so that a flush never stops the event loop."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Worker:
    """One thread a store, started with the first call and ended with the store."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] | None = None
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """``function(*args)`` in the thread. A cancelled caller waits for it to end, so nothing is half known."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queue().put((lambda: function(*args, **kwargs), future))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await _ended(future)
            raise

    def _queue(self) -> SimpleQueue[_Job | None]:
        # After a fork the child has the object but not the thread.
        if self._jobs is None or self._thread is None or not self._thread.is_alive():
            self._jobs = SimpleQueue()
            self._thread = threading.Thread(target=_work, args=(self._jobs,), name="lovia-store", daemon=True)
            self._thread.start()
            weakref.finalize(self, self._jobs.put, None)
        return self._jobs


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while job := jobs.get():
        function, future = job
        try:
            outcome: tuple[Any, BaseException | None] = (function(), None)
        except BaseException as error:
            outcome = (None, error)
        with suppress(RuntimeError):  # the caller's event loop is closed: nobody is left to tell
            future.get_loop().call_soon_threadsafe(_tell, future, *outcome)
        del job, function, future, outcome  # an idle thread keeps nothing alive


def _tell(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


async def _ended(future: asyncio.Future[Any]) -> None:
    """Wait, however often the caller is cancelled; what came of it is the lease's to remember."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    if not future.cancelled():
        future.exception()
