"""Which run's a log may be, where its own row does not tell: what all the others say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from sqlite3 import Connection
from typing import Any

from stores import codec
from stores.errors import StoreDamagedError, StoreError
from stores.sqlite.checksums import fetch
from stores.sqlite.rows import read_row
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS

_FIRST = "SELECT s.data FROM lovia_logs l JOIN lovia_saves s ON s.log = l.log AND s.number = l.upto + 1"
_LETTERS = [chr(n) for n in range(32, 127)]


def owner_of(connection: Connection, number: int) -> str | None:
    """The run that has the log, as the row of a run says that is whole."""
    for (run_id,) in fetch(connection, "SELECT run_id FROM lovia_runs WHERE log = ?", (number,)):
        with suppress(StoreDamagedError):
            if row := read_row(connection, run_id, where=""):
                return row.run_id
    return None


def names_of(connection: Connection, number: int, row: tuple[Any, ...] | None, owner: str | None) -> Iterator[str]:
    """The run that the log is likely to be of, the surest first: as the row of a run says, or the log's own."""
    said = fetch(connection, "SELECT run_id FROM lovia_runs WHERE log = ?", (number,))
    for name in dict.fromkeys([owner, *(name for (name,) in said), row[1] if row else None]):
        if name := name.decode("utf-8", "replace") if isinstance(name, bytes) else name:
            yield str(name)


def all_names(connection: Connection, number: int, likely: list[str]) -> Iterator[str]:
    """Every run that the log can be of: the ``likely``, those that say they were forked from it, and all that are
    known, which are only looked for when it is none of these."""
    yield from likely
    forked = fetch(connection, f"{_FIRST} WHERE l.base = ?", (number,))
    yield from dict.fromkeys(name for (data,) in forked if (name := parent_of(data)))
    yield from known_runs(connection)


def known_runs(connection: Connection) -> set[str]:
    """The ids of all runs that anything names: their rows and lines, the runs they began from, and segments."""
    queries = [f"SELECT run_id FROM {table}" for table in ("lovia_runs", "lovia_lines", "lovia_logs")]
    with suppress(StoreError):
        if version_of(connection, SESSIONS, where=""):
            queries.append("SELECT run_id FROM lovia_segments")
    found = {name for query in queries for (name,) in fetch(connection, query)}
    said = fetch(connection, f"SELECT data FROM lovia_lines UNION ALL {_FIRST} WHERE l.upto")
    found |= {parent_of(data) for (data,) in said}
    return {name for name in found if isinstance(name, str)}


def parent_of(data: Any) -> str | None:
    """The run that a run's line, or its first save, says that it was forked from."""
    with suppress(ValueError, TypeError, LookupError, AttributeError):
        said = codec.loads(data)
        found = said.get("head", said)["parent"]["run_id"]
        return found if isinstance(found, str) else None
    return None


def near(said: object) -> Iterator[str]:
    """The ids that differ from that one in a single letter: a bit that changed makes no other."""
    if isinstance(said, str):
        yield from (said[:n] + letter + said[n + 1 :] for n in range(len(said)) for letter in _LETTERS)
