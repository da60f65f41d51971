"""Every record of a store is looked at, and put right where it can be without losing anything (see the package).

A run that is being executed, and a session that is in use, are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from stores import codec
from stores.errors import StoreError
from stores.file.disk import TEMP
from stores.file.doctor.check_orphan import problems_of_orphan
from stores.file.doctor.check_results import problems_of_results
from stores.file.doctor.check_run import problems_of_run
from stores.file.doctor.check_session import problems_of_session
from stores.file.doctor.check_vanished import problems_of_vanished
from stores.file.doctor.intruders import is_leaving, problems_of_intruders
from stores.file.doctor.problem import NO_DAMAGE, Problem, names_in, stranger, told
from stores.file.doctor.quarantine import set_aside
from stores.file.doctor.unit import Unit, mended
from stores.file.locks import ARCHIVED, SESSIONS, RunLock, lock_of
from stores.file.names import FORKS, is_key, is_name, name_of
from stores.file.readers import session_names, sources_first
from stores.file.refs import read_ref
from stores.file.results import RESULTS
from stores.file.root import FOLDERS, IGNORE, STORE, Root
from stores.file.survey import DataFolder, look_into, sources, survey
from stores.file.vanished import vanished
from stores.findings import Finding
from stores.oslock import Lock

__all__ = ["Finding", "check", "repair"]

PARTS = FOLDERS | {STORE, IGNORE}
OURS: dict[str, Callable[[str], bool]] = {
    "runs": lambda name: name.endswith(".json"),
    "data": is_key,
    "sessions": is_name,
    RESULTS: is_name,
}
"""The folders of records, and which names in them are the store's."""
PASSES = 3
"""How often the whole store is gone through."""


def check(path: str | Path) -> list[Finding]:
    """Everything that is wrong with the store, and nothing is changed. A store that is not there is well."""
    root = Root(path, create=False)
    problems = _problems_of_root(root)
    if _open(root):
        problems += _overlooked(root)
        problems += [problem for unit in _units(root) for problem in unit.settled_problems()]
    return list(dict.fromkeys(problem.finding() for problem in problems))


def repair(path: str | Path) -> list[Finding]:
    """Mend what can be mended, each record under its lock, and say what was found.

    What is repairable in the answer has been repaired; the rest is as it was.
    """
    findings: dict[Finding, None] = {}
    new: list[Finding] = []
    for _ in range(PASSES):
        new = _repair(Root(path, create=False))
        findings |= dict.fromkeys(new)
        if not any(finding.repairable for finding in new):
            break
    # What could not be mended and is not left was mended by a later pass.
    return [finding for finding in findings if finding.repairable or finding in new]


def _repair(root: Root) -> list[Finding]:
    """Mend every record once. What is mended in one can bring something to light in another."""
    findings = [mended(problem) for problem in _problems_of_root(root)]
    if _open(root):
        findings += [mended(problem) for problem in problems_of_intruders(root)]
        _overlooked(root)
        for place in (SESSIONS, ARCHIVED):
            with suppress(StoreError):  # then no lock can be taken, and each record says so
                root.make_folder(*place).close()
        for unit in _units(root):
            findings += unit.repair()
    return findings


def _overlooked(root: Root) -> list[Problem]:
    """What stands in the place of folders. From here on they count as missing, which is what they are mended as."""
    problems = problems_of_intruders(root)
    root.overlook(problem.file for problem in problems)
    return problems


def _open(root: Root) -> bool:
    """True when the store's own file is in order, or has just been made so."""
    try:
        return root.exists()
    except StoreError:
        return False


def _problems_of_root(root: Root) -> list[Problem]:
    """The store's own file, and what does not belong beside it."""
    try:
        root.exists()
    except NO_DAMAGE as error:
        return [told(error, root.path)]
    except StoreError as error:
        if os.path.realpath(error.where or "") != os.path.realpath(root.part(STORE)):  # reached by a link, maybe
            raise
        return [Problem(root.part(STORE), error.message, lambda: _new_store_file(root))]
    names = os.listdir(root.path) if os.path.isdir(root.path) else []
    strange = [name for name in names if name not in PARTS and not name.endswith(TEMP) and not is_leaving(name)]
    for part, is_ours in OURS.items():
        with suppress(StoreError):  # which comes up again where its records are listed
            strange += [f"{part}/{name}" for name in names_in(root, part) if not is_ours(name)]
    return [stranger(root.part(name)) for name in strange]


def _new_store_file(root: Root) -> None:
    root.assume()
    set_aside(root, STORE)
    with root.open_folder() as folder:
        if folder:
            folder.write(STORE, codec.encode({"kind": "store"}))


def _units(root: Root) -> Iterator[Unit]:
    """Every record of the store: runs, data that no run names, sessions, archived outputs."""
    yield from _units_of_runs(root)
    yield from _units_of_sessions(root)
    for name in filter(is_name, names_in(root, RESULTS)):
        look, lock = partial(problems_of_results, root, name), partial(_lock, root, ARCHIVED, name)
        yield Unit(root, [(RESULTS, name)], look, lock)


def _units_of_runs(root: Root) -> list[Unit]:
    """What a fork shares is mended at its source, so sources come first."""
    folders = survey(root)
    names = {file.removesuffix(".json") for file in names_in(root, "runs") if file.endswith(".json")}
    names |= {folder.run_name for folder in folders.values() if folder.run_name and folder.has_begun}
    named: set[str] = set()
    units: list[tuple[int, Unit]] = []
    for name in sorted(names):
        keys, run_id = _keys_of(root, name, folders)
        named |= keys
        look = partial(problems_of_run, root, name, folders)
        places = [("runs", f"{name}.json"), *(("data", key) for key in sorted(keys))]
        unit = Unit(root, places, look, partial(RunLock, root, run_id))
        units.append((max(sources(folders, key) for key in keys or {""}), unit))
    for key in folders:
        if key not in named:
            unit = Unit(root, [("data", key)], partial(_orphan, root, key, folders), partial(_orphan_lock, root, key))
            units.append((sources(folders, key), unit))
    return [unit for _, unit in sorted(units, key=lambda found: found[0])]


def _units_of_sessions(root: Root) -> Iterator[Unit]:
    """Those whose folder is gone first: forks among them keep what is marked in others."""
    names = [name for name in session_names(root) if not root.is_overlooked("sessions", name)]
    looks = [(name_of(one), partial(problems_of_vanished, root, one)) for one in vanished(root, names)]
    looks += [(name, partial(problems_of_session, root, name)) for name in sources_first(root, names)]
    for name, look in looks:
        places, lock = [("sessions", name), ("sessions", name, "open")], partial(_lock, root, SESSIONS, name)
        yield Unit(root, places, look, lock, partial(_has_fork_in_use, root, name))


def _has_fork_in_use(root: Root, name: str) -> bool:
    """True while somebody works in a fork that reads the session: one who removes it lets go of this one last."""
    with suppress(StoreError), root.open_folder("sessions", name, FORKS) as marks:
        return any(_lock(root, SESSIONS, fork).is_held() for fork in (marks.records() if marks else ()))
    return False


def _orphan(root: Root, key: str, folders: dict[str, DataFolder]) -> list[Problem]:
    """Looked into again: since the survey its run may have begun, or been deleted."""
    folder = look_into(root, key)
    named = _keys_of(root, name_of(folder.run_id), {})[0] if folder.run_id else set()
    is_there = key not in named and os.path.isdir(root.part("data", key))
    return problems_of_orphan(root, folder, folders) if is_there else []


def _orphan_lock(root: Root, key: str) -> RunLock:
    return RunLock(root, look_into(root, key).run_id or key)


def _lock(root: Root, place: tuple[str, ...], name: str) -> Lock:
    return lock_of(root.part(*place), name)


def _keys_of(root: Root, name: str, folders: dict[str, DataFolder]) -> tuple[set[str], str]:
    """The data folders that belong to the ref of that name, and the run's id as far as it is known."""
    with suppress(StoreError), root.open_folder("runs") as runs:
        if ref := read_ref(runs, name):
            return {ref.key, ref.drop or ref.key}, ref.run_id
    mine = {folder.key: folder.run_id or name for folder in folders.values() if folder.run_name == name}
    return set(mine), next(iter(mine.values()), name)
