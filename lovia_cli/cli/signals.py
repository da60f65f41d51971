"""Signals that a command receives for a while: those that stop its run, and those that come while it asks.

The first Ctrl-C stops the run, which takes as long as its tools take to end. The second kills these and gives the
command a moment for its ordinary end; what is not over by then is left as it was last saved, and the last words are
said without it. The third ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from lovia_cli.errors import SignalReceived

if TYPE_CHECKING:
    from lovia_cli.engine.options import StopSwitch

LAST_MOMENT = 1.0
"""Seconds after a second Ctrl-C for the ordinary end, and then for the last words."""

Handler = Callable[[int, FrameType | None], object]


@contextmanager
def received(numbers: Iterable[int], handler: Handler) -> Iterator[dict[int, Any]]:
    """While open, ``handler`` has these signals; then each goes to whom it went before, which is what this gives."""
    before: dict[int, Any] = {}
    try:
        for number in numbers:
            before[number] = signal.getsignal(number)
            signal.signal(number, handler)
        yield before
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def signal_received(number: int) -> SignalReceived:
    """The error that says which signal came."""
    return SignalReceived(number, signal.Signals(number).name)


class Departure:
    """What Ctrl-C does once the command is about to end: a handler, which stays until the process is gone.

    ``last_words`` prints what there is to say. It is called by a signal, wherever the command stands then, and not
    waited for when its reader takes nothing. What was started must not outlive us.
    """

    def __init__(self, last_words: Callable[[], None]) -> None:
        self._last_words = last_words
        self.is_near = False

    def stand_by(self) -> None:
        """Take over from whoever has Ctrl-C now."""
        signal.signal(signal.SIGINT, self)

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        _kill_groups()
        if self.is_near:
            os._exit(130)
        self.is_near = True
        _set_alarm(self._speak)

    def _speak(self, _number: int, _frame: FrameType | None) -> None:
        _kill_groups()
        _set_alarm(lambda *_: os._exit(130))
        try:
            self._last_words()
        finally:
            os._exit(130)


def _set_alarm(handler: Handler) -> None:
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, LAST_MOMENT)


def _kill_groups() -> None:
    """Nothing was started before the module was there, whole. To import it here could come upon its own import."""
    if kill := getattr(sys.modules.get("lovia_cli.tools.process"), "kill_groups", None):
        kill()


def ctrl_c() -> SignalReceived:
    """The error that says that Ctrl-C came."""
    return signal_received(signal.SIGINT)


@contextmanager
def given_back(number: int) -> Iterator[None]:
    """After this, the signal goes again to whom it goes now, whatever is made of it meanwhile."""
    handler = signal.getsignal(number)
    try:
        yield
    finally:
        signal.signal(number, handler)


@contextmanager
def signals_stop(stop: StopSwitch, departure: Departure) -> Iterator[None]:
    """While open, SIGINT, SIGTERM and SIGHUP stop the run through ``stop``; Ctrl-C after that is for ``departure``.

    Which has it for good, since a command whose run was stopped is about to end. A SIGHUP that was ignored stays
    ignored (nohup). The handlers are the interpreter's and not the loop's, so that they work even while a tool holds
    the loop.
    """
    import asyncio

    stopping = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        stopping.append(signal.SIGHUP)
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def stop_run(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if number == signal.SIGINT and len(seen) > 1:
            departure(number, frame)
        loop.call_soon_threadsafe(stop.stop, signal_received(number))

    with received(stopping, stop_run) as before:
        try:
            yield
        finally:
            if seen:
                before[signal.SIGINT] = departure
