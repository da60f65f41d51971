"""The transcript of a run, made from its chunks.

Of the chunks before the last one nothing but the entries is parsed. That this is enough says a count in each chunk:
where a save took entries back, or others set the chunk out, it does not fit, and then each save is looked at.
"""

from __future__ import annotations

from stores import codec
from stores.entries import Entry, in_call_order
from stores.file.chunks import (
    Chunk,
    ChunkPlace,
    base_of,
    chunk_there,
    data_folder,
    opening_of,
    read_all,
    read_from,
    read_sealed,
)
from stores.file.root import Root
from stores.folding import entries_with, without_collections


class _UnfitError(Exception):
    """The chunks' entries alone are not the transcript."""


def transcript(root: Root, place: ChunkPlace, *, beyond: bool, upto: int | None = None) -> tuple[Chunk, list[Entry]]:
    """The last chunk, and the transcript after its last save, or after save ``upto``, which is in it.

    ``beyond``: chunks that a crash left after the one at ``place`` are rolled forward.
    """
    with without_collections():
        try:
            return _quickly(root, place, upto, beyond=beyond)
        except _UnfitError:
            return _save_by_save(root, place, upto, beyond=beyond)


def _quickly(root: Root, place: ChunkPlace, upto: int | None, *, beyond: bool) -> tuple[Chunk, list[Entry]]:
    run_id, key, tail = place
    entries: list[Entry] = []
    before = _add_sealed(root, (run_id, key, tail - 1), entries)
    with data_folder(root, *place) as folder:
        for chunk in read_from(folder, run_id, key, tail, tail, beyond=beyond):
            if chunk.entries != len(entries) or (chunk.n == tail and chunk.prev != before):
                raise _UnfitError
            entries = _after(chunk, entries, run_id, upto)
            last = chunk
    return last, in_call_order(entries)


def _add_sealed(root: Root, place: ChunkPlace, entries: list[Entry]) -> str | None:
    """Add the entries of the chunks up to ``place``, a fork's source first. Returns the checksum of the last one."""
    run_id, key, last = place
    with data_folder(root, run_id, key, last or 1) as folder:
        first = chunk_there(folder, run_id, key, 1)
        before = _add_sealed(root, base_of(first), entries) if first.base else None
        opening = opening_of(run_id, key)
        for n in range(1, last + 1):
            sealed = read_sealed(folder, opening, n, before)
            if sealed is None or sealed.before != len(entries):
                raise _UnfitError
            entries += codec.decode_entries(sealed.rows, where=sealed.where, run_id=run_id)
            before = sealed.sum
    return before


def _save_by_save(root: Root, place: ChunkPlace, upto: int | None, *, beyond: bool) -> tuple[Chunk, list[Entry]]:
    entries: list[Entry] = []
    for chunk in read_all(root, *place, beyond=beyond):
        entries = _after(chunk, entries, place[0], upto)
        last = chunk
    return last, in_call_order(entries)


def _after(chunk: Chunk, entries: list[Entry], run_id: str, upto: int | None) -> list[Entry]:
    records = [record for record in chunk.records if upto is None or record["save"] <= upto]
    return entries_with(entries, records, where=chunk.where, run_id=run_id)
