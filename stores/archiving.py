"""Keeping what a trim is about to cut (M2)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from stores.entries import ToolResultEntry
from stores.errors import StoreError
from stores.protocols import ResultStore
from stores.references import ResultRef
from stores.surgery import Cut, is_whole_of


async def archive_first(cuts: Iterable[Cut], archive: ResultStore | None) -> list[Cut]:
    """The cuts that may be made now: all, or with an ``archive`` those whose whole output it holds for good.

    An output that was cut before is whole nowhere else: there is nothing of it to archive.
    """
    return [cut for cut in cuts if archive is None or cut.whole is None or await archive.put(cut.reference, cut.whole)]


async def missing_in(archive: ResultStore | None, cut: Iterable[tuple[ResultRef, ToolResultEntry]]) -> int:
    """How many of the results that were cut the archive does not have whole, or not so that it can be read."""
    missing = 0
    for reference, result in cut:
        output = None
        with suppress(StoreError):
            output = await archive.get(reference) if archive is not None else None
        missing += output is None or not is_whole_of(output, result)
    return missing


async def taken_in(archive: ResultStore | None, cuts: Iterable[Cut]) -> int:
    """How many outputs the archive has no place for: what it has there is another run's, and stays."""
    taken = 0
    for cut in cuts:
        kept = None
        with suppress(StoreError):
            kept = await archive.get(cut.reference) if archive is not None and cut.whole is not None else None
        taken += kept is not None and kept != cut.whole
    return taken
