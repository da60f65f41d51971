"""What is going on right now: one line at a terminal that counts the seconds, and is gone when anything is written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lovia_cli.render.streams import Out
from lovia_cli.render.terminal import Paint, safe, shortened

PATIENCE = 1.0
"""Seconds that something takes before it is worth a line."""

_ERASE = b"\r\x1b[K"


class Progress:
    """The last line of the terminal behind ``err`` while something takes long.

    A thread draws it: a model or a tool may hold the event loop. Who writes to the terminal does so in `writing`,
    which takes the line away and keeps the thread out. In the middle of a streamed line nothing is drawn.
    """

    def __init__(self, err: Out, paint: Paint, clock: Callable[[], float] = time.monotonic) -> None:
        self._err = err
        self._paint = paint
        self._clock = clock
        self._lock = threading.RLock()
        self._acts: dict[str, tuple[str, float]] = {}
        self._drawn = ""
        self._mid_line = False
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, key: str, text: str) -> None:
        """Something begins that may take long; ``text`` is our own words, or has passed `safe`."""
        with self._lock:
            self._acts[key] = (text, self._clock())
        if self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._tick, name="lovia-progress", daemon=True)
            self._thread.start()

    def end(self, key: str) -> None:
        """It is over, whether it had begun or not."""
        with self._lock:
            self._acts.pop(key, None)

    def stop(self) -> None:
        """All is over: the line goes, and the thread too."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None
        with self._lock:
            self._acts.clear()
            self._erase()

    @contextmanager
    def writing(self, data: bytes) -> Iterator[None]:
        """While this is open, ``data`` is written to the terminal, where no line of ours stands in its way."""
        with self._lock:
            self._erase()
            yield
            self._mid_line = not data.endswith(b"\n")

    def line(self, columns: int) -> str:
        """What there is to say just now; empty while nothing has taken long."""
        now = self._clock()
        acts = [(text, int(now - began)) for text, began in self._acts.values() if now - began >= PATIENCE]
        return shortened(", ".join(f"{text} {seconds} s" for text, seconds in acts), columns)

    def _tick(self) -> None:
        while not self._over.wait(PATIENCE / 2):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        text = "" if self._mid_line else self.line((self._err.columns or 80) - 1)
        if text == self._drawn:
            return
        if text:
            self._err.raw(_ERASE + self._paint.dim(safe(text, lines=False)).encode(self._err.encoding, "replace"))
            self._drawn = text
        else:
            self._erase()

    def _erase(self) -> None:
        if self._drawn:
            self._err.raw(_ERASE)
            self._drawn = ""
