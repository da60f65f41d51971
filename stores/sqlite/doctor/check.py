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
from sqlite3 import Connection

from stores.errors import RunLockedError, StoreDamagedError, StoreError
from stores.findings import Finding
from stores.sqlite.checksums import fetch
from stores.sqlite.database import Database
from stores.sqlite.doctor import check_results, check_run, check_session, check_version, misplaced, unread
from stores.sqlite.doctor.check_locks import problem_of_locks
from stores.sqlite.doctor.check_log import LOGS
from stores.sqlite.doctor.check_strand import STRANDS
from stores.sqlite.doctor.completed import completed_runs
from stores.sqlite.doctor.mending import bring_up_all, in_one
from stores.sqlite.doctor.quarantine import ASIDE, QUARANTINE, Problem, move_aside
from stores.sqlite.doctor.salvage import can_salvage, damaged_copies, salvage
from stores.sqlite.locks import RunLock
from stores.sqlite.results import RESULTS
from stores.sqlite.rows import RUNS
from stores.sqlite.schema import Part
from stores.sqlite.segments import SESSIONS

__all__ = ["Finding", "check", "repair"]

ROUNDS = 10
"""How often the store is looked at again after a repair: each round can bring the next damage to light."""

_Mend = Callable[..., str | None]
"""`in_one`, for one part: what is to be called with the name of what is to be mended, and that name."""

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
    # What was refused and is not left was mended in a later round.
    told = [left.get(what, finding) for what, finding in found if finding.repairable or what in left]
    return list(dict.fromkeys([*told, *left.values()]))


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
    if locks := problem_of_locks(database.locks):
        yield locks
    try:
        of_file = list(_problems_of_file(database)) or list(_problems_of_versions(database))
        yield from of_file or _problems_of_rows(database, aside)
    except StoreDamagedError as error:
        yield _damaged_file(database, error.message)


def _problems_of_rows(database: Database, aside: str) -> Iterator[Problem]:
    """What is wrong with rows, in the order in which it is mended: what is mended tells more of what comes behind."""
    strands = [one for one in _look(database, SESSIONS, aside, _problems_of_strands) if one.mend]
    yield from strands  # of a part that is refused the sessions tell
    of_runs = _look(database, RUNS, aside, partial(_problems_of_runs, before=strands))
    yield from of_runs or _look(database, RUNS, aside, _unread_logs)
    before = [one for one in of_runs if not one.is_lost]
    of_sessions = _look(database, SESSIONS, aside, partial(_problems_of_sessions, before=before))
    yield from of_sessions
    if not strands and not of_sessions:  # else one of them may lack it
        yield from _look(database, SESSIONS, aside, _unread_strands)
    before = [one for one in (*strands, *of_runs, *of_sessions) if one.mend]
    yield from _look(database, RESULTS, aside, partial(_problems_of_results, before=before))


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
        found = list(check_version.examine(connection, parts)) if connection else []
    for one in found:
        outlook = f"its columns are those of version {one.version}, which can be written"
        mend = partial(_write_version, database, one.part) if one.version else None
        yield Problem(one.what, mend, outlook=outlook if mend else "")


def _write_version(database: Database, part: Part) -> str | None:
    with database.writing(Part("versions", ())) as connection:
        return check_version.mend(connection, part)


def _reindex(database: Database) -> None:
    with database.writing(QUARANTINE) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'lovia_*'"
        for (table,) in connection.execute(query).fetchall():
            connection.execute(f'REINDEX "{table}"')


def _look(
    database: Database, part: Part, aside: str, look: Callable[[Connection, _Mend], Iterator[Problem]]
) -> list[Problem]:
    """The problems of that part, or the one that keeps them from being seen."""
    try:
        with database.reading(part, migrate=False) as connection:
            if connection is None:
                return []
            bring_up_all(connection)
            return list(look(connection, partial(in_one, database, part, aside)))
    except StoreDamagedError:
        raise
    except StoreError as error:
        return [Problem(error.message)]


def _problems_of_strands(connection: Connection, mend: _Mend) -> Iterator[Problem]:
    stray = list(misplaced.misplaced(connection))
    for one in stray:
        yield Problem(one.what, partial(mend, misplaced.put_back, one.rowid), outlook=one.outlook)
    unclear, _ = misplaced.unclear(connection, stray)
    for n, found in enumerate(STRANDS.examine(connection)):
        if found.number not in unclear:  # else they are what others lack
            mend_it = partial(mend, STRANDS.mend, found.number, are_linked=False)
            hinges = found.restored is None and bool(stray or n)
            yield Problem(found.what, mend_it, outlook=found.outlook, hinges=hinges)


def _problems_of_runs(connection: Connection, mend: _Mend, *, before: list[Problem]) -> Iterator[Problem]:
    logs = LOGS.examine(connection)
    for n, log in enumerate(logs):
        mend_it = partial(mend, LOGS.mend, log.number, are_linked=False)
        yield Problem(log.what, mend_it, log.run_id, log.outlook, hinges=log.restored is None and n > 0)
    names = check_run.run_ids(connection)
    if logs:  # what is wrong with a run that needs them shows when they are right
        names = [run_id for run_id in names if check_run.is_reached(connection, run_id)]
    runs = [found for run_id in names if (found := check_run.examine(connection, run_id)).problems]
    for what, selected in () if logs else check_run.stray_rows(connection):
        yield Problem(what, partial(mend, move_aside, selected))
    # A save that stands elsewhere may be one of those that are put right.
    for what, selected in () if logs or any(one.changed for one in runs) else check_run.stray_saves(connection):
        yield Problem(what, partial(mend, move_aside, selected))
    for found in runs:
        mend_run = partial(mend, check_run.mend, found.run_id) if found.can_mend else None
        hinges = found.loses and bool(before and found.session_id)
        for what in found.problems:
            yield Problem(what, mend_run, found.run_id, found.outlook, is_lost=found.is_lost, hinges=hinges)


def _unread_logs(connection: Connection, mend: _Mend) -> Iterator[Problem]:
    for log, _ in unread.unread_logs(connection):
        whose = f"a removed run, {log.run_id!r} (log {log.number})"
        yield _leftover(whose, partial(mend, unread.log_aside, log.number))


def _leftover(whose: str, mend: Callable[[], str | None]) -> Problem:
    what = f"nobody reads what is left of {whose}"
    return Problem(what, mend, outlook="it can be moved aside", is_leftover=True)


def _problems_of_sessions(connection: Connection, mend: _Mend, *, before: list[Problem]) -> Iterator[Problem]:
    _, unclear = misplaced.unclear(connection, list(misplaced.misplaced(connection)))
    for what, selected in check_session.stray_rows(connection):
        yield Problem(what, partial(mend, move_aside, selected))
    is_hidden, completed = bool(STRANDS.examine(connection)), completed_runs(connection)
    made_again: set[str] = set()
    for session_id in check_session.session_ids(connection):
        if session_id in unclear:
            continue
        if is_hidden and not check_session.is_reached(connection, session_id):
            continue  # what is wrong with it shows when the strands are right
        found = check_session.examine(connection, session_id, completed=completed)
        mend_session = partial(mend, check_session.mend, session_id) if found.can_mend else None
        hinges = found.loses and bool(before or made_again & {one.session_id for one in found.chain})
        made_again |= {session_id} if found.made or found.older else set()
        for what in found.problems:
            yield Problem(what, mend_session, outlook=found.outlook, is_lost=found.is_lost, hinges=hinges)


def _unread_strands(connection: Connection, mend: _Mend) -> Iterator[Problem]:
    for strand in unread.unread_strands(connection):
        whose = f"session {strand.session_id!r} (strand {strand.number})"
        yield _leftover(whose, partial(mend, unread.strand_aside, strand.number))


def _problems_of_results(connection: Connection, mend: _Mend, *, before: list[Problem]) -> Iterator[Problem]:
    for found in check_results.damaged_outputs(connection):
        mend_it = partial(mend, check_results.mend, found.rowid) if found.can_mend else None
        hinges = found.is_lost and bool(before)
        yield Problem(found.what, mend_it, outlook=found.outlook, is_lost=found.is_lost, hinges=hinges)
