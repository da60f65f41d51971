"""The transcript of a run, made from its chunks.

Of the chunks before the last one nothing but the entries is made. Where they are not just what this version writes,
each save is looked at.
"""

from __future__ import annotations

from stores.entries import Entry, in_call_order
from stores.file.chunks import Chunk, ChunkPlace, base_of, checked_place, data_folder, read_all, read_from, read_sealed
from stores.file.names import chunk_name
from stores.file.root import Root
from stores.folding import entries_with, without_collections


class _UnfitError(Exception):
    """A chunk is not there, is damaged, or holds what only a closer look can tell."""


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
    before = _add_sealed(root, (run_id, key, tail - 1), entries) if tail > 1 else None
    with data_folder(root, *place) as folder:
        for chunk in read_from(folder, run_id, key, tail, tail, beyond=beyond):
            if chunk.n == 1 and chunk.base:
                before = _add_sealed(root, base_of(chunk), entries)
            if chunk.n == tail and chunk.prev != before:
                raise _UnfitError
            entries = _after(chunk, entries, run_id, upto)
            last = chunk
    return last, in_call_order(entries)


def _add_sealed(root: Root, place: ChunkPlace, entries: list[Entry]) -> str | None:
    """Add the entries of the chunks up to ``place``, a fork's source first. Returns the checksum of the last one."""
    before = None
    with data_folder(root, *place) as folder:
        for n in range(1, place[2] + 1):
            chunk = read_sealed(folder, n)
            if chunk is None:
                raise _UnfitError
            if n == 1 and chunk.base:
                before = _add_sealed(root, checked_place(chunk.base, folder.where(chunk_name(n))), entries)
            if chunk.prev != before:
                raise _UnfitError
            for row in chunk.records:
                if row.keep is not None:
                    entries[:] = in_call_order(entries)[: row.keep]
                entries += row.entries
            before = chunk.sum
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
