"""A run's records, as a store reads them back, made into what the protocols give: a snapshot, or a history.

A record is the JSON object that `codec.encode_save` wrote. `fold_records` gives the same as `records.fold` of
the saves, without making them: a long run loads twice as fast.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from stores import codec
from stores.entries import JSON, Entry, in_call_order
from stores.errors import StoreDamagedError
from stores.lines import SaveInfo
from stores.records import RunHead, RunSnapshot, apply_head


@contextmanager
def without_collections() -> Iterator[None]:
    """No garbage is looked for: a load or a listing makes many objects and no cycles, and it would be a third of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def fold_records(run_id: str, batches: Iterable[tuple[str, list[dict[str, Any]]]]) -> RunSnapshot | None:
    """The snapshot after the last record; None when there are none.

    A batch is where its records stand, as errors name it, and the records, oldest first.
    """
    head: dict[str, JSON] = {}
    entries: list[Entry] = []
    last: tuple[str, dict[str, Any]] | None = None
    with without_collections():
        for where, records in batches:
            entries = entries_with(entries, records, where=where, run_id=run_id)
            for record in records:
                head.update(record.get("head") or ())
                last = where, record
    if last is None:
        return None
    where, record = last
    newest = codec.decode_save({**record, "head": head, "entries": ()}, where=where, run_id=run_id)
    state = RunHead()
    apply_head(state, newest)
    return RunSnapshot(run_id=run_id, head=state, entries=in_call_order(entries))


def entries_with(entries: list[Entry], records: Iterable[dict[str, Any]], *, where: str, run_id: str) -> list[Entry]:
    """``entries``, which are used up, and what the records made of them, as recorded."""
    rows: list[dict[str, JSON]] = []
    for record in records:
        if (keep := record.get("keep")) is not None:
            entries = in_call_order(entries + codec.decode_entries(rows, where=where, run_id=run_id))[:keep]
            rows = []
        rows += record.get("entries", ())
    entries += codec.decode_entries(rows, where=where, run_id=run_id)
    return entries


def save_info(record: dict[str, Any], status: str, entries: int, *, where: str) -> SaveInfo:
    """The record's row of a history; ``status`` and ``entries`` are those after it."""
    try:
        return SaveInfo(
            number=record["save"],
            step=record["step"],
            at=record["at"],
            status=status,
            event=record["event"],
            entries=entries,
            info=record.get("info") or {},
        )
    except KeyError as error:
        raise StoreDamagedError(f"a save lacks {error}", where=where) from error
