"""Archived tool outputs: a row each, beside the sessions they were cut from (M2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stores.errors import StoreDamagedError, StoreError
from stores.references import ResultRef
from stores.sqlite.checksums import checksum, fetch
from stores.sqlite.database import BUSY_TIMEOUT, Database
from stores.sqlite.schema import Part
from stores.sqlite.space import give_back

if TYPE_CHECKING:
    from sqlite3 import Connection

RESULTS = Part(
    "results",
    (
        (
            "CREATE TABLE lovia_results (run_id TEXT NOT NULL, step INTEGER NOT NULL, position INTEGER NOT NULL,"
            " output TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (run_id, step, position))",
        ),
    ),
)


class SQLiteResultStore:
    """A `ResultStore` in one SQLite file, which other stores may share.

    ``wal=True`` turns the file to WAL mode at the first write; with False it stays what it is. Another process's lock
    is waited for ``busy_timeout`` seconds, and then it is a `StoreBusyError`.
    """

    def __init__(self, path: str | Path | Database, *, wal: bool = False, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self._database = path if isinstance(path, Database) else Database(path, wal=wal, busy_timeout=busy_timeout)
        self._call = self._database.worker.call

    def is_begun(self) -> bool:
        """True once an output was put: a file in which nothing was ever archived has no table for it."""
        database = Database(self._database.path, busy_timeout=self._database.busy_timeout)  # not the worker's
        try:
            with database.reading(RESULTS) as connection:
                return connection is not None
        finally:
            database.close()

    async def put(self, reference: ResultRef, output: str) -> bool:
        return await self._call(self._put, reference, output)

    def _put(self, reference: ResultRef, output: str) -> bool:
        total = _sum(reference, _bytes(output))
        with self._database.writing(RESULTS) as connection:
            stored = read_result(connection, reference, where=self._database.where)
            if stored is None:
                connection.execute(
                    "INSERT INTO lovia_results (run_id, step, position, output, sum) VALUES (?, ?, ?, ?, ?)",
                    (reference.run_id, reference.step, reference.position, output, total),
                )
        return stored in (None, output)

    async def get(self, reference: ResultRef) -> str | None:
        return await self._call(self._get, reference)

    def _get(self, reference: ResultRef) -> str | None:
        with self._database.reading(RESULTS) as connection:
            return read_result(connection, reference, where=self._database.where) if connection else None

    async def drop(self, run_id: str) -> None:
        await self._call(self._drop, run_id)

    def _drop(self, run_id: str) -> None:
        with self._database.reading(RESULTS) as connection:
            query = "SELECT 1 FROM lovia_results WHERE run_id = ?"
            if connection is None or not connection.execute(query, (run_id,)).fetchone():
                return
        with self._database.writing(RESULTS) as connection:
            connection.execute("DELETE FROM lovia_results WHERE run_id = ?", (run_id,))
        give_back(self._database)


def read_result(connection: Connection, reference: ResultRef, *, where: str) -> str | None:
    """The output under that reference, checked; None when there is none."""
    query = f"{_SELECT} WHERE run_id = ? AND step = ? AND position = ?"
    found = fetch(connection, query, (reference.run_id, reference.step, reference.position))
    return _output(found[0], where=where) if found else None


def output_at(connection: Connection, rowid: int, *, where: str) -> str:
    """The output of that row, checked."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    return _output(values, where=where)


def reference_at(connection: Connection, rowid: int) -> ResultRef:
    """What the row of that id says it is the output of."""
    (values,) = fetch(connection, f"{_SELECT} WHERE rowid = ?", (rowid,))
    return ResultRef(*values[:3])


def replace_output(connection: Connection, rowid: int, reference: ResultRef, output: str) -> None:
    """Write the row of that id again, with another output."""
    values = (output, _sum(reference, _bytes(output)), rowid)
    connection.execute("UPDATE lovia_results SET output = ?, sum = ? WHERE rowid = ?", values)


_SELECT = "SELECT run_id, step, position, CAST(output AS BLOB), sum FROM lovia_results"


def _output(values: tuple[Any, ...], *, where: str) -> str:
    reference = ResultRef(*values[:3])
    if not isinstance(values[3], bytes) or _sum(reference, values[3]) != values[4]:
        raise StoreDamagedError(f"the archived output {reference} is not what was written", where=where)
    return values[3].decode()


def _sum(reference: ResultRef, output: bytes) -> str:
    return checksum(reference.run_id, reference.step, reference.position, texts=(output,))


def _bytes(output: str) -> bytes:
    try:
        return output.encode()
    except UnicodeEncodeError as error:
        hint = "pass it through stores.values.plain first"
        raise StoreError("an output that is not clean Unicode cannot be stored", hint=hint) from error
