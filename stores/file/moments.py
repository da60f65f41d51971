"""Where a run stood at one of its saves, found by opening few chunks, however long the run (H2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stores import codec
from stores.entries import JSON, Entry, in_call_order
from stores.errors import StoreDamagedError
from stores.file.chunks import (
    Chunk,
    ChunkPlace,
    base_of,
    chunk_there,
    data_folder,
    read_backwards,
    read_from,
)
from stores.file.reading import find_ref, first_kept
from stores.file.refs import Ref
from stores.file.root import Root
from stores.records import Status

Record = dict[str, Any]


@dataclass(slots=True, frozen=True)
class Cut:
    """One save of a run: the run's ref, the chunk that holds the save, and the save's record."""

    ref: Ref
    chunk: Chunk
    record: Record

    @property
    def number(self) -> int:
        return int(self.record["save"])


def find_cut(root: Root, run_id: str, *, step: int | None = None, save: int | None = None) -> Cut | None:
    """That save, or the newest save of that step; None when the run's history has not got it."""
    ref = find_ref(root, run_id)
    if ref is None:
        return None
    is_behind = _behind(step, save)
    place: ChunkPlace | None = (ref.run_id, ref.key, ref.tail)
    chunk, beyond = None, ref.status == Status.RUNNING
    while chunk is None and place is not None:
        chunk, place = _search(root, place, is_behind, beyond=beyond)
        beyond = False
    if chunk is None:
        return None
    record = [one for one in chunk.records if not is_behind(one)][-1]
    wanted = save in (None, record["save"]) and step in (None, record["step"])
    return Cut(ref, chunk, record) if wanted and record["save"] >= first_kept(root, ref) else None


def cut_at_end(ref: Ref, chunk: Chunk) -> Cut:
    """The last save of the run's newest chunk."""
    if not chunk.records:
        raise StoreDamagedError("the chunk holds no save", where=chunk.where)
    record = chunk.records[-1]
    if lacking := {"save", "step", "at"} - set(record):
        raise StoreDamagedError(f"a save lacks {sorted(lacking)[0]!r}", where=chunk.where)
    return Cut(ref, chunk, record)


def _behind(step: int | None, save: int | None) -> Callable[[Record], bool]:
    """True for the saves that were made after the one that is looked for."""

    def is_behind(record: Record) -> bool:
        late = save is not None and record["save"] > save
        return late or (step is not None and record["step"] > step)

    return is_behind


def _search(
    root: Root, place: ChunkPlace, is_behind: Callable[[Record], bool], *, beyond: bool
) -> tuple[Chunk | None, ChunkPlace | None]:
    """The last chunk there that begins with no save from behind; where there is none, what the first goes on from."""
    run_id, key, tail = place
    with data_folder(root, run_id, key, tail) as folder:
        for chunk in reversed(list(read_from(folder, run_id, key, tail, tail, beyond=beyond))):
            if not is_behind(chunk.first_record):
                return chunk, None
        found, low, high = None, 1, tail
        while low < high:
            middle = (low + high) // 2
            chunk = chunk_there(folder, run_id, key, middle)
            if is_behind(chunk.first_record):
                high = middle
            else:
                found, low = chunk, middle + 1
        first = chunk_there(folder, run_id, key, 1) if found is None else None
    return found, base_of(first) if first and first.base else None


def step_entries(root: Root, cut: Cut) -> tuple[int, list[Entry]] | None:
    """How many entries stand before the step of the cut, and those of the step; None where a patch cut in it."""
    run_id, key, step = cut.chunk.header["id"], cut.chunk.header["key"], cut.record["step"]
    rows: list[dict[str, JSON]] = []
    for chunk in read_backwards(root, run_id, key, cut.chunk.n, beyond=False):
        records = [record for record in chunk.records if record["save"] <= cut.number]
        own = [record for record in records if record["step"] == step]
        if any(record.get("keep") is not None for record in own):
            return None
        rows = [row for record in own for row in record.get("entries", ())] + rows
        if len(own) < len(records) or chunk.first == 1:
            before = chunk.entries
            for record in records[: len(records) - len(own)]:
                before = record.get("keep", before) + len(record.get("entries", ()))
            return before, in_call_order(codec.decode_entries(rows, where=chunk.where, run_id=run_id))
    return None
