"""Reading what a person types at a terminal, message by message."""

from __future__ import annotations

import io
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lovia_cli.cli.signals import received, signal_received
from lovia_cli.render.streams import Out

_PASTE_SECONDS = 0.03
"""Lines that follow each other faster than this are one message: pasted, or typed while something ran."""


class Prompt:
    """Asks on ``err``, with line editing and this conversation's lines to go back to where there is readline.

    Nothing is kept when it is over. What is pasted is one message, however many lines it has.
    """

    def __init__(self, err: Out) -> None:
        self._err = err
        self._edits = False
        try:
            import readline
        except ImportError:
            return
        self._edits = True
        readline.parse_and_bind("set enable-bracketed-paste on")

    def read(self, prompt: str) -> str | None:
        """The next message, without its last newline; None at the end (Ctrl-D). Ctrl-C is a KeyboardInterrupt.

        Raises `SignalReceived` for SIGTERM and SIGHUP, when line editing has given the terminal back.
        """
        with _signals_raise(), _shown_on_stderr(self._err.encoding):
            try:
                lines = [input(prompt)]
            except (EOFError, OSError):
                self._err.text("" if self._edits else "\n")
                return None
            while select.select([0], [], [], _PASTE_SECONDS)[0]:
                try:
                    lines.append(input(""))
                except (EOFError, OSError):
                    break
        return "\n".join(lines)


@contextmanager
def _signals_raise() -> Iterator[None]:
    """A signal that simply ended the process would leave the terminal as line editing has it: deaf and mute."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise signal_received(number)

    ending = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    with received(ending, leave):
        yield


@contextmanager
def _shown_on_stderr(encoding: str) -> Iterator[None]:
    """`input` edits lines only where stdout is file descriptor 1, which is our stderr by now (`Streams.take`)."""
    before = sys.stdout
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding=encoding, errors="backslashreplace")
    try:
        yield
    finally:
        sys.stdout = before
