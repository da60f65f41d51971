"""What may be wrong with the rows that say which version the tables have, and how they are put right: the columns tell.

A version above all that are known here is no damage: a newer lovia may have written it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from sqlite3 import Connection

from stores.errors import StoreDamagedError, StoreVersionError
from stores.sqlite.checksums import checksum
from stores.sqlite.schema import TABLE, Part, tables_of, version_of


@dataclass(slots=True, frozen=True)
class Diagnosis:
    """What is wrong, and the version that the columns tell; None where they are those of no version."""

    part: Part
    what: str
    version: int | None


def examine(connection: Connection, parts: list[Part]) -> Iterator[Diagnosis]:
    """Every part whose version is missing, is none, or is not that of its tables."""
    for part in parts:
        try:
            version, what = version_of(connection, part, where=""), ""
        except StoreVersionError:
            continue
        except StoreDamagedError as error:
            version, what = 0, error.message
        told = _told(connection, part)
        if what or (version and told not in (None, version)):
            what = what or f"the version of the {part.name} is said to be {version}, and is {told}"
            yield Diagnosis(part, what, told)


def mend(connection: Connection, part: Part) -> str | None:
    """Write the version that the columns tell, in the transaction that is open, and say so."""
    for found in examine(connection, [part]):
        if found.version is not None:
            connection.execute(TABLE)
            query = "INSERT OR REPLACE INTO lovia_schema (part, version) VALUES (?, ?)"
            connection.execute(query, (part.name, found.version))
            return f"its columns are those of version {found.version}, which was written"
    return None


def _told(connection: Connection, part: Part) -> int | None:
    """The version whose tables have just the columns that the part's have."""
    found = _columns(connection, part)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        fresh.create_function("lovia_sum", -1, checksum)
        for version, step in enumerate(part.steps, 1):
            for statement in step:
                fresh.execute(statement)
            if _columns(fresh, part) == found:
                return version
    return None


def _columns(connection: Connection, part: Part) -> dict[str, list[str]]:
    query = "SELECT name FROM pragma_table_info(?)"
    return {table: [name for (name,) in connection.execute(query, (table,))] for table in tables_of(part)}
