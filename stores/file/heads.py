"""A run's head at one of its saves, from the few chunks in which its fields were last set."""

from __future__ import annotations

from typing import Any

from stores.entries import JSON
from stores.file.chunks import Chunk, ChunkPlace, base_of, checked_place, chunk_there, data_folder, read_all
from stores.file.disk import Folder
from stores.file.moments import Cut
from stores.file.root import Root
from stores.records import RunHead, Save, Status, apply_head

Record = dict[str, Any]


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
        there = chunk_there(folder, run_id, key, n)
        return _set_in(there, there.last)
    first = chunk if chunk.n == 1 else chunk_there(folder, run_id, key, 1)
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


def _chunk_at(root: Root, place: ChunkPlace) -> Chunk:
    with data_folder(root, *place) as shared:
        return chunk_there(shared, *place)


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
