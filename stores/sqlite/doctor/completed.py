"""What runs hold whose checkpoints are whole: a completed one all that its segment did (R7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from sqlite3 import Connection

from stores.errors import StoreError
from stores.records import RunSnapshot, Status
from stores.sqlite.checksums import fetch
from stores.sqlite.rows import RUNS, RunRow, read_row
from stores.sqlite.saves import read_snapshot
from stores.sqlite.schema import version_of
from stores.surgery import entries_checksum

CompletedRuns = Callable[[str], list[RunSnapshot]]


def has_runs(connection: Connection) -> bool:
    """True when there are tables of runs, and of this version."""
    with suppress(StoreError):
        return version_of(connection, RUNS, where="") == RUNS.version
    return False


def whole_run(connection: Connection, run_id: str) -> tuple[RunRow, RunSnapshot] | None:
    """The run and its row, if both are whole."""
    with suppress(StoreError):
        row = read_row(connection, run_id, where="") if has_runs(connection) else None
        return (row, read_snapshot(connection, row, where="")) if row else None
    return None


def runs_of(connection: Connection, session_id: str) -> list[str]:
    """The runs of the session, as their rows say."""
    query = "SELECT run_id FROM lovia_runs WHERE session_id = ? ORDER BY run_id"
    found = fetch(connection, query, (session_id,)) if has_runs(connection) else []
    return [run_id for (run_id,) in found if isinstance(run_id, str)]


def began_with(connection: Connection, run_ids: Iterable[str]) -> Iterator[str]:
    """The runs with whose segments the histories of these ended, as their checkpoints have it."""
    found = (whole_run(connection, run_id) for run_id in run_ids)
    yield from (run.head.history_upto for _, run in filter(None, found) if run.head.history_upto)


def completed_runs(connection: Connection) -> CompletedRuns:
    """The completed runs of a session whose checkpoints are whole, oldest first. What was read last is kept, since all
    forks of a session ask for the same."""
    query = "SELECT run_id FROM lovia_runs WHERE session_id = ? AND status = ? ORDER BY updated_at, run_id"

    @lru_cache(maxsize=4)
    def completed(session_id: str) -> list[RunSnapshot]:
        rows = fetch(connection, query, (session_id, Status.COMPLETED.value)) if has_runs(connection) else []
        return [run for _, run in filter(None, (whole_run(connection, run_id) for (run_id,) in rows))]

    return completed


def held_by(runs: Iterable[RunSnapshot]) -> Collection[tuple[str, str]]:
    """What these runs hold: each with the checksum with which its segment was, or would be, appended."""
    return {(run.run_id, entries_checksum(run.entries)) for run in runs}
