"""What may be wrong with archived outputs, and how it is put right: a damaged one goes to the quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stores.errors import StoreDamagedError
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.quarantine import Lost, set_aside
from stores.sqlite.results import output_at

if TYPE_CHECKING:
    from sqlite3 import Connection


def damaged_outputs(connection: Connection) -> Iterator[tuple[str, int]]:
    """What is wrong with each that is damaged, and its row id."""
    for (rowid,) in fetch(connection, "SELECT rowid FROM lovia_results ORDER BY run_id, step, position"):
        try:
            output_at(connection, rowid, where="")
        except StoreDamagedError as error:
            yield error.message, rowid


def mend(connection: Connection, rowid: int, *, aside: str) -> str | None:
    """Set it aside, in the transaction that is open, if it still is damaged, and say so."""
    if all(found != rowid for _, found in damaged_outputs(connection)):
        return None
    set_aside(connection, "lovia_results", "it was damaged", "rowid = ?", rowid)
    return Lost(f"it was moved aside into {aside}")
