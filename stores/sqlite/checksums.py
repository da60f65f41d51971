"""What tells that a row still is what was written: SQLite keeps pages, but does not know their content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from sqlite3 import Connection


def checksum(*values: object, texts: tuple[bytes, ...] = ()) -> str:
    """64 hexadecimal digits over a row's values and their types, and its long ``texts``.

    A value may be anything that SQLite gives back for a damaged row: it is then no other row's either.
    """
    sizes = [len(text) if isinstance(text, bytes) else None for text in texts]
    digest = hashlib.sha256(orjson.dumps((values, sizes), default=repr))
    for text in texts:
        digest.update(text if isinstance(text, bytes) else b"")
    return digest.hexdigest()


def save_sum(
    before: str, run_id: str, number: int, status: str, entries: int, data: bytes, sets: str | None = None
) -> str:
    """A save's, which covers that of the one ``before`` it, and the run that wrote it."""
    noted = () if sets is None else (sets,)
    return checksum(before, run_id, number, status, entries, *noted, texts=(data,))


def put(connection: Connection, table: str, columns: str, values: tuple[object, ...]) -> None:
    """Write the row with its checksum, which is the last of the ``columns`` and none of the values, or write it again:
    never in two steps, since what names a row goes with it. The first column is its key."""
    names = columns.split(", ")
    connection.execute(
        f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))}) ON CONFLICT ({names[0]})"
        f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in names[1:])}",
        (*values, checksum(*values)),
    )


def fetch(connection: Connection, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
    """All rows. Text that is no UTF-8 any more comes too, somehow: its checksum tells, and the other rows are well."""
    try:
        return connection.execute(query, values).fetchall()
    except connection.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.text_factory = str
