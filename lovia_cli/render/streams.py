"""The process's streams: whole, taken before anybody else can write to them, and quiet when the reader leaves."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lovia_cli.render.terminal import safe

if TYPE_CHECKING:
    from lovia_cli.render.progress import Progress

Data = bytes


class Out:
    """A stream to the outside. A reader that has gone is no error: what follows is dropped.

    Any other failure to write is kept in ``failure``, for the exit code. ``progress``, when set, is the line that
    stands where this writes.
    """

    def __init__(self, fd: int, encoding: str) -> None:
        self.fd = fd
        self.encoding = encoding
        self.failure: OSError | None = None
        self._gone = self._is_writing = False
        self.progress: Progress | None = None
        self.is_terminal = os.isatty(fd)

    def text(self, text: str) -> None:
        """Write text in the stream's encoding; what it cannot hold becomes an escape."""
        self.bytes(text.encode(self.encoding, "backslashreplace"))

    def bytes(self, data: bytes) -> None:
        """Write bytes at once: there is no buffer that a crash could lose."""
        if self.progress is None:
            self.raw(data)
        else:
            with self.progress.writing(data):
                self.raw(data)

    def raw(self, data: Data) -> None:
        """Write bytes, whatever stands on the terminal."""
        view, self._is_writing = memoryview(data), True
        while view and not self._gone:
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                select.select([], [self.fd], [])
            except OSError as error:
                self._gone = True
                if error.errno not in (errno.EPIPE, errno.EBADF):
                    self.failure = error
        self._is_writing = False

    def drop_unless_free(self) -> None:
        """For a signal's handler: where it came upon a write, whatever follows would stand in the middle of that."""
        self._gone = self._gone or self._is_writing

    @property
    def columns(self) -> int | None:
        """The terminal's width, or None where the stream is no terminal: then nothing is cut or wrapped."""
        if not self.is_terminal:
            return None
        try:
            return os.get_terminal_size(self.fd).columns or 80
        except OSError:
            return 80


class Streams:
    """Our stdout and stderr. From `take` on, whatever else writes to fd 1 or prints goes to stderr.

    So nothing that a tool prints reaches our stdout, and what Python code prints to stderr passes `safe`, and ``hide``,
    which takes secrets out.
    """

    def __init__(self) -> None:
        _open_missing()
        self.out = Out(1, _encoding(sys.__stdout__))
        self.err = Out(2, _encoding(sys.__stderr__))
        self.hide: Callable[[str], str] = str

    @property
    def exit_code(self) -> int:
        """1 when the answer could not be written, such as to a full disk; a reader that has left is no failure."""
        return 1 if self.out.failure else 0

    def tell_failure(self) -> None:
        """Say on stderr when the answer could not be written."""
        if failure := self.out.failure:
            hint = "send the output to where there is room; what was saved is safe"
            self.err.text(
                f"error: cannot write to stdout: {failure.strerror}\n  where: what stdout leads to\n  hint: {hint}\n"
            )

    def take(self) -> None:
        """Keep the real stdout for ourselves. Once is enough."""
        if self.out.fd != 1:
            return
        _flush()
        self.out.fd, self.err.fd = os.dup(1), os.dup(2)
        os.dup2(2, 1)
        sys.stdout = _Printer(self)
        sys.stderr = sys.stdout


class _Raw(io.FileIO):
    """File descriptor 2, written to as everything of ours is."""

    def __init__(self, err: Out) -> None:
        super().__init__(2, "w", closefd=False)
        self._err = err

    def write(self, data: Any) -> int:
        self._err.bytes(bytes(data))
        return len(data)


class _Printer(io.TextIOWrapper):
    """A text stream to stderr for code that is not ours."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        buffer: Any = io.BufferedWriter(_Raw(streams.err))
        super().__init__(buffer, encoding=streams.err.encoding, errors="backslashreplace", line_buffering=True)

    def write(self, text: str) -> int:
        super().write(safe(self._streams.hide(text)))
        return len(text)


def _open_missing() -> None:
    """A closed 0, 1 or 2 would be given to the next file that is opened, and prints would end up in it."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue  # the reader has gone, or a tool has closed it
