"""What the doctor does alike for the rows of logs and of strands: each says what one goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stores.sqlite.doctor.quarantine import copy_aside
from stores.sqlite.logs import Log
from stores.sqlite.strands import Strand

if TYPE_CHECKING:
    from sqlite3 import Connection

Row = tuple[Any, ...]

_WHY = "it was damaged"


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


def diagnoses(
    damaged: Iterable[Row], missing: Iterable[int], tell: Callable[[Any, Row | None], Diagnosis]
) -> list[Diagnosis]:
    """What ``tell`` says of each, in the order of their numbers: what another goes on from is older.

    A row whose number is what changed is missing under that, and told of once.
    """
    found = [tell(row[0], row) for row in damaged]
    moved = {one.restored.number for one in found if one.restored}
    found += [tell(number, None) for number in missing if number not in moved]
    return sorted(found, key=lambda one: one.restored.number if one.restored else one.number)


def put_right(connection: Connection, table: str, key: str, found: Diagnosis, *, aside: str) -> str:
    """Put the row right, in the transaction that is open, and say what was done."""
    copy_aside(connection, table, _WHY, f"{key} = ?", found.number)
    if found.restored is None or found.restored.number != found.number:
        connection.execute(f"DELETE FROM {table} WHERE {key} = ?", (found.number,))
    if found.restored is not None:
        found.restored.put(connection)
    return found.done(aside)
