"""Signals that a command receives for a while: those that stop its run, and those that come while it asks."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from lovia_cli.errors import SignalReceived

if TYPE_CHECKING:
    from lovia_cli.engine.options import StopSwitch


@contextmanager
def received(numbers: Iterable[int], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """While open, ``handler`` has these signals; then each goes again to whom it went before."""
    before = {}
    try:
        for number in numbers:
            before[number] = signal.getsignal(number)
            signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def signal_received(number: int) -> SignalReceived:
    """The error that says which signal came."""
    return SignalReceived(number, signal.Signals(number).name)


@contextmanager
def signals_stop(stop: StopSwitch) -> Iterator[None]:
    """While open, SIGINT, SIGTERM and SIGHUP stop the run through ``stop``; a second Ctrl-C leaves at once.

    A SIGHUP that was ignored stays ignored (nohup). The handlers are the interpreter's and not the loop's, so
    that they work even while a tool holds the loop.
    """
    import asyncio

    stopping = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        stopping.append(signal.SIGHUP)
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def stop_run(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        if number == signal.SIGINT and len(seen) > 1:
            _leave_at_once()
        loop.call_soon_threadsafe(stop.stop, signal_received(number))

    with received(stopping, stop_run):
        yield


def _leave_at_once() -> None:
    """The run is as safe as its last save; what it started must not outlive us."""
    from lovia_cli.tools.process import kill_groups

    kill_groups()
    os._exit(130)
