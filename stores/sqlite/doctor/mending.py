"""How the doctor changes anything: each change is one transaction, on tables of this version."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from sqlite3 import Connection

from stores.errors import StoreVersionError
from stores.sqlite.database import Database
from stores.sqlite.doctor.quarantine import QUARANTINE
from stores.sqlite.rows import RUNS
from stores.sqlite.schema import Part, bring_up, version_of
from stores.sqlite.segments import SESSIONS


def bring_up_all(connection: Connection) -> None:
    """Migrate the other parts too, in the transaction that is open: runs and sessions tell what the other has lost."""
    for part in (RUNS, SESSIONS):
        with suppress(StoreVersionError):
            if version_of(connection, part, where=""):
                bring_up(connection, part, where="")


def in_one(
    database: Database,
    part: Part,
    aside: str,
    change: Callable[..., str | None],
    name: object,
    *,
    are_linked: bool = True,
) -> str | None:
    """The change of what has that name in that part, and what it puts into the quarantine, in one transaction; what it
    says it has done. What is lost remains ``aside``.

    Rows that are not ``are_linked`` may name others that are not there yet, and nothing goes with one that goes.
    """
    with database.looking() as connection:
        if connection:
            connection.execute(f"PRAGMA foreign_keys = {'ON' if are_linked else 'OFF'}")
    with database.writing(QUARANTINE) as connection:
        bring_up(connection, part, where="")
        bring_up_all(connection)
        return change(connection, name, aside=aside)
