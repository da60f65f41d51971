"""Runs that begin where others stood: what they share, and how that is kept alive (H2).

A fork's first chunk names the last whole chunk that it shares with its source. Whoever reads the data of a run has a
mark in its folder, and a run's data outlives the run while there is one: it is then dropped, which is said in it, and
the last fork to go takes it along. The order of writes of a fork, each a prefix in which there is none:

    the mark       in the shared data's folder; from now on nobody removes that
    the source     read again: it was not removed before the mark was there
    a note         that the ref is to come
    chunk 1        the saves of the chunk that the cut is in, and the one that forks
    the marker     of its session
    the ref        = COMMIT; the note goes

Who removes a run, or begins it anew, changes its ref first and looks for marks then: one of the two sees the other.
"""

from __future__ import annotations

import os
from contextlib import suppress

from stores import codec
from stores.errors import RunNotFoundError, StoreError, StoreWriteError
from stores.file.chunks import Chunk, base_of, read_chunk
from stores.file.disk import Folder, remove_folder
from stores.file.heads import head_at, heads_before
from stores.file.markers import write_marker
from stores.file.moments import Cut, find_cut
from stores.file.names import BEGINNING, DROPPED, FORKS, chunk_name, is_key, new_key
from stores.file.reading import find_ref, steady
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.tail import Tail
from stores.records import Save, apply_head, head_to_json


def begin_fork(root: Root, run_id: str, source_id: str, forked: Save) -> tuple[Ref, Tail, Folder]:
    """All of ``run_id``, whose lock is held, but the commit: the saves of ``source_id`` before ``forked``, and that.

    Returns the ref to write, the tail and the data. What fails before leaves nothing.
    """
    cut = steady(lambda: find_cut(root, source_id, save=forked.number - 1))
    if cut is None:
        raise lost_source(source_id, forked.number - 1)
    ref, tail = _prepared(root, run_id, cut, forked)
    data, base = root.make_folder("data", ref.key), _base(cut)
    shared = str(base["key"]) if base else None
    try:
        if shared:
            mark(root, shared, ref)
        now = find_ref(root, source_id)
        if now is None or now.key != cut.ref.key:
            raise lost_source(source_id, cut.number)
        note_beginning(data)
        data.write(chunk_name(1), tail.lines.bytes())
        write_marker(root, ref, by=data)
    except Exception:
        data.close()
        with suppress(StoreError):  # then the doctor finds it
            release(root, ref.key, shared)
        raise
    return ref, tail, data


def note_beginning(data: Folder) -> None:
    """Say durably that the ref is to come: of a fork, or an import, no count of saves tells that it was cut off."""
    data.put(BEGINNING, b"")
    data.sync()


def note_begun(data: Folder) -> None:
    """The ref is there. Not flushed, nor insisted on: the next owner of the run sweeps the note."""
    with suppress(StoreWriteError):
        data.unlink(BEGINNING)


def lost_source(source_id: str, number: int) -> RunNotFoundError:
    return RunNotFoundError(f"save {number} of run {source_id!r} is not kept", hint="see what is: lovia history RUN")


def _prepared(root: Root, run_id: str, cut: Cut, forked: Save) -> tuple[Ref, Tail]:
    """The fork's ref and first chunk as they will be written."""
    chunk, ref = cut.chunk, Ref.new(run_id, new_key(run_id))
    tail = Tail(
        run_id,
        ref.key,
        first=chunk.first,
        status=chunk.status,
        entries=chunk.entries,
        prev=chunk.prev,
        sets=None if chunk.sets is None else dict.fromkeys(chunk.sets, 0),
        base=_base(cut),
        heads=heads_before(root, chunk),
        own=forked.number,
    )
    for record in chunk.records:
        if record["save"] <= cut.number:
            tail.add_record(record)
    tail.add(codec.encode_save(forked), forked)
    head = head_at(root, cut)
    apply_head(head, forked)
    ref.advance(forked.number, forked.step, forked.at, head_to_json(head))
    return ref, tail


def _base(cut: Cut) -> dict[str, object] | None:
    """The last chunk that the fork shares: the one before the cut, which no one replaces any more."""
    chunk = cut.chunk
    if chunk.n == 1:
        return chunk.base
    return {"id": chunk.header["id"], "key": chunk.header["key"], "chunk": chunk.n - 1}


def mark(root: Root, key: str, fork: Ref) -> None:
    """Say durably that ``fork`` reads the data ``key``."""
    with root.make_folder("data", key, FORKS) as marks:
        marks.write(f"{fork.key}.json", codec.encode({"kind": "fork", "id": fork.run_id, "key": fork.key}))


def readers(root: Root, key: str) -> list[str]:
    """The data folders of the forks that read the data ``key``. A mark of one that is gone is none."""
    with root.open_folder("data", key, FORKS) as marks:
        names = list(marks.records()) if marks else []
    return [name for name in names if is_key(name) and os.path.isdir(root.part("data", name))]


def release(root: Root, key: str, base: str | None = None) -> None:
    """No ref names the data ``key`` any more: it goes, unless forks read it. What it shared goes when it was last.

    ``base`` is the data it shares, for a caller that knows it. That is let go of first: as long as the folder stands,
    its first chunk tells whoever goes on after a crash.
    """
    with root.open_folder("data", key) as folder:
        if folder is None or _stays(root, folder, key):
            return
        base = base or shared_key(folder)
    if base:
        with root.open_folder("data", base, FORKS) as marks:
            if marks and marks.unlink(f"{key}.json"):
                marks.sync()
        if os.path.lexists(root.part("data", base, DROPPED)):
            release(root, base)
    remove_folder(root.part("data", key), last=DROPPED)  # by which the last fork knows it, after a crash too
    with root.open_folder("data") as data:
        if data:
            data.sync()  # or it may come back when the power fails, without the ref that is unlinked next


def _stays(root: Root, folder: Folder, key: str) -> bool:
    """True while forks read the data, which says then that it is dropped. Who goes unmarks first, and looks then."""
    if not readers(root, key):
        return False
    if DROPPED not in folder.names():
        folder.write(DROPPED, codec.encode({"kind": "dropped", "key": key}))
    return bool(readers(root, key))


def shared_key(folder: Folder) -> str | None:
    """The data that the fork in this folder goes on from, as far as its first chunk can be read."""
    key = os.path.basename(folder.path)
    with suppress(StoreError):
        first: Chunk | None = read_chunk(folder, None, key, 1)
        return base_of(first)[1] if first and first.base else None
    return None
