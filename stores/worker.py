"""The thread that does a store's blocking work, so that no long flush stops the event loop.

Where no event loop runs there is none to stop: the work is done right there, and a command that only looks into a
store pays neither for a loop nor for a thread. So asyncio is imported by those who have it already.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from stores.errors import LoviaError

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
R = TypeVar("R")


SHORT_SECONDS = 0.005
"""How long an event loop may be held up by one save: about what a garbage collection takes."""

LOOK_SECONDS = 0.025
"""How long it may be held up by one load: a run of ten thousand entries."""

SPENT, MOST_SPENT = 8, 32
"""How many files that were replaced a store keeps open before the thread closes them, and at the most."""

START_PATIENCE = 0.25
"""Seconds for which a starter retries a run's lock that no living owner explains: a reader may be probing it."""

_PAUSE = 0.02


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that we are called in, if any."""
    if "asyncio" not in sys.modules:
        return None
    from asyncio import get_running_loop

    try:
        return get_running_loop()
    except RuntimeError:
        return None


async def pause(seconds: float) -> None:
    """Let the others of the event loop go on for so long, or nobody."""
    if running_loop() is None:
        time.sleep(seconds)  # noqa: ASYNC251 - there is no loop that this could hold up
    else:
        from asyncio import sleep

        await sleep(seconds)


async def wait_for(
    worker: Worker, take: Callable[[], bool], refusal: Callable[[], LoviaError], patience: float = START_PATIENCE
) -> None:
    """Have the worker ``take`` a lock, again and again for ``patience`` seconds; then raise the ``refusal``.

    A caller that is cancelled may have got it and not know: it gives the lock back in any case.
    """
    deadline = time.monotonic() + patience
    while not await worker.call(take):
        if time.monotonic() > deadline:
            raise await worker.call(refusal)
        await pause(_PAUSE)


class Worker:
    """One thread a store, started with the first call from an event loop and ended with the store."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] | None = None
        self._thread: threading.Thread | None = None
        self._waiting = 0
        self._last_save = SHORT_SECONDS
        self._last_look = 0.0
        self._spent: deque[int] = deque()

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """``function(*args)`` in the thread. A cancelled caller waits for it to end, so nothing is half known."""
        loop = running_loop()
        if loop is None:
            return function(*args, **kwargs)
        from asyncio import CancelledError

        job = _Job(partial(function, *args, **kwargs), loop)
        self._waiting += 1
        try:
            self._queue().put(job.carry_out)
            result: R = await job.answer
        except CancelledError:
            await job.ended()
            raise
        finally:
            self._waiting -= 1
        return result

    async def look(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`call` for what only reads. It is done right here where no other task would wait, and the last one was short.

        On a machine whose cores are all busy, handing a load over and back takes a third of its time. Who has no task,
        a timer or a server, is held up by the first long one, and has his turn between two short ones.
        """
        work = partial(self._look_now, function, *args, **kwargs)
        loop = running_loop()
        if loop is not None and self._waiting == 0 and self._last_look < LOOK_SECONDS:
            from asyncio import all_tasks, sleep

            if len(all_tasks(loop)) <= 1:
                await sleep(0)
                return work()
        return await self.call(work)

    def _look_now(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        began = time.monotonic()
        try:
            return function(*args, **kwargs)
        finally:
            self._last_look = time.monotonic() - began

    @property
    def is_prompt(self) -> bool:
        """True when a save is better made right here: the last one was short, and none waits for the thread.

        Handing a save over and back takes a third of the time that its flushes take on a fast disk, and twice its
        system calls; on a slow one the flushes are long, and the event loop has better to do.
        """
        return self._waiting == 0 and self._last_save < SHORT_SECONDS

    async def save(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`call` for what is short and comes often."""
        if self.is_prompt:
            return self.save_now(function, *args, **kwargs)
        return await self.call(partial(self.save_now, function, *args, **kwargs))

    def save_now(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """``function(*args)`` here and now, and how long it takes."""
        began = time.monotonic()
        try:
            return function(*args, **kwargs)
        finally:
            self._last_save = time.monotonic() - began

    def close_soon(self, fd: int | None) -> None:
        """Close a file that was replaced, in the thread and some time: nobody has to wait until its blocks are free."""
        if fd is not None:
            self._spent.append(fd)
        if len(self._spent) >= MOST_SPENT:  # the thread does not keep up
            self._close_spent()
        elif len(self._spent) >= SPENT:
            self._queue().put(self._close_spent)

    def close_all(self, fd: int | None) -> None:
        """Close it now, and those that were left for later."""
        if fd is not None:
            self._spent.append(fd)
        self._close_spent()

    def _close_spent(self) -> None:
        while self._spent:
            with suppress(IndexError, OSError):  # several may be at it, and nobody wants anything of these files
                os.close(self._spent.popleft())

    def _queue(self) -> SimpleQueue[Callable[[], None] | None]:
        # After a fork the child has the object but not the thread.
        if self._jobs is None or self._thread is None or not self._thread.is_alive():
            self._jobs = SimpleQueue()
            self._thread = threading.Thread(target=_work, args=(self._jobs,), name="lovia-store", daemon=True)
            self._thread.start()
            weakref.finalize(self, self._jobs.put, None)
        return self._jobs


class _Job:
    """One call: what to do, and the future of the caller that waits for it now."""

    __slots__ = ("answer", "function", "is_over", "loop")

    def __init__(self, function: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.function = function
        self.loop = loop
        self.answer: asyncio.Future[Any] = loop.create_future()
        self.is_over = False

    def carry_out(self) -> None:
        """In the thread: do it, and have the caller told."""
        try:
            outcome: tuple[Any, BaseException | None] = (self.function(), None)
        except BaseException as error:
            outcome = (None, error)
        with suppress(RuntimeError):  # the caller's event loop is closed: nobody is left to tell
            self.loop.call_soon_threadsafe(self.tell, *outcome)

    def tell(self, result: Any, error: BaseException | None) -> None:
        """In the caller's loop: it is done."""
        self.is_over = True
        if self.answer.cancelled():
            return
        if error is None:
            self.answer.set_result(result)
        else:
            self.answer.set_exception(error)

    async def ended(self) -> None:
        """Wait for the end, however often the caller is cancelled. A failed save is the lease's to remember."""
        while not self.is_over:
            self.answer = self.loop.create_future()
            with suppress(BaseException):
                await self.answer


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while job := jobs.get():
        job()
        del job  # an idle thread keeps nothing alive
