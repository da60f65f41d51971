"""The event loop of one command, and the signals that stop a run."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from lovia_cli.engine.options import StopSwitch

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in an event loop of its own.

    Not `asyncio.run`: at its end it joins the loop's threads, and one of them may hang for ever.
    """
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def drive_stores(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` that awaits nothing but stores: they need no event loop, and asyncio is a second start of Python."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("this waits for more than a store, and needs an event loop")


@contextmanager
def signals_stop(stop: StopSwitch) -> Iterator[None]:
    """While open, SIGINT, SIGTERM and SIGHUP stop the run through ``stop``; a second Ctrl-C leaves at once.

    A SIGHUP that was ignored stays ignored (nohup). The handlers are the interpreter's and not the loop's, so
    that they work even while a tool holds the loop.
    """
    import asyncio
    import signal

    from lovia_cli.errors import SignalReceived

    stopping = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def received(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        if number == signal.SIGINT and len(seen) > 1:
            _leave_at_once()
        loop.call_soon_threadsafe(stop.stop, SignalReceived(number, signal.Signals(number).name))

    before = {number: signal.getsignal(number) for number in stopping}
    for number in stopping:
        if number != signal.SIGHUP or before[number] != signal.SIG_IGN:
            signal.signal(number, received)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave_at_once() -> None:
    """The run is as safe as its last save; what it started must not outlive us."""
    from lovia_cli.tools.process import kill_groups

    kill_groups()
    os._exit(130)
