"""A run as it stands, or stood at one of its saves, made from its chunks.

Of most chunks only the entries are parsed: which chunks hold the head's fields is said in the last one.
"""

from __future__ import annotations

from collections.abc import Iterable

from stores import codec
from stores.entries import Entry, in_call_order
from stores.file.chunks import Chunk, ChunkPlace, read_all
from stores.file.heads import head_at
from stores.file.locks import read_owner
from stores.file.moments import cut_at_end, find_cut
from stores.file.names import name_of
from stores.file.reading import read_ref_of
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.survey import lost_data
from stores.folding import entries_with, without_collections
from stores.records import RunSnapshot, Status


def read_snapshot(root: Root, run_id: str) -> RunSnapshot | None:
    """The newest snapshot, with the effective status (R3)."""
    ref = read_ref_of(root, run_id)
    if ref is None and (lost := lost_data(root, run_id)):
        raise lost
    if ref is None or ref.is_deleted:
        return None
    owner = read_owner(root, name_of(run_id))  # before the data: a run that ends in between has then ended
    snapshot = newest(root, ref)
    if snapshot and snapshot.head.status == Status.RUNNING and owner is None:
        snapshot.head.status = Status.INTERRUPTED.value
    return snapshot


def newest(root: Root, ref: Ref) -> RunSnapshot | None:
    """The snapshot after the run's last save, its status the stored one."""
    last, entries = _fold(root, (ref.run_id, ref.key, ref.tail), beyond=ref.status == Status.RUNNING)
    ref.check_newest(last)
    return RunSnapshot(run_id=ref.run_id, head=head_at(root, cut_at_end(ref, last)), entries=entries)


def read_moment(root: Root, run_id: str, number: int) -> RunSnapshot | None:
    """The run as it was at save ``number``; None when its history has not got it."""
    cut = find_cut(root, run_id, save=number)
    if cut is None:
        return None
    _, entries = _fold(root, (cut.chunk.header["id"], cut.chunk.header["key"], cut.chunk.n), beyond=False, upto=number)
    return RunSnapshot(run_id=run_id, head=head_at(root, cut), entries=entries)


def _fold(root: Root, place: ChunkPlace, *, beyond: bool, upto: int | None = None) -> tuple[Chunk, list[Entry]]:
    """The last chunk, and the transcript after its last save, or after save ``upto``, which is in it."""
    with without_collections():
        found = _quickly(read_all(root, *place, beyond=beyond), place, upto)
        return found or _save_by_save(read_all(root, *place, beyond=beyond), place, upto)


def _quickly(chunks: Iterable[Chunk], place: ChunkPlace, upto: int | None) -> tuple[Chunk, list[Entry]] | None:
    """`_fold` with no look at anything but the entries before the last chunks.

    None when a chunk says that other entries stand before it: a save took some back, or was written by others.
    """
    run_id, key, tail = place
    entries: list[Entry] = []
    for chunk in chunks:
        if chunk.entries != len(entries):
            return None
        if chunk.n < tail or chunk.header["key"] != key:
            entries += codec.decode_entries(chunk.lined.entry_rows(), where=chunk.where, run_id=run_id)
        else:
            entries = _after(chunk, entries, run_id, upto)
        last = chunk
    return last, in_call_order(entries)


def _save_by_save(chunks: Iterable[Chunk], place: ChunkPlace, upto: int | None) -> tuple[Chunk, list[Entry]]:
    entries: list[Entry] = []
    for chunk in chunks:
        entries = _after(chunk, entries, place[0], upto)
        last = chunk
    return last, in_call_order(entries)


def _after(chunk: Chunk, entries: list[Entry], run_id: str, upto: int | None) -> list[Entry]:
    records = [record for record in chunk.records if upto is None or record["save"] <= upto]
    return entries_with(entries, records, where=chunk.where, run_id=run_id)
