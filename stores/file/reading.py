"""How readers look at a run without its lease, and its history.

Files are replaced while they are read. Each alone is whole, so a reader that finds two which do not belong
together reads again; what does not go away by that is damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from stores import codec
from stores.errors import StoreDamagedError
from stores.file.chunks import Chunk, data_folder, read_all, read_backwards, read_from
from stores.file.names import name_of
from stores.file.refs import Ref, read_ref
from stores.file.root import Root
from stores.folding import save_info
from stores.lines import SaveInfo
from stores.records import Save, Status

T = TypeVar("T")

_TRIES = 5


def steady(read: Callable[[], T]) -> T:
    """What ``read`` gives, tried again when a writer came in between."""
    for _ in range(_TRIES - 1):
        try:
            return read()
        except StoreDamagedError:
            continue
    return read()


def read_ref_of(root: Root, run_id: str) -> Ref | None:
    """The run's ref, whatever its status."""
    with root.open_folder("runs") as runs:
        return read_ref(runs, name_of(run_id))


def find_ref(root: Root, run_id: str) -> Ref | None:
    """The ref of a run that has data: one that exists, or was deleted and keeps its history."""
    ref = read_ref_of(root, run_id)
    return None if ref and ref.is_deleted and not ref.fields.get("keep") else ref


def read_run_log(root: Root, run_id: str) -> list[Save]:
    """Every save, those of a deleted run too where its history was kept."""
    ref = find_ref(root, run_id)
    found = _checked(ref, _chunks(root, ref)) if ref else ()
    rows = ((record, chunk.where) for chunk in found for record in chunk.records)
    return [codec.decode_save(record, where=where, run_id=run_id) for record, where in rows]


def _checked(ref: Ref, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """All of ``chunks``, the last one checked against the ref."""
    last: Chunk | None = None
    for last in chunks:
        yield last
    if last is not None:
        ref.check_newest(last)


def _chunks(root: Root, ref: Ref) -> Iterator[Chunk]:
    return read_all(root, ref.run_id, ref.key, ref.tail, beyond=ref.status == Status.RUNNING)


def read_history(root: Root, run_id: str, limit: int | None) -> list[SaveInfo]:
    """The newest ``limit`` saves, or all, newest first. A few of them cost the same however long the run."""
    ref = find_ref(root, run_id)
    rows: list[SaveInfo] = []
    if ref is not None and ref.history_limit is not None:
        limit = min(ref.history_limit, ref.history_limit if limit is None else limit)
    if ref is None or limit == 0:
        return rows
    for chunk in read_backwards(root, run_id, ref.key, ref.tail, beyond=ref.status == Status.RUNNING):
        if not rows:
            ref.check_newest(chunk)
        rows += reversed(_rows(chunk))
        if limit is not None and len(rows) >= limit:
            break
    return rows[:limit]


def first_kept(root: Root, ref: Ref) -> int:
    """The number of the first save that is history (H1)."""
    if ref.history_limit is None:
        return 1
    newest = brought_up(root, ref) if ref.status == Status.RUNNING else ref
    return max(newest.save - ref.history_limit + 1, 1)


def _rows(chunk: Chunk) -> list[SaveInfo]:
    """The chunk's saves as a history lists them, oldest first."""
    status, entries, rows = chunk.status, chunk.entries, []
    for record in chunk.records:
        status = (record.get("head") or {}).get("status", status)
        entries = record.get("keep", entries) + len(record.get("entries", ()))
        rows.append(save_info(record, status, entries, where=chunk.where))
    return rows


def brought_up(root: Root, ref: Ref) -> Ref:
    """The ref as the newest save has it."""
    with data_folder(root, ref.run_id, ref.key, ref.tail) as data:
        return ref.bring_up(read_from(data, ref.run_id, ref.key, ref.tail, ref.tail))
