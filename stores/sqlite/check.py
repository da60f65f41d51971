"""The doctor: looks at the file and at every row of ours in it, and puts right what can be without losing anything.

What is damaged is copied to the table ``lovia_quarantine``, or, when the pages of the file are damaged, the file
stays beside the one that is made of what can be read. A run that is being executed is left alone. Tables of other
programs are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stores.errors import RunLockedError, StoreBusyError, StoreDamagedError, StoreError
from stores.findings import Finding
from stores.sqlite import check_results, check_run, check_session
from stores.sqlite.database import Database
from stores.sqlite.locks import RunLock
from stores.sqlite.quarantine import QUARANTINE, Problem
from stores.sqlite.results import RESULTS
from stores.sqlite.rows import RUNS
from stores.sqlite.salvage import can_salvage, salvage
from stores.sqlite.schema import Part, bring_up
from stores.sqlite.segments import SESSIONS

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["Finding", "check", "repair"]

ROUNDS = 10
"""How often the store is looked at again after a repair: each round can bring the next damage to light."""

Name = TypeVar("Name")

_INDEX = re.compile(r"\bindex (?:lovia_|sqlite_autoindex_lovia_)", re.IGNORECASE)


def check(path: str | Path) -> list[Finding]:
    """Everything that is wrong with the store, and nothing is changed. A store that is not there is well."""
    database = Database(path)
    return [problem.finding(database.where) for problem in _problems(database)]


def repair(path: str | Path) -> list[Finding]:
    """Mend what can be mended, and say what was found.

    What is repairable in the answer has been repaired; the rest is as it was.
    """
    database = Database(path)
    findings: list[Finding] = []
    for _ in range(ROUNDS):
        problems = list(_problems(database))
        mended = [problem for problem in problems if problem.mend]
        for problem in mended:
            findings.append(_mended(database, problem))
        if not any(finding.repairable for finding in findings[len(findings) - len(mended) :]):
            return findings + [problem.finding(database.where) for problem in problems if not problem.mend]
    return findings


def _mended(database: Database, problem: Problem) -> Finding:
    """The problem as a finding, after it was mended, unless its run is being executed."""
    lock = RunLock(database, problem.run_id) if problem.run_id else None
    finding = problem.finding(database.where)
    try:
        if lock and not lock.try_take():
            return Finding(finding.file, f"{finding.what}; left alone: the run is in use", False)
        if problem.mend:
            problem.mend()
    except (RunLockedError, StoreBusyError) as error:
        return Finding(finding.file, f"{finding.what}; left alone: {error.message}", False)
    finally:
        if lock:
            lock.release()
    return finding


def _problems(database: Database) -> Iterator[Problem]:
    """What is wrong, the file first: nothing can be told of rows while the pages are damaged."""
    try:
        of_file = list(_problems_of_file(database))
        yield from of_file
        if not of_file:
            yield from _problems_of(database, RUNS, _problems_of_runs)
            yield from _problems_of(database, SESSIONS, _problems_of_sessions)
            yield from _problems_of(database, RESULTS, _problems_of_results)
    except StoreDamagedError as error:
        mend = partial(salvage, database) if can_salvage(database) else None
        yield Problem(error.message, mend)


def _problems_of_file(database: Database) -> Iterator[Problem]:
    with database.looking() as connection:
        lines = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")] if connection else ["ok"]
    if lines == ["ok"]:
        return
    if all(_INDEX.search(line) for line in lines):
        yield from (Problem(line, partial(_reindex, database)) for line in lines)
    else:
        mend = partial(salvage, database) if can_salvage(database) else None
        yield Problem("; ".join(line.strip() for line in lines), mend)


def _reindex(database: Database) -> None:
    with database.writing(QUARANTINE) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'lovia_*'"
        for (table,) in connection.execute(query).fetchall():
            connection.execute(f'REINDEX "{table}"')


def _problems_of(
    database: Database, part: Part, look: Callable[[Connection, Database], Iterator[Problem]]
) -> Iterator[Problem]:
    try:
        with database.reading(part, migrate=False) as connection:
            problems = list(look(connection, database)) if connection else []
    except StoreDamagedError:
        raise
    except StoreError as error:
        problems = [Problem(error.message)]
    yield from problems


def _problems_of_runs(connection: Connection, database: Database) -> Iterator[Problem]:
    where = database.where
    for what, selected in check_run.stray_rows(connection, where=where):
        yield Problem(what, partial(_in_one, database, RUNS, check_run.set_stray_aside, selected))
    for run_id in check_run.run_ids(connection, where=where):
        found = check_run.examine(connection, run_id, where=where)
        mend = (
            partial(_in_one, database, RUNS, partial(check_run.mend, where=where), run_id) if found.can_mend else None
        )
        for what in found.problems:
            yield Problem(what, mend, run_id)


def _problems_of_sessions(connection: Connection, database: Database) -> Iterator[Problem]:
    where = database.where
    for session_id, segments in check_session.session_ids(connection, where=where).items():
        found = check_session.examine(connection, session_id, segments, where=where)
        mend = partial(_in_one, database, SESSIONS, partial(check_session.mend, where=where), session_id)
        for what in found.problems:
            yield Problem(what, mend if found.can_mend else None)


def _problems_of_results(connection: Connection, database: Database) -> Iterator[Problem]:
    where = database.where
    for what, rowid in check_results.damaged_outputs(connection, where=where):
        yield Problem(what, partial(_in_one, database, RESULTS, partial(check_results.mend, where=where), rowid))


def _in_one(database: Database, part: Part, change: Callable[[Connection, Name], None], name: Name) -> None:
    """The change to that part, and what it puts into the quarantine, in one transaction."""
    with database.writing(QUARANTINE) as connection:
        bring_up(connection, part, where=database.where)
        change(connection, name)
