"""Keeping what a trim is about to cut (M2)."""

from __future__ import annotations

from collections.abc import Iterable

from stores.protocols import ResultStore
from stores.surgery import Cut


async def archive_first(cuts: Iterable[Cut], archive: ResultStore | None) -> list[Cut]:
    """The cuts that may be made now: all, or with an ``archive`` those whose whole output it holds for good.

    An output that was cut before is whole nowhere else: there is nothing of it to archive.
    """
    return [cut for cut in cuts if archive is None or cut.whole is None or await archive.put(cut.reference, cut.whole)]
