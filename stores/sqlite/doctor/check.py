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
from typing import TYPE_CHECKING

from stores.errors import RunLockedError, StoreDamagedError, StoreError
from stores.findings import Finding
from stores.sqlite.checksums import fetch
from stores.sqlite.database import Database
from stores.sqlite.doctor import (
    check_log,
    check_results,
    check_run,
    check_session,
    check_strand,
    check_version,
    misplaced,
    unread,
)
from stores.sqlite.doctor.mending import bring_up_all, in_one
from stores.sqlite.doctor.quarantine import ASIDE, QUARANTINE, Problem
from stores.sqlite.doctor.restoring import completed_runs
from stores.sqlite.doctor.salvage import can_salvage, damaged_copies, salvage
from stores.sqlite.locks import RunLock
from stores.sqlite.results import RESULTS
from stores.sqlite.rows import RUNS
from stores.sqlite.schema import Part
from stores.sqlite.segments import SESSIONS

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["Finding", "check", "repair"]

ROUNDS = 10
"""How often the store is looked at again after a repair: each round can bring the next damage to light."""

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
    found: list[tuple[str, Finding]] = []
    before = damaged_copies(database.path)
    for _ in range(ROUNDS):
        kept = damaged_copies(database.path) - before
        problems = list(_problems(database, aside=min(kept, default=ASIDE)))
        mended = [problem for problem in problems if problem.mend]
        new = _mended(database, mended)
        found += zip([problem.what for problem in mended], new, strict=True)
        if not any(finding.repairable for finding in new):
            break
    else:
        problems = list(_problems(database))
    left = _left(database, problems, {what: finding for what, finding in found if not finding.repairable})
    return list(dict.fromkeys([*(left.get(what, finding) for what, finding in found), *left.values()]))


def _left(database: Database, problems: list[Problem], refused: dict[str, Finding]) -> dict[str, Finding]:
    """The problems that the repair has left, by what they are; ``refused`` are those that say why."""
    left = {}
    for problem in problems:
        still = Finding(database.where, f"{problem.what}; it is still so after the repair", False)
        left[problem.what] = refused.get(problem.what, still) if problem.mend else problem.finding(database.where)
    return left


def _mended(database: Database, problems: list[Problem]) -> list[Finding]:
    """The problems as findings, after each was mended. What is mended once says the same of all its problems."""
    done: dict[object, str | None] = {}
    findings = []
    for problem in problems:
        if done.get(problem.mend) is None:
            finding, done[problem.mend] = _mended_one(database, problem)
        else:
            finding = problem.finding(database.where, done[problem.mend])
        findings.append(finding)
    return findings


def _mended_one(database: Database, problem: Problem) -> tuple[Finding, str | None]:
    """The problem as a finding, after it was mended, unless its run is being executed; and what was done."""
    lock = RunLock(database, problem.run_id) if problem.run_id else None
    try:
        if lock and not lock.try_take():
            return Finding(database.where, f"{problem.what}; left alone: the run is in use", False), None
        done = problem.mend() if problem.mend else None
    except (RunLockedError, StoreError) as error:
        return Finding(database.where, f"{problem.what}; left alone: {error.message}", False), None
    finally:
        if lock:
            lock.release()
    return problem.finding(database.where, done), done


def _problems(database: Database, *, aside: str = ASIDE) -> Iterator[Problem]:
    """What is wrong, the file first: nothing can be told of rows while the pages are damaged.

    ``aside`` is where what is lost from a record remains.
    """
    try:
        of_file = list(_problems_of_file(database)) or list(_problems_of_versions(database))
        yield from of_file
        if not of_file:
            strands = _problems_of(database, SESSIONS, partial(_problems_of_strands, aside=aside))
            yield from (problem for problem in strands if problem.mend)  # of a refused part the sessions tell
            of_runs = list(_problems_of(database, RUNS, partial(_problems_of_runs, aside=aside)))
            yield from of_runs
            if not of_runs:
                yield from _problems_of(database, RUNS, partial(_problems_of_unread_logs, aside=aside))
            of_sessions = list(_problems_of(database, SESSIONS, partial(_problems_of_sessions, aside=aside)))
            yield from of_sessions
            if not of_sessions:  # else what nobody reads may be what one of them lacks
                yield from _problems_of(database, SESSIONS, partial(_problems_of_unread, aside=aside))
            yield from _problems_of(database, RESULTS, _problems_of_results)
    except StoreDamagedError as error:
        yield _damaged_file(database, error.message)


def _damaged_file(database: Database, what: str) -> Problem:
    if not can_salvage(database):
        return Problem(what)
    outlook = "what can be read can become a new file, and this one stays beside it as FILE.damaged"
    return Problem(what, partial(salvage, database), outlook=outlook)


def _problems_of_file(database: Database) -> Iterator[Problem]:
    with database.looking() as connection:
        lines = [line for (line,) in fetch(connection, "PRAGMA integrity_check(20)")] if connection else ["ok"]
    if lines == ["ok"]:
        return
    if all(_INDEX.search(line) for line in lines):
        yield from (Problem(line, partial(_reindex, database)) for line in lines)
    else:
        yield _damaged_file(database, "; ".join(line.strip() for line in lines))


def _problems_of_versions(database: Database) -> Iterator[Problem]:
    with database.looking() as connection:
        parts = [RUNS, SESSIONS, RESULTS, QUARANTINE]
        found = list(check_version.examine(connection, parts, where=database.where)) if connection else []
    for one in found:
        outlook = f"its columns are those of version {one.version}, which can be written"
        mend = partial(_write_version, database, one.part) if one.version else None
        yield Problem(one.what, mend, outlook=outlook if mend else "")


def _write_version(database: Database, part: Part) -> str | None:
    with database.writing(Part("versions", ())) as connection:
        return check_version.mend(connection, part, where=database.where)


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
            if connection is not None:
                bring_up_all(connection, database.where)
            problems = list(look(connection, database)) if connection else []
    except StoreDamagedError:
        raise
    except StoreError as error:
        problems = [Problem(error.message)]
    yield from problems


def _problems_of_runs(connection: Connection, database: Database, *, aside: str) -> Iterator[Problem]:
    where = database.where
    change_log = partial(check_log.LOGS.mend, aside=aside, where=where)
    logs = check_log.LOGS.examine(connection, where=where)
    for log in logs:
        mend_log = partial(in_one, database, RUNS, change_log, log.number, are_linked=False)
        yield Problem(log.what, mend_log, log.run_id, log.outlook)
    is_hidden = bool(logs)
    set_aside = partial(check_run.set_stray_aside, aside=aside)
    for what, selected in () if is_hidden else check_run.stray_rows(connection, where=where):
        yield Problem(what, partial(in_one, database, RUNS, set_aside, selected))
    for run_id in check_run.run_ids(connection, where=where):
        if is_hidden and not check_run.is_reached(connection, run_id, where=where):
            continue  # what is wrong with it shows when the logs are right
        found = check_run.examine(connection, run_id, where=where)
        change = partial(check_run.mend, aside=aside, where=where)
        mend = partial(in_one, database, RUNS, change, run_id) if found.can_mend else None
        for what in found.problems:
            yield Problem(what, mend, run_id, found.outlook, found.is_lost)


def _problems_of_unread_logs(connection: Connection, database: Database, *, aside: str) -> Iterator[Problem]:
    change = partial(check_log.mend_unread, aside=aside)
    for log, _ in check_log.unread(connection):
        what = f"nobody reads what is left of a removed run, {log.run_id!r} (log {log.number})"
        mend = partial(in_one, database, RUNS, change, log.number)
        yield Problem(what, mend, outlook="it can be moved aside", is_leftover=True)


def _problems_of_strands(connection: Connection, database: Database, *, aside: str) -> Iterator[Problem]:
    where = database.where
    put_back = partial(misplaced.put_back, aside=aside, where=where)
    stray = list(misplaced.misplaced(connection, where=where))
    for one in stray:
        yield Problem(one.what, partial(in_one, database, SESSIONS, put_back, one.rowid), outlook=one.outlook)
    unclear = misplaced.unclear(connection, stray)
    change = partial(check_strand.STRANDS.mend, aside=aside, where=where)
    for found in check_strand.STRANDS.examine(connection, where=where):
        if found.number not in unclear.strands:  # else they are what others lack
            mend = partial(in_one, database, SESSIONS, change, found.number, are_linked=False)
            yield Problem(found.what, mend, outlook=found.outlook)


def _problems_of_sessions(connection: Connection, database: Database, *, aside: str) -> Iterator[Problem]:
    where = database.where
    unclear = misplaced.unclear(connection, list(misplaced.misplaced(connection, where=where)))
    set_aside = partial(check_session.set_stray_aside, aside=aside)
    for what, rowid in check_session.stray_rows(connection):
        yield Problem(what, partial(in_one, database, SESSIONS, set_aside, rowid))
    is_hidden = any(check_strand.STRANDS.examine(connection, where=where))
    completed = completed_runs(connection, where=where)
    for session_id in check_session.session_ids(connection):
        if session_id in unclear.sessions:
            continue
        if is_hidden and not check_session.is_reached(connection, session_id, where=where):
            continue  # what is wrong with it shows when the strands are right
        found = check_session.examine(connection, session_id, completed=completed, where=where)
        change = partial(check_session.mend, aside=aside, where=where)
        mend = partial(in_one, database, SESSIONS, change, session_id) if found.can_mend else None
        for what in found.problems:
            yield Problem(what, mend, outlook=found.outlook, is_lost=found.is_lost)


def _problems_of_unread(connection: Connection, database: Database, *, aside: str) -> Iterator[Problem]:
    where = database.where
    if any(misplaced.misplaced(connection, where=where)) or any(check_strand.STRANDS.examine(connection, where=where)):
        return
    change = partial(unread.mend, aside=aside, where=where)
    for strand in unread.unread(connection, where=where):
        what = f"nobody reads what is left of session {strand.session_id!r} (strand {strand.number})"
        mend = partial(in_one, database, SESSIONS, change, strand.number)
        yield Problem(what, mend, outlook="it can be moved aside", is_leftover=True)


def _problems_of_results(connection: Connection, database: Database) -> Iterator[Problem]:
    where = database.where
    for what, rowid in check_results.damaged_outputs(connection, where=where):
        yield Problem(what, partial(in_one, database, RESULTS, partial(check_results.mend, where=where), rowid))
