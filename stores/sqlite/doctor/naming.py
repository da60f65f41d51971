"""Which run's a log may be, where its own row does not tell: what all the others say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from stores.errors import StoreDamagedError, StoreError
from stores.sqlite.checksums import fetch
from stores.sqlite.rows import read_row
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS

if TYPE_CHECKING:
    from sqlite3 import Connection

_LETTERS = [chr(n) for n in range(32, 127)]


def owners(connection: Connection, *, where: str) -> dict[int, str]:
    """By log, the run that has it, as the rows of runs say that are whole."""
    found = {}
    for (run_id,) in fetch(connection, "SELECT run_id FROM lovia_runs"):
        with suppress(StoreDamagedError):
            if row := read_row(connection, run_id, where=where):
                found[row.log] = row.run_id
    return found


def names_of(connection: Connection, number: int, row: tuple[Any, ...] | None, live: dict[int, str]) -> Iterator[str]:
    """The run that the log is likely to be of, the surest first: as the row of a run says, or the log's own."""
    if number in live:
        yield live[number]
    said = fetch(connection, "SELECT run_id FROM lovia_runs WHERE log = ?", (number,))
    for name in [*(name for (name,) in said), row[1] if row else None]:
        if name := name.decode("utf-8", "replace") if isinstance(name, bytes) else name:
            yield str(name)


def known_runs(connection: Connection) -> set[str]:
    """The ids of all runs that anything names: their rows and lines, the runs they began from, and segments."""
    queries = [f"SELECT run_id FROM {table}" for table in ("lovia_runs", "lovia_lines", "lovia_logs")]
    with suppress(StoreError):
        if version_of(connection, SESSIONS, where=""):
            queries.append("SELECT run_id FROM lovia_segments")
    found = {name for query in queries for (name,) in fetch(connection, query)}
    first = "SELECT s.data FROM lovia_logs l JOIN lovia_saves s ON s.log = l.log AND s.number = l.upto + 1 WHERE l.upto"
    for (data,) in fetch(connection, f"SELECT data FROM lovia_lines UNION ALL {first}"):
        with suppress(ValueError, TypeError, AttributeError):
            said = orjson.loads(data)
            found.add((said.get("head", said).get("parent") or {}).get("run_id"))
    return {name for name in found if isinstance(name, str)}


def near(said: object) -> Iterator[str]:
    """The ids that differ from that one in a single letter: a bit that changed makes no other."""
    if isinstance(said, str):
        yield from (said[:n] + letter + said[n + 1 :] for n in range(len(said)) for letter in _LETTERS)
