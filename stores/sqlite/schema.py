"""Which tables a store has, which version of them a file holds, and how an older one becomes this one (D1).

A file may hold the tables of several stores, and of programs that know nothing of lovia: each part has its own row
in ``lovia_schema``, its own steps, and names that start with ``lovia_``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stores.errors import StoreDamagedError, StoreVersionError
from stores.sqlite.checksums import checksum

if TYPE_CHECKING:
    from sqlite3 import Connection

_CREATED = re.compile(r"CREATE TABLE (\w+)")
TABLE = "CREATE TABLE IF NOT EXISTS lovia_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL)"


@dataclass(frozen=True, slots=True)
class Part:
    """The tables of one store. Step n, a few statements, takes them from version n to n + 1; 0 is none at all.

    The statements may call ``lovia_sum``, which is `checksum`. What no statement can do is done after those that lead
    to a version, by what ``after`` has for it.
    """

    name: str
    steps: tuple[tuple[str, ...], ...]
    after: Mapping[int, Callable[[Connection], None]] = field(default_factory=dict, compare=False)

    @property
    def version(self) -> int:
        return len(self.steps)


def version_of(connection: Connection, part: Part, *, where: str) -> int:
    """The version of the part that the file holds; 0 when it has none.

    Raises `StoreVersionError` when a newer lovia has migrated it past what this one knows, and `StoreDamagedError` when
    there are tables of it and nothing says which version they are: they are not to be taken for none (D3).
    """
    row = None
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'lovia_schema'").fetchone():
        row = connection.execute("SELECT version FROM lovia_schema WHERE part = ?", (part.name,)).fetchone()
    if row is None and _holds_any(connection, part):
        raise StoreDamagedError(f"the row that says which version the {part.name} have is missing", where=where)
    found = row[0] if row else 0
    if not isinstance(found, int) or found < 0 or (row and not found):
        raise StoreDamagedError(f"the version of the {part.name} is {found!r}", where=where)
    if found > part.version:
        raise StoreVersionError(
            f"a newer lovia has migrated the {part.name} in this database to version {found}; "
            f"this one knows version {part.version}",
            where=where,
        )
    return found


def tables_of(part: Part) -> list[str]:
    """The names of all tables that the part has, or had in some version."""
    return [name for step in part.steps for statement in step for name in _CREATED.findall(statement)]


def _holds_any(connection: Connection, part: Part) -> bool:
    names = tables_of(part)
    query = f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ({', '.join('?' * len(names))})"
    return connection.execute(query, names).fetchone() is not None


def bring_up(connection: Connection, part: Part, *, where: str) -> None:
    """Take the part's tables to this version, in the transaction that is open: all of it or nothing."""
    found = version_of(connection, part, where=where)
    if found == part.version:
        return
    connection.create_function("lovia_sum", -1, checksum, deterministic=True)
    connection.execute(TABLE)
    for version, step in enumerate(part.steps[found:], found + 1):
        for statement in step:
            connection.execute(statement)
        if also := part.after.get(version):
            also(connection)
    connection.execute(
        "INSERT INTO lovia_schema (part, version) VALUES (?, ?) "
        "ON CONFLICT (part) DO UPDATE SET version = excluded.version",
        (part.name, part.version),
    )
