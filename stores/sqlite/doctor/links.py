"""What the doctor does alike for the rows of logs and of strands: each says what one goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from sqlite3 import Connection
from typing import Any

from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.quarantine import copy_aside
from stores.sqlite.logs import Log
from stores.sqlite.strands import Strand

Row = tuple[Any, ...]

MOST = 100_000
"""How much is tried for one row, or for one value of it, at the most: a second's work or a few."""


def with_one_changed(values: Row, could_be: Iterable[Iterable[Any]]) -> Iterator[Row]:
    """The values of a row, each time with one of them as it could have been."""
    for place, candidates in enumerate(could_be):
        yield from ((*values[:place], value, *values[place + 1 :]) for value in candidates)


def is_named(connection: Connection, named: tuple[str, ...], number: Any) -> bool:
    """True when there is a row that names it, in one of these tables and columns."""
    return any(fetch(connection, f"SELECT 1 FROM {one} = ? LIMIT 1", (number,)) for one in named)


@dataclass(slots=True, frozen=True)
class Diagnosis:
    """What is wrong with the row of that ``number``, and what can be written in its place, told by ``how``.

    None: there is ``no_need``. ``row`` is what is there. ``doubt`` is what cannot be told.
    """

    number: Any
    what: str
    row: Row | None
    restored: Log | Strand | None = None
    how: str = ""
    doubt: str = ""
    no_need: str = "nothing needs it"

    @property
    def place(self) -> Any:
        """The number that its row has, or should have."""
        return self.restored.number if self.restored else self.number

    @property
    def run_id(self) -> str | None:
        """The run that has the log, and may be executed just now."""
        log = self.restored
        return log.run_id if isinstance(log, Log) and not log.dropped else None

    @property
    def outlook(self) -> str:
        """What mending can do."""
        again = f"it can be made again {self.how}{self.doubt}"
        return again if self.restored else f"{self.no_need}, and it would go aside"

    def done(self, aside: str) -> str:
        """What mending has done; what stood there is in ``aside``."""
        if self.restored is None:
            return f"{self.no_need}: it was moved aside into {aside}"
        moved = f"; what was there was moved aside into {aside}" if self.row else ""
        return f"it was made again {self.how}, for {self.restored.whose}{self.doubt}{moved}"


@dataclass(slots=True, frozen=True)
class Links:
    """A table of such rows. Of its ``columns`` the first is the number; ``as_written`` is what a row says, if whole.

    ``missing`` are the numbers that should have a row, and have none; ``named`` is where others name one. ``tell`` is
    given a number and the row that is there, if any. ``rivals`` is the condition on which another row stands in the
    way of one.
    """

    table: str
    columns: str
    as_written: Callable[[Row], Log | Strand | None]
    missing: Callable[[Connection], list[int]]
    named: tuple[str, ...]
    tell: Callable[..., Diagnosis]
    rivals: str = "0"

    def examine(self, connection: Connection) -> list[Diagnosis]:
        """Every row that is damaged or missing, in the order of their numbers: what another goes on from is older.

        A row whose number is what changed is missing under that, and told of once.
        """
        rows = fetch(connection, f"SELECT {self.columns} FROM {self.table}")
        found = [self.tell(connection, row[0], row) for row in rows if not self.as_written(row)]
        moved = {one.place for one in found}
        missing = [number for number in self.missing(connection) if number not in moved]
        found += [self.tell(connection, number, None) for number in missing]
        return sorted(found, key=lambda one: one.place)

    def mend(self, connection: Connection, number: Any, *, aside: str) -> str:
        """Put the row right, in the transaction that is open, and say what was done. No other is looked at in vain."""
        key = self.columns.partition(",")[0]
        row = next(iter(fetch(connection, f"SELECT {self.columns} FROM {self.table} WHERE {key} = ?", (number,))), None)
        if self.as_written(row) if row else not is_named(connection, self.named, number):
            return "it is whole again"
        found = self.tell(connection, number, row)
        copy_aside(connection, self.table, f"{key} = ?", number)
        query = f"SELECT {key} FROM {self.table} WHERE {self.rivals} AND {key} != :number"
        of = asdict(found.restored) if found.restored else None
        rivals = [rival for (rival,) in connection.execute(query, of).fetchall()] if of else []
        if found.restored is None or found.place != number or rivals:
            connection.execute(f"DELETE FROM {self.table} WHERE {key} = ?", (number,))
        for rival in rivals:  # it is damaged as well, or it could not stand there
            self.mend(connection, rival, aside=aside)
        if found.restored:
            found.restored.put(connection)
        return found.done(aside)
