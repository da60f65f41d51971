"""A terminal with a person at it: what the script shows there, and what is typed in answer."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from time import monotonic

from tests.cli.lovia import SCRIPT, Lovia

PATIENCE = 60.0
CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"
_PASTE_MODE = re.compile("\x1b\\[\\?2004[hl]")


SETTLED = 0.1
"""Seconds of silence after which a prompt that is shown also listens."""


@dataclass(frozen=True)
class Seen:
    """All that the terminal was sent, line ends as ``\\n``, without what line editing switches on and off.

    ``is_restored``: in the end it echoes what is typed, line by line, and marks no paste.
    """

    code: int
    text: str
    is_restored: bool

    @property
    def lines(self) -> list[str]:
        """The lines as they stand in the end: what a line took back is gone."""
        return [line.rsplit("\r\x1b[K", 1)[-1].strip("\r") for line in self.text.split("\n") if line.strip("\r")]


def at_terminal(
    lovia: Lovia,
    *argv: str,
    steps: Iterable[tuple[str, str | Signals]] = (),
    columns: int = 80,
    env: Mapping[str, str] | None = None,
) -> Seen:
    """Run the script with stdin, stdout and stderr at one terminal, of which it is the foreground process.

    Each of ``steps`` waits until its first text has been shown since the last step, and then types the second, or
    sends that signal.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [SCRIPT, *argv],
        cwd=lovia.folder,
        env={**lovia.env, "TERM": "xterm", **(env or {})},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(follower)
    try:
        seen = b""
        for expected, typed in steps:
            seen += _until(leader, expected.encode())
            _until_it_listens(leader, process.pid)
            if isinstance(typed, Signals):
                process.send_signal(typed)
            else:
                os.write(leader, typed.encode())
        seen += _until(leader, None)
        modes = termios.tcgetattr(leader)[3]
    finally:
        os.close(leader)
    code = process.wait(PATIENCE)
    marks_pastes = seen.rpartition(b"\x1b[?2004")[2].startswith(b"h")
    is_restored = modes & termios.ECHO and modes & termios.ICANON and not marks_pastes
    return Seen(code, _PASTE_MODE.sub("", seen.decode()).replace("\r\n", "\n"), bool(is_restored))


def _until_it_listens(leader: int, pid: int) -> None:
    """A prompt is shown just before somebody listens, and a signal in between is one that nobody waits for."""
    select.select([leader], [], [], SETTLED)
    end = monotonic() + PATIENCE
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R" and monotonic() < end:
        select.select([], [], [], SETTLED)


def _until(leader: int, expected: bytes | None) -> bytes:
    """What is shown until ``expected`` is there; None is the end."""
    seen, end = b"", monotonic() + PATIENCE
    while expected is None or expected not in seen:
        if not select.select([leader], [], [], max(0, end - monotonic()))[0]:
            raise AssertionError(f"{expected!r} was not shown: {seen!r}")
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            assert expected is None, f"{expected!r} was not shown: {seen!r}"
            break
        seen += piece
    return seen
