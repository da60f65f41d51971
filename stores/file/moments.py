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
    base_of,
    checked_place,
    data_folder,
    missing,
    read_all,
    read_backwards,
    read_chunk,
    read_from,
)
from stores.file.disk import Folder
from stores.file.names import chunk_name
from stores.file.reading import find_ref, first_kept
from stores.file.refs import Ref
from stores.file.root import Root
from stores.records import RunHead, Save, Status, apply_head

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
    place: tuple[str, str, int] | None = (ref.run_id, ref.key, ref.tail)
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
    if missing := {"save", "step", "at"} - set(record):
        raise StoreDamagedError(f"a save lacks {sorted(missing)[0]!r}", where=chunk.where)
    return Cut(ref, chunk, record)


def _behind(step: int | None, save: int | None) -> Callable[[Record], bool]:
    """True for the saves that were made after the one that is looked for."""

    def is_behind(record: Record) -> bool:
        late = save is not None and record["save"] > save
        return late or (step is not None and record["step"] > step)

    return is_behind


def _search(
    root: Root, place: tuple[str, str, int], is_behind: Callable[[Record], bool], *, beyond: bool
) -> tuple[Chunk | None, tuple[str, str, int] | None]:
    """The last chunk there that begins with no save from behind; where there is none, what the first goes on from."""
    run_id, key, tail = place
    with data_folder(root, run_id, key, tail) as folder:
        for chunk in reversed(list(read_from(folder, run_id, key, tail, tail, beyond=beyond))):
            if not is_behind(chunk.lined.first_record):
                return chunk, None
        found, low, high = None, 1, tail
        while low < high:
            middle = (low + high) // 2
            chunk = _there(folder, run_id, key, middle)
            if is_behind(chunk.lined.first_record):
                high = middle
            else:
                found, low = chunk, middle + 1
        first = _there(folder, run_id, key, 1) if found is None else None
    return found, base_of(first) if first and first.base else None


def _there(folder: Folder, run_id: str, key: str, n: int) -> Chunk:
    chunk = read_chunk(folder, run_id, key, n)
    if chunk is None:
        raise missing(run_id, n, folder.where(chunk_name(n)))
    if not chunk.lined.count:
        raise StoreDamagedError("the chunk holds no save", where=chunk.where)
    return chunk


def head_at(root: Root, cut: Cut) -> RunHead:
    """The run's head at the cut, from the chunks in which its fields were set."""
    head = RunHead()
    record = cut.record
    fields = _fields_at(root, cut.chunk, cut.number)
    if fields is None:
        fields = {}
        for chunk in read_all(root, cut.ref.run_id, cut.ref.key, cut.ref.tail, beyond=cut.ref.status == Status.RUNNING):
            fields |= _set_in(chunk, cut.number)
    apply_head(head, Save(number=cut.number, step=record["step"], at=record["at"], event="", head=fields))
    return head


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


def _set_in(chunk: Chunk, number: int) -> dict[str, JSON]:
    """What the chunk's saves up to ``number`` set, each field to its last value."""
    fields: dict[str, JSON] = {}
    for record in chunk.records:
        if record["save"] <= number:
            fields |= record.get("head") or {}
    return fields


def _fields_at(root: Root, chunk: Chunk, number: int) -> dict[str, JSON] | None:
    """The head fields after save ``number``, which is in ``chunk``. None where an earlier version did not say."""
    if chunk.sets is None:
        return None
    fields: dict[str, JSON] = {}
    key = chunk.header["key"]
    with data_folder(root, chunk.header["id"], key, chunk.n) as folder:
        for n in set(chunk.sets.values()):
            found = _fields_of(root, folder, chunk, n)
            if found is None:
                return None
            fields |= {name: found[name] for name, where in chunk.sets.items() if where == n and name in found}
    return fields | _set_in(chunk, number)


def _fields_of(root: Root, folder: Folder, chunk: Chunk, n: int) -> dict[str, JSON] | None:
    """What chunk ``n`` set; chunk 0 is all that a fork shares with its source, whose first chunk says what is where."""
    run_id, key = chunk.header["id"], chunk.header["key"]
    if n > 0:
        there = _there(folder, run_id, key, n)
        return _set_in(there, there.last)
    first = chunk if chunk.n == 1 else _there(folder, run_id, key, 1)
    if (heads := first.header.get("heads")) is not None:
        return _fields_in(root, first, heads)
    there = _chunk_at(root, base_of(first))
    return _fields_at(root, there, there.last)


def _fields_in(root: Root, first: Chunk, heads: list[Record]) -> dict[str, JSON]:
    """The fields of each of the chunks that a fork's ``first`` chunk names."""
    fields: dict[str, JSON] = {}
    for head in heads:
        there = _chunk_at(root, checked_place(head, first.where))
        found = _set_in(there, there.last)
        fields |= {name: found[name] for name in head["fields"] if name in found}
    return fields


def _chunk_at(root: Root, place: tuple[str, str, int]) -> Chunk:
    with data_folder(root, *place) as shared:
        return _there(shared, *place)


def heads_before(root: Root, chunk: Chunk) -> list[Record] | None:
    """The chunks in which the head fields were last set before ``chunk``, each with those fields.

    A fork notes them, so that its head is found without going through all that its sources share with theirs. None
    where an earlier version did not say.
    """
    if chunk.sets is None:
        return None
    run_id, key = chunk.header["id"], chunk.header["key"]
    heads: list[Record] = []
    if 0 in chunk.sets.values():
        first = chunk if chunk.n == 1 else _chunk_at(root, (run_id, key, 1))
        if first.header.get("heads") is None:
            return None
        heads = [
            {**head, "fields": [name for name in head["fields"] if not chunk.sets[name]]}
            for head in first.header["heads"]
        ]
    for n in sorted({n for n in chunk.sets.values() if n}):
        heads.append(
            {"id": run_id, "key": key, "chunk": n, "fields": [name for name in chunk.sets if chunk.sets[name] == n]}
        )
    return [head for head in heads if head["fields"]]
