"""What proves a log's row beside its own checksum: the first of its saves covers the save that it goes on from, and the
run that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stores.sqlite.checksums import fetch, save_sum
from stores.sqlite.logs import Log

if TYPE_CHECKING:
    from sqlite3 import Connection


def is_proven(connection: Connection, log: Log) -> bool:
    """True when the first save of the log was written by its run, behind save ``upto`` of its base."""
    query = (
        "SELECT number, status, entries, CAST(data AS BLOB), sets, sum FROM lovia_saves"
        " WHERE log = ? AND typeof(number) = 'integer' ORDER BY number LIMIT 1"
    )
    for number, status, entries, data, sets, total in fetch(connection, query, (log.number,)):
        before = "" if log.base is None else _sum_at(connection, log.base, log.upto)
        is_next = before is not None and number == log.upto + 1
        return is_next and total == save_sum(before or "", log.run_id, number, status, entries, data, sets)
    return False


def _sum_at(connection: Connection, log: int, number: int) -> str | None:
    found = fetch(connection, "SELECT sum FROM lovia_saves WHERE log = ? AND number = ?", (log, number))
    return found[0][0] if found else None


def seal(connection: Connection) -> None:
    """Give every log's row its checksum, as far as its saves and the rows of runs prove what it says."""
    live = {log for (log,) in fetch(connection, "SELECT log FROM lovia_runs")}
    for row in fetch(connection, "SELECT log, run_id, base, upto, dropped FROM lovia_logs"):
        log = Log(*row)
        is_of_a_run = log.number in live
        if log.dropped == (not is_of_a_run) and isinstance(log.upto, int) and is_proven(connection, log):
            # Its sum alone: SQLite refuses to write a log again that goes on from one that is gone.
            connection.execute("UPDATE lovia_logs SET sum = ? WHERE log = ?", (log.sum, log.number))
