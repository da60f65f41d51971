"""The last chunk of a run: the one that is written anew with each save, until it is full."""

from __future__ import annotations

from typing import Any

from stores import codec
from stores.codec import Lines
from stores.entries import JSON
from stores.file.chunks import Chunk
from stores.records import Save, Status

FULL = 32 * 1024
"""Bytes at which a chunk is sealed; a save that would take it beyond begins the next one, whatever its size."""

ENOUGH, RECORDS = 8 * 1024, 11
"""A chunk of so many bytes is sealed once it has so many saves: it was written that often already.

With m saves to a chunk each is written (m + 1) / 2 times on average, and a seal adds two flushes to every
m-th save: 11 gives 6 times the payload and 2.18 flushes. Saves that are smaller share a chunk up to 8 KB.
"""


class Tail:
    """The last chunk of a run as it will be written next."""

    __slots__ = ("_touched", "entries", "first", "lines", "n", "sets", "status")

    def __init__(
        self,
        run_id: str,
        key: str,
        n: int = 1,
        *,
        first: int = 1,
        status: str = Status.RUNNING.value,
        entries: int = 0,
        prev: str | None = None,
        sets: dict[str, int] | None = None,
        **more: JSON,
    ) -> None:
        header: dict[str, JSON] = {"kind": "chunk", "id": run_id, "key": key, "n": n, "prev": prev, "first": first}
        header |= {"status": status, "entries": entries}
        self.lines = Lines(header | more if sets is None else header | {"sets": sets} | more, "records")
        self.n, self.first, self.status, self.entries, self.sets = n, first, status, entries, sets
        self._touched: set[str] = set()

    @staticmethod
    def of(chunk: Chunk) -> Tail:
        """The chunk that was read, ready to grow. Its records are kept byte for byte (D1)."""
        tail = Tail.__new__(Tail)
        tail.lines = Lines.resume(chunk.lined.data, chunk.lined.document, "records")
        tail.n, tail.first, tail.status, tail.entries = chunk.n, chunk.first, chunk.status, chunk.entries
        tail.sets, tail._touched = chunk.sets, set()
        for record in chunk.records:
            tail._passed(record.get("head"), record.get("keep"), len(record.get("entries", ())))
        return tail

    @property
    def last(self) -> int:
        return self.first + self.lines.count - 1

    def has_room(self, line: bytes) -> bool:
        """False when ``line`` has to begin the next chunk."""
        lines = self.lines
        if lines.count == 0:
            return True
        return lines.size + len(line) <= FULL and not (lines.count >= RECORDS and lines.size >= ENOUGH)

    def next(self, run_id: str, key: str) -> Tail:
        """The empty chunk after this one."""
        sets = None if self.sets is None else self.sets | dict.fromkeys(sorted(self._touched), self.n)
        return Tail(
            run_id,
            key,
            self.n + 1,
            first=self.last + 1,
            status=self.status,
            entries=self.entries,
            prev=self.lines.sum,
            sets=sets,
        )

    def add(self, line: bytes, save: Save) -> None:
        self.lines.add(line)
        self._passed(save.head, save.keep, len(save.entries))

    def add_record(self, record: dict[str, Any]) -> None:
        """A save as it stands in another chunk."""
        self.lines.add(codec.dumps(record))
        self._passed(record.get("head"), record.get("keep"), len(record.get("entries", ())))

    def _passed(self, head: dict[str, JSON] | None, keep: int | None, entries: int) -> None:
        """Where the run stands after one more save."""
        if head:
            self.status = head.get("status", self.status)
            self._touched.update(head)
        self.entries = (self.entries if keep is None else keep) + entries
