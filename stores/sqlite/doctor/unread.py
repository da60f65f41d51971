"""What a removed run or session has left, and nobody reads: it could not be told then who reads it.

It goes aside, and is not deleted: what was made again may have been of a run or a session that nobody removed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from sqlite3 import Connection

from stores.sqlite import logs
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.quarantine import set_aside
from stores.sqlite.strands import COLUMNS, DROPPED, Strand, as_written, readers

_WHY = "nobody reads it"


def unread_logs(connection: Connection) -> Iterator[tuple[logs.Log, float]]:
    """Those that no run has any more, with saves that nobody reads, the newest first, and the last save that is read,
    or less than any."""
    found = logs.forks(connection)
    if found is None:
        return
    rows = fetch(connection, f"SELECT {logs.COLUMNS} FROM lovia_logs WHERE dropped = 1 ORDER BY log DESC")
    for log in filter(None, map(logs.as_written, rows)):
        last = max((fork.upto for fork in found.get(log.number, [])), default=-math.inf)
        behind = "SELECT 1 FROM lovia_saves WHERE log = ? AND number > ? LIMIT 1"
        if last < 0 or fetch(connection, behind, (log.number, last)):
            yield log, last


def log_aside(connection: Connection, number: int, *, aside: str) -> str | None:
    """Move what nobody reads of the log aside, in the transaction that is open, and say so; then what it went on from,
    if nobody else reads that."""
    base: int | None = number
    while found := next((one for one in unread_logs(connection) if one[0].number == base), None):
        log, last = found
        set_aside(connection, "lovia_saves", "log = ? AND number > ?", log.number, last, why=_WHY)
        if last > 0:
            return f"it was moved aside into {aside}"
        set_aside(connection, "lovia_logs", "log = ?", log.number, why=_WHY)
        base = log.base
    return None if base == number else f"it was moved aside into {aside}"


def unread_strands(connection: Connection) -> Iterator[Strand]:
    """Those that no session has any more, of which it can be told, the newest first."""
    query = (
        f"SELECT {COLUMNS} FROM lovia_strands WHERE state = ?"
        " AND strand NOT IN (SELECT base FROM lovia_strands WHERE base IS NOT NULL) ORDER BY strand DESC"
    )
    for strand in filter(None, map(as_written, fetch(connection, query, (DROPPED,)))):
        if readers(connection, strand.number) == []:
            yield strand


def strand_aside(connection: Connection, number: int, *, aside: str) -> str | None:
    """The same of a strand and its segments."""
    base: int | None = number
    while strand := next((one for one in unread_strands(connection) if one.number == base), None):
        for table in ("lovia_segments", "lovia_strands"):
            set_aside(connection, table, "strand = ?", strand.number, why=_WHY)
        base = strand.base
    return None if base == number else f"it was moved aside into {aside}"
