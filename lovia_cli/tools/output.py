"""The output of a command, capped while it streams (C25)."""

from __future__ import annotations

DEFAULT_OUTPUT_LIMIT = 64 * 1024


class CappedOutput:
    """Keeps the first and the last ``limit / 2`` bytes of what is fed, and counts the rest.

    Memory stays within about ``2 * limit`` bytes, however much comes.
    """

    def __init__(self, limit: int = DEFAULT_OUTPUT_LIMIT) -> None:
        self._head_size = limit - limit // 2
        self._tail_size = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        self._total += len(data)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_size:  # not at each feed: cutting costs a copy
            self._trim()

    def text(self) -> str:
        """What was kept, as text, with a line between head and tail that says how many bytes were cut.

        No cut falls within a character; what is not UTF-8 becomes U+FFFD.
        """
        self._trim()
        if self._total == len(self._head) + len(self._tail):
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = _whole_end(self._head), _whole_start(self._tail)
        cut = self._total - len(head) - len(tail)
        marker = f"\n[... {cut} bytes of output were cut here ...]\n"
        return head.decode("utf-8", "replace") + marker + tail.decode("utf-8", "replace")

    def _trim(self) -> None:
        excess = len(self._tail) - self._tail_size
        if excess > 0:
            del self._tail[:excess]


def _whole_end(data: bytearray) -> bytearray:
    """``data`` without a character at its end that lacks bytes."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:  # within a character: its first byte stands before
            continue
        length = 4 if byte >= 0b1111_0000 else 3 if byte >= 0b1110_0000 else 2 if byte >= 0b1100_0000 else 1
        return data[:-back] if length > back else data
    return data


def _whole_start(data: bytearray) -> bytearray:
    """``data`` without the rest of a character at its start."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0b1100_0000 == 0b1000_0000:
        start += 1
    return data[start:]
