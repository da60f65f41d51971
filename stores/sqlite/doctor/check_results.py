"""What may be wrong with archived outputs, and how they are made again from copies of them. A lost one goes to the
quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection

from stores.entries import UnknownEntryError
from stores.errors import StoreDamagedError, StoreError, StoreVersionError
from stores.promises import Promise, Shown, in_checkpoint, in_session, shown, untold
from stores.references import ResultRef
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.quarantine import Lost, copy_aside, set_aside
from stores.sqlite.results import output_at, reference_at, replace_output
from stores.sqlite.rows import RUNS, read_row
from stores.sqlite.saves import read_snapshot
from stores.sqlite.schema import version_of
from stores.sqlite.segments import SESSIONS, read_segment

NO_DAMAGE = (StoreVersionError, UnknownEntryError)
"""What a newer lovia wrote."""


@dataclass(slots=True, frozen=True)
class DamagedOutput:
    """One of them: its row, what is wrong with it, and whether there is a copy: or why that cannot be told."""

    rowid: int
    what: str
    promise: Promise | StoreError

    @property
    def can_mend(self) -> bool:
        return isinstance(self.promise, Promise)

    @property
    def is_lost(self) -> bool:
        return isinstance(self.promise, Promise) and self.promise.copy is None

    @property
    def outlook(self) -> str:
        """What mending can do."""
        if isinstance(self.promise, StoreError):
            return untold(self.promise)
        copy = self.promise.copy
        return f"it can be made again from {copy.place}" if copy else f"{self.promise.loss}; it would go aside"


def damaged_outputs(connection: Connection) -> Iterator[DamagedOutput]:
    """What is wrong with each that is damaged."""
    for (rowid,) in fetch(connection, "SELECT rowid FROM lovia_results ORDER BY run_id, step, position"):
        if found := _damaged(connection, rowid):
            yield found


def mend(connection: Connection, rowid: int, *, aside: str) -> str | None:
    """Make it again, or set it aside, in the transaction that is open, if it still is damaged, and say so."""
    found = _damaged(connection, rowid)
    if found is None or isinstance(found.promise, StoreError):
        return None
    if copy := found.promise.copy:
        copy_aside(connection, "lovia_results", "rowid = ?", rowid)
        replace_output(connection, rowid, copy.reference, copy.result.output)
        return f"it was made again from {copy.place}; what was there was moved aside into {aside}"
    set_aside(connection, "lovia_results", "rowid = ?", rowid)
    return Lost(f"{found.promise.loss}; it was moved aside into {aside}")


def _damaged(connection: Connection, rowid: int) -> DamagedOutput | None:
    try:
        output_at(connection, rowid, where="")
    except StoreDamagedError as error:
        reference = reference_at(connection, rowid)
        return DamagedOutput(rowid, error.message, _promise(connection, reference))
    return None


def _promise(connection: Connection, reference: ResultRef) -> Promise | StoreError:
    try:
        return Promise.among(one for one in _shown(connection, reference.run_id) if one.reference == reference)
    except NO_DAMAGE as error:
        return error


def _shown(connection: Connection, run_id: str) -> Iterator[Shown]:
    """The results of the run in its checkpoint, or the history that was kept of it, and in every segment of it.

    As far as they are not damaged; segments that only forks read are among them. Raises what is no damage.
    """
    with suppress(StoreDamagedError):
        row = read_row(connection, run_id, where="") if version_of(connection, RUNS, where="") else None
        run = read_snapshot(connection, row, where="") if row else None
        yield from shown(in_checkpoint(run_id), run_id, run.entries) if run else ()
    with suppress(StoreDamagedError):
        if not version_of(connection, SESSIONS, where=""):
            return
        for (rowid,) in fetch(connection, "SELECT rowid FROM lovia_segments WHERE run_id = ?", (run_id,)):
            with suppress(StoreDamagedError):
                row_of_segment = read_segment(connection, rowid, where="")
                segment = row_of_segment.segment(where="")
                yield from shown(in_session(row_of_segment.session_id), run_id, segment.entries)
