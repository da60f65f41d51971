"""Strands that no session has any more and nobody reads: left by whoever removed a session while it could not be told
who reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from sqlite3 import Connection

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.quarantine import set_aside
from stores.sqlite.strands import DROPPED, Strand, readers, strand_at

_WHY = "nobody reads it"


def unread(connection: Connection) -> Iterator[Strand]:
    """Those of which it can be told, the newest first."""
    query = (
        "SELECT strand FROM lovia_strands WHERE state = ?"
        " AND strand NOT IN (SELECT base FROM lovia_strands WHERE base IS NOT NULL) ORDER BY strand DESC"
    )
    for (number,) in fetch(connection, query, (DROPPED,)):
        with suppress(StoreDamagedError):
            strand = strand_at(connection, number, where="")
            if strand and readers(connection, number) == []:
                yield strand


def mend(connection: Connection, number: int, *, aside: str) -> str | None:
    """Move the strand and its segments aside, in the transaction that is open, and say so; then what it went on from,
    if nobody else reads that.

    They are not deleted: a strand that was made again may have been of a session that nobody removed.
    """
    base: int | None = number
    while strand := next((one for one in unread(connection) if one.number == base), None):
        for table in ("lovia_segments", "lovia_strands"):
            set_aside(connection, table, _WHY, "strand = ?", strand.number)
        base = strand.base
    return None if base == number else f"it was moved aside into {aside}"
