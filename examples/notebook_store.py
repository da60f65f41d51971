"""A store of your own: sessions in one file, a line a segment. `tests/examples/test_notebook_store.py` holds it to the
contract of every store (`stores.conformance`), processes that race for the file included.

A store needs the methods of its protocol (here `Session`), and nothing else of lovia knows about it.
"""

import fcntl
import json
import os
from asyncio import to_thread
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stores.codec import dumps
from stores.entries import Entry, entries_from_json, entry_to_json
from stores.errors import SegmentDiffersError
from stores.ids import check_id, new_id
from stores.records import Segment
from stores.surgery import entries_checksum
from stores.values import plain


class NotebookSession:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    async def segments(self, session_id: str) -> list[Segment]:
        rows = [row for row in await to_thread(self._locked, _read) if row["session"] == check_id(session_id)]
        return [Segment(run_id=row["run"], entries=entries_from_json(row["entries"]), meta=row["meta"]) for row in rows]

    async def load(self, session_id: str) -> list[Entry]:
        return [entry for segment in await self.segments(session_id) for entry in segment.entries]

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: Any = None
    ) -> str:
        name = new_id() if run_id is None else check_id(run_id)
        key = {"session": check_id(session_id), "run": name}
        row = {**key, "sum": entries_checksum(entries), "meta": plain(meta or {})}
        line = dumps({**row, "entries": [entry_to_json(entry) for entry in entries]})
        stored = await to_thread(self._locked, lambda file: _add(file, row, line))
        if stored != row["sum"]:
            raise SegmentDiffersError(f"run {name!r} is stored with other entries", hint="append under a new run id")
        return name

    async def clear(self, session_id: str) -> None:
        await to_thread(self._locked, lambda file: _write(file, dumps({"erased": check_id(session_id)})))

    def _locked(self, work: Callable[[Any], Any]) -> Any:
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return work(file)


def _read(file: Any) -> list[dict[str, Any]]:
    file.seek(0)
    *whole, torn = file.read().split(b"\n")
    file.truncate(file.tell() - len(torn))  # a crash cut this line short: nobody was told that it is stored
    rows: list[dict[str, Any]] = []
    for row in map(json.loads, whole):
        rows = [kept for kept in rows if kept["session"] != row["erased"]] if "erased" in row else [*rows, row]
    return rows


def _add(file: Any, new: dict[str, Any], line: bytes) -> Any:
    for row in _read(file):
        if (row["session"], row["run"]) == (new["session"], new["run"]):
            return row["sum"]
    _write(file, line)
    return new["sum"]


def _write(file: Any, line: bytes) -> None:
    file.write(line + b"\n")
    file.flush()
    os.fsync(file.fileno())
