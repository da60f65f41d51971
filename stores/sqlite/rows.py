"""A run's row: where the run stands after its newest save, and what a listing shows of it.

The row changes with every save, so it is small. What changes seldom and may be large (the run's config, an error)
stands in a line of its own, which is written only when it changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stores import codec
from stores.entries import JSON
from stores.errors import StoreDamagedError
from stores.lines import Damage, Owner, RunInfo, open_approvals
from stores.records import Save, Status
from stores.sqlite.checksums import checksum, fetch
from stores.sqlite.schema import Part
from stores.sqlite.sealing import seal

if TYPE_CHECKING:
    from sqlite3 import Connection

RUNS = Part(
    "runs",
    (
        (
            # A run's saves belong to a log, so that a restart is a new log, and whoever shares a log keeps it.
            "CREATE TABLE lovia_logs (log INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL)",
            "CREATE TABLE lovia_saves (log INTEGER NOT NULL REFERENCES lovia_logs (log) ON DELETE CASCADE,"
            " number INTEGER NOT NULL, status TEXT NOT NULL, entries INTEGER NOT NULL, data TEXT NOT NULL,"
            " sum TEXT NOT NULL, PRIMARY KEY (log, number))",
            "CREATE TABLE lovia_runs (run_id TEXT PRIMARY KEY, log INTEGER NOT NULL UNIQUE REFERENCES lovia_logs (log),"
            " session_id TEXT, settled INTEGER NOT NULL, status TEXT NOT NULL, save INTEGER NOT NULL,"
            " step INTEGER NOT NULL, updated_at REAL NOT NULL, entries INTEGER NOT NULL, last TEXT NOT NULL,"
            " sum TEXT NOT NULL)",
            "CREATE INDEX lovia_runs_open ON lovia_runs (session_id) WHERE settled = 0",
            "CREATE TABLE lovia_lines (run_id TEXT PRIMARY KEY REFERENCES lovia_runs (run_id) ON DELETE CASCADE,"
            " data TEXT NOT NULL, sum TEXT NOT NULL)",
            "CREATE TABLE lovia_cancels (run_id TEXT PRIMARY KEY, owner TEXT NOT NULL)",
        ),
        (
            # A fork's log goes on behind save ``upto`` of its ``base``, which stays while it is one: ``dropped`` when
            # no run has it any more. Every so many saves note in ``sets`` which save set each field of the head.
            "ALTER TABLE lovia_logs ADD COLUMN base INTEGER REFERENCES lovia_logs (log)",
            "ALTER TABLE lovia_logs ADD COLUMN upto INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE lovia_logs ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX lovia_logs_base ON lovia_logs (base) WHERE base IS NOT NULL",
            "ALTER TABLE lovia_saves ADD COLUMN sets TEXT",
        ),
        (
            # What its first save does not prove gets no checksum: it is damage, as it was.
            "ALTER TABLE lovia_logs ADD COLUMN sum TEXT NOT NULL DEFAULT ''",
        ),
    ),
    after={3: seal},
)

DELETED = "deleted"
"""The status of a run that is gone, all but its history."""

_COLUMNS = "run_id, log, session_id, settled, status, save, step, updated_at, entries, last, sum"
_MOVING = ("status", "save", "step", "updated_at", "entries", "last", "sum")
_SHOWN = ("agent", "started_at", "stop", "error", "config", "parent", "history_limit")


@dataclass(slots=True, kw_only=True)
class RunRow:
    """Save ``save`` of ``log`` is the newest; its checksum is ``last``. ``line`` is there where it was asked for."""

    run_id: str
    log: int
    session_id: str | None = None
    settled: int = 0
    status: str = Status.INTERRUPTED.value
    save: int = 0
    step: int = 0
    updated_at: float = 0.0
    entries: int = 0
    last: str = ""
    line: dict[str, JSON] = field(default_factory=dict)

    @property
    def is_deleted(self) -> bool:
        return self.status == DELETED

    def _values(self) -> tuple[Any, ...]:
        place = (self.run_id, self.log, self.session_id, self.settled)
        values = (*place, self.status, self.save, self.step, self.updated_at, self.entries, self.last)
        return (*values, checksum(*values))

    def insert(self, connection: Connection) -> None:
        """Write it for the first time, with an empty line."""
        marks = ", ".join("?" * 11)
        connection.execute(f"INSERT INTO lovia_runs ({_COLUMNS}) VALUES ({marks})", self._values())
        _write_line(connection, self.run_id, {})

    def update(self, connection: Connection, *also: str) -> None:
        """Write what every save changes, and the columns named: an index costs a write even for an equal value."""
        values = dict(zip(_COLUMNS.split(", "), self._values(), strict=True))
        names = (*_MOVING, *also)
        marks = ", ".join(f"{name} = ?" for name in names)
        connection.execute(
            f"UPDATE lovia_runs SET {marks} WHERE run_id = ?", (*(values[name] for name in names), self.run_id)
        )

    def advance(self, save: Save) -> None:
        """Bring it from the save before to this one."""
        self.save, self.step, self.updated_at = save.number, save.step, float(save.at)
        self.entries = save.entries_after(self.entries)
        self.status = save.head.get("status", self.status)
        self.session_id = save.head.get("session_id", self.session_id)

    def info(self, status: str, owner: Owner | None) -> RunInfo:
        """Its line of a listing."""
        line = self.line
        return RunInfo(
            run_id=self.run_id,
            status=status,
            agent=line.get("agent") or "",
            session_id=self.session_id,
            started_at=line.get("started_at"),
            updated_at=self.updated_at,
            steps=self.step,
            save=self.save,
            stop=line.get("stop"),
            error=line.get("error"),
            config=line.get("config") or {},
            parent=line.get("parent"),
            open_approvals=line.get("approvals") or [],
            owner=owner,
        )


def read_row(connection: Connection, run_id: str, *, where: str) -> RunRow | None:
    """The run's row, checked, without its line; None when there is no such run."""
    found = fetch(connection, f"SELECT {_COLUMNS} FROM lovia_runs WHERE run_id = ?", (run_id,))
    if not found and fetch(connection, "SELECT 1 FROM lovia_lines WHERE run_id = ?", (run_id,)):
        raise StoreDamagedError(_missing(run_id), where=where)  # or it would be begun anew, and its steps done again
    return _row(found[0], where=where) if found else None


def _missing(run_id: str) -> str:
    return f"the row of run {run_id!r} is missing"


def read_lines(
    connection: Connection,
    *,
    where: str,
    run_id: str | None = None,
    session_id: str | None = None,
    deleted: bool = False,
) -> list[RunRow | RunInfo]:
    """The rows of all runs with their lines: or of one run, or of a session's open ones, or of the ``deleted`` ones.

    A damaged one is given as what a listing says of it.
    """
    columns = ", ".join(f"r.{name}" for name in _COLUMNS.split(", "))
    query = f"SELECT {columns}, l.data, l.sum FROM lovia_runs r LEFT JOIN lovia_lines l USING (run_id)"
    query += f" WHERE status {'=' if deleted else '!='} ?"
    values = [DELETED]
    if run_id is not None:
        query, values = f"{query} AND r.run_id = ?", [DELETED, run_id]
    elif session_id is not None:
        query, values = f"{query} AND r.session_id = ? AND r.settled = 0", [DELETED, session_id]
    rows: list[RunRow | RunInfo] = []
    for found in fetch(connection, query, tuple(values)):
        try:
            row = _row(found[:11], where=where)
            row.line = _line(row.run_id, *found[11:], where=where)
            rows.append(row)
        except StoreDamagedError as error:
            rows.append(RunInfo(run_id=str(found[0]), status="", damage=Damage.told_by(error)))
    if session_id is None and not deleted:
        rows += [
            RunInfo(run_id=lost, status="", damage=Damage(_missing(lost), where)) for lost in _lost(connection, run_id)
        ]
    return rows


def _lost(connection: Connection, run_id: str | None) -> list[str]:
    """The runs, or that one, that have a line and no row."""
    query = "SELECT run_id FROM lovia_lines WHERE run_id NOT IN (SELECT run_id FROM lovia_runs)"
    found = fetch(connection, query) if run_id is None else fetch(connection, f"{query} AND run_id = ?", (run_id,))
    return [str(lost) for (lost,) in found]


def stored_rows(connection: Connection, run_id: str, log: int) -> list[tuple[Any, ...]]:
    """What stands in the rows that are of that run, or say that the log is theirs, whatever it is."""
    return fetch(connection, f"SELECT {_COLUMNS} FROM lovia_runs WHERE run_id = ? OR log = ?", (run_id, log))


def _row(found: tuple[Any, ...], *, where: str) -> RunRow:
    row = as_written(found)
    if row is None:
        raise StoreDamagedError(f"the row of run {found[0]!r} is not what was written", where=where)
    return row


def as_written(found: tuple[Any, ...]) -> RunRow | None:
    """What stands in a row as the run's row that was written; None when it is not what was."""
    run_id, log, session_id, settled, status, save, step, updated_at, entries, last, total = found
    if checksum(*found[:-1]) != total:
        return None
    return RunRow(
        run_id=run_id,
        log=log,
        session_id=session_id,
        settled=settled,
        status=status,
        save=save,
        step=step,
        updated_at=updated_at,
        entries=entries,
        last=last,
    )


def read_line(connection: Connection, run_id: str, *, where: str) -> dict[str, JSON]:
    """What a listing shows of the run beside its row, checked."""
    found = fetch(connection, "SELECT data, sum FROM lovia_lines WHERE run_id = ?", (run_id,))
    return _line(run_id, *(found[0] if found else (None, None)), where=where)


def _line(run_id: str, data: Any, total: Any, *, where: str) -> dict[str, JSON]:
    if checksum(run_id, data) != total:
        raise StoreDamagedError(f"the line of run {run_id!r} is not what was written", where=where)
    line: dict[str, JSON] = codec.loads(data)
    return line


def update_line(connection: Connection, run_id: str, head: dict[str, JSON], *, where: str) -> None:
    """Bring the run's line up to the head fields that a save changed. None that it shows: nothing is written."""
    news = {name: head[name] for name in _SHOWN if name in head}
    if "approvals" in head:
        news["approvals"] = open_approvals(head["approvals"])
    if news:
        _write_line(connection, run_id, read_line(connection, run_id, where=where) | news)


def _write_line(connection: Connection, run_id: str, line: dict[str, JSON]) -> None:
    data = codec.dumps(line).decode()
    connection.execute(
        "INSERT OR REPLACE INTO lovia_lines (run_id, data, sum) VALUES (?, ?, ?)",
        (run_id, data, checksum(run_id, data)),
    )
