"""What may be wrong with a run, and how it is put right from the saves that are left.

A save of which one value changed beside what it holds is found again. Any other that is damaged takes those after it
along: what they hold follows from it. The run goes back to the save before, and all that was cut off is in the
quarantine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from sqlite3 import Connection

from stores import codec
from stores.entries import JSON, UnknownEntryError
from stores.errors import StoreDamagedError, StoreError, StoreVersionError
from stores.findings import CAN_ANSWER, answers, lost_run
from stores.records import Save, Status
from stores.sqlite.checksums import fetch
from stores.sqlite.doctor.check_save import Changed, changed_save
from stores.sqlite.doctor.finished import finished_run, write_again
from stores.sqlite.doctor.life import Life, life_of
from stores.sqlite.doctor.quarantine import Lost, copy_aside, set_aside
from stores.sqlite.logs import COLUMNS, Log, as_written, drop_log, pieces
from stores.sqlite.rows import DELETED, RunRow, read_line, read_row, update_line
from stores.sqlite.saves import read_saves

_WHY = "it was damaged, or followed what was"
_EVERY_RUN = "SELECT run_id FROM lovia_runs"
_LIVE = f"SELECT {COLUMNS} FROM lovia_logs WHERE dropped = 0"
_WITH_LOGS = ("lovia_logs", "lovia_runs")


@dataclass(slots=True)
class Diagnosis:
    """What is wrong with a run. ``restored`` is its row, and ``head`` the head fields, as the whole saves have them.

    ``shared`` is the last save that a fork shares with its source.
    ``is_cut``: there are saves that are not whole, or that no whole save leads to; ``changed`` is the first of them, if
    it can be told what it was: then what is wrong behind it shows when it is right. ``finished`` is
    what its session holds of the run, where that has what they lack; ``untold`` is why that cannot be told yet.
    """

    run_id: str
    restored: RunRow
    problems: list[str] = field(default_factory=list)
    row: RunRow | None = None
    head: dict[str, JSON] = field(default_factory=dict)
    shared: int = 0
    can_mend: bool = True
    is_cut: bool = False
    changed: Changed | None = None
    life: Life = field(default_factory=Life)
    finished: Save | None = None
    untold: StoreError | None = None

    @property
    def is_finished(self) -> bool:
        return self.finished is not None

    @property
    def session_id(self) -> str | None:
        """Where its segment is, as the row says, or else what is left of its saves."""
        return (self.row or self.restored).session_id

    @property
    def is_lost(self) -> bool:
        is_kept = self.is_finished or self.changed or (self.restored.save and not self.is_lost_fork)
        return self.can_mend and not is_kept

    @property
    def loses(self) -> bool:
        """True when not all of it can be kept."""
        return self.is_lost or (self.can_mend and self.is_cut and not self.is_finished)

    @property
    def is_lost_fork(self) -> bool:
        """No save of the fork's own can be kept: what is left is a part of its source, in its source's session."""
        return self.is_cut and 0 < self.restored.save <= self.shared

    @property
    def outlook(self) -> str:
        """What mending can do."""
        return self._told()[0] if self.can_mend else ""

    def done(self, aside: str) -> str:
        """What mending has done; what could not be kept is in ``aside``."""
        return self._told(aside)[1]

    def _told(self, aside: str = "") -> tuple[str, str]:
        """What mending comes to, as what can be done and as what was done."""
        run, moved = f"run {self.run_id!r}", f"moved aside into {aside}"
        if self.changed:
            again = "made again as it was written"
            return f"it can be {again}", f"it was {again}; what was there was {moved}"
        if self.is_finished:
            return CAN_ANSWER, answers(self.run_id, moved)
        if self.is_lost_fork:
            can = f"no save of its own is left of fork {self.run_id!r}; it would go aside as a whole"
            return can, Lost(f"fork {self.run_id!r} cannot be kept without it: it was {moved}, and its id is free")
        if self.is_lost:
            return lost_run(self.run_id), Lost(lost_run(self.run_id, moved))
        if self.is_cut:
            saves, repeats = f"saves 1 to {self.restored.save}", "calls whose results are in none of them run again"
            repeats = "" if self.restored.is_deleted else f"; {repeats}"
            more = f"{repeats}{self.life.why}"
            return f"{saves} can be kept{more}", f"{saves} of {run} were kept{more}; what was there was {moved}"
        whose = f", of session {self.restored.session_id!r}" if self.row is None and self.restored.session_id else ""
        can = "it can be made from the saves"
        return f"{can}{self.life.why}", f"made again from the saves of {run}{whose}{self.life.why}"


def run_ids(connection: Connection) -> list[str]:
    """The runs to look at: those with a row that is whole, and those of the logs that no such row names."""
    rows = [_whole_row(connection, run_id) for (run_id,) in fetch(connection, _EVERY_RUN)]
    whole = {row.log: row.run_id for row in rows if row}
    named = {log.run_id for log in _live_logs(connection) if log.number not in whole}
    return sorted({*whole.values(), *named})


def _live_logs(connection: Connection) -> list[Log]:
    """The logs that a run has, or should have, as far as their rows are whole."""
    return [log for row in fetch(connection, _LIVE) if (log := as_written(row))]


def is_reached(connection: Connection, run_id: str) -> bool:
    """True when all that says where its saves are is whole, and there."""
    row = _whole_row(connection, run_id)
    log = row.log if row else _newest_log(connection, run_id)
    try:
        return log is not None and bool(pieces(connection, run_id, log, where=""))
    except StoreDamagedError:
        return False


def _newest_log(connection: Connection, run_id: str) -> int | None:
    rows = fetch(connection, f"{_LIVE} AND run_id = ? ORDER BY log DESC", (run_id,))
    return next((log.number for row in rows if (log := as_written(row))), None)


def stray_rows(connection: Connection) -> Iterator[tuple[str, str]]:
    """Rows that belong to no run that is looked at: what each is, and the table and condition that select it."""
    query = "SELECT rowid, run_id FROM lovia_runs WHERE run_id NOT IN (SELECT run_id FROM lovia_logs)"
    query += " AND log NOT IN (SELECT log FROM lovia_logs WHERE dropped = 0)"  # of a run that lacks it, it tells more
    for rowid, run_id in fetch(connection, query):
        if _whole_row(connection, run_id) is None:
            yield f"the row of run {run_id!r} is not what was written", f"lovia_runs WHERE rowid = {rowid}"
    query = "SELECT rowid, run_id FROM lovia_lines WHERE run_id NOT IN (SELECT run_id FROM lovia_runs)"
    for rowid, run_id in fetch(connection, query):
        yield f"a line of run {run_id!r}, which is not there", f"lovia_lines WHERE rowid = {rowid}"


def stray_saves(connection: Connection) -> Iterator[tuple[str, str]]:
    """The same of saves."""
    for log, rowid in fetch(connection, "SELECT log, min(rowid) FROM lovia_saves GROUP BY log"):
        if not any(fetch(connection, f"SELECT 1 FROM {table} WHERE log = ?", (log,)) for table in _WITH_LOGS):
            same = f"lovia_saves WHERE log IN (SELECT log FROM lovia_saves WHERE rowid = {rowid})"
            yield f"saves of log {log!r}, which no run names", same


def _whole_row(connection: Connection, run_id: str) -> RunRow | None:
    try:
        return read_row(connection, run_id, where="")
    except StoreDamagedError:
        return None


def examine(connection: Connection, run_id: str) -> Diagnosis:
    """Look at everything that belongs to the run."""
    found = Diagnosis(run_id, RunRow(run_id=run_id, log=_newest_log(connection, run_id) or 0))
    try:
        found.row = read_row(connection, run_id, where="")
        if found.row is None:
            found.problems.append(f"the row of run {run_id!r} is missing")
    except StoreDamagedError as error:
        found.problems.append(error.message)
    if found.row:
        found.restored.log = found.row.log
    query = "SELECT upto FROM lovia_logs WHERE log = ? AND base IS NOT NULL AND typeof(upto) = 'integer'"
    found.shared = next((upto for (upto,) in fetch(connection, query, (found.restored.log,))), 0)
    _go_through(connection, found, found.restored)
    if not found.changed:
        _look_at_line(connection, found)
        _look_at_end(connection, found)
    return found


def _go_through(connection: Connection, found: Diagnosis, restored: RunRow) -> None:
    """Bring ``restored`` from save to save, up to the first that is not whole."""
    query = "SELECT max(number) FROM lovia_saves WHERE log = ? AND typeof(number) = 'integer'"
    newest = connection.execute(query, (restored.log,)).fetchone()[0]
    last = max(found.row.save if found.row else 0, newest or 0)
    try:
        for saved, record in read_saves(connection, RunRow(run_id=found.run_id, log=restored.log), 1, last, where=""):
            save = codec.decode_save(record, where="", run_id=found.run_id)
            restored.advance(save)
            restored.last = saved.sum
            found.head.update(save.head)
    except UnknownEntryError as error:
        found.problems.append(error.message)
        found.can_mend = False
        return
    except StoreDamagedError as error:
        found.problems.append(error.message)
        newest = found.row.last if found.row and found.row.save == restored.save + 1 else ""
        found.changed = changed_save(connection, restored, newest)
        found.is_cut = found.changed is None
    if found.row and not found.problems and (found.row.save, found.row.last) != (restored.save, restored.last):
        found.problems.append(f"the row of run {found.run_id!r} is of save {found.row.save}")
    found.life = Life(found.row, found.row.is_deleted) if found.row else life_of(connection, restored)
    # A run that goes back is no longer what was settled; its session shall see it.
    written = found.life.row
    restored.settled = written.settled if written and restored.last == written.last else 0
    restored.status = DELETED if found.life.is_deleted else restored.status


def _look_at_line(connection: Connection, found: Diagnosis) -> None:
    if found.row is None:
        return
    try:
        read_line(connection, found.run_id, where="")
    except StoreDamagedError as error:
        found.problems.append(error.message)


def _look_at_end(connection: Connection, found: Diagnosis) -> None:
    """A run whose segment is in its session is completed (R4)."""
    kept = found.restored
    if not found.can_mend or kept.status == DELETED:
        return
    if kept.status == Status.COMPLETED and not found.is_lost_fork:
        return
    try:
        found.finished = finished_run(connection, found.run_id, found.session_id)
    except StoreVersionError as error:
        found.can_mend = False
        found.problems = [f"{what}; left alone: {error.message}" for what in found.problems]
    except StoreError as error:
        found.untold = error
    if found.is_finished and not found.problems:
        found.problems.append(f"the checkpoint of run {found.run_id!r} breaks off before its end")


def mend(connection: Connection, run_id: str, *, aside: str) -> str | None:
    """Put the run right, in the transaction that is open, and say what was done.

    What it loses is in the quarantine, or, in a file that was made of a damaged one, in that one: ``aside``.
    """
    found = examine(connection, run_id)
    if found.changed:
        return _mend_saves(connection, found, aside)
    if not found.problems or not found.can_mend:
        return "it is whole again" if found.can_mend else None
    if found.untold:
        raise found.untold  # what is left of the run may be needed no longer, or be all there is
    restored = found.restored
    copy_aside(connection, "lovia_runs", "run_id = ?", run_id, why=_WHY)
    set_aside(connection, "lovia_lines", "run_id = ?", run_id, why=_WHY)
    set_aside(connection, "lovia_saves", "log = ? AND number > ?", restored.log, restored.save, why=_WHY)
    set_aside(connection, "lovia_runs", "log = ? AND run_id IS NOT ?", restored.log, run_id, why=_WHY)
    connection.execute("DELETE FROM lovia_runs WHERE run_id = ?", (run_id,))
    if found.is_lost or found.is_finished:
        copy_aside(connection, "lovia_saves", "log = ?", restored.log, why=_WHY)
        drop_log(connection, restored.log, run_id, where="")
        if found.finished:
            write_again(connection, run_id, found.finished)
        return found.done(aside)
    restored.insert(connection)
    update_line(connection, run_id, found.head, where="")
    return found.done(aside)


def _mend_saves(connection: Connection, found: Diagnosis, aside: str) -> str:
    """Put every save right of which it can be told what it was. What else is wrong with the run shows then."""
    done = found.done(aside)
    while found.changed:
        found.changed.put(connection)
        found = examine(connection, found.run_id)
    return done
