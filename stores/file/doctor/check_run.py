"""What may be wrong with a run, and how it is put right from the data that is left."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from stores.errors import StoreError
from stores.file.disk import TEMP
from stores.file.doctor.damaged_run import problem_of_damage
from stores.file.doctor.finished import is_finished, unfinished
from stores.file.doctor.lost_refs import examine, problems_of_lost
from stores.file.doctor.problem import NO_DAMAGE, Problem, leftover, names_in, stranger, told, unfinished_write
from stores.file.doctor.quarantine import set_aside
from stores.file.forking import mark, readers, release, shared_key
from stores.file.markers import marker_folder, write_marker
from stores.file.names import DROPPED, FORKS, chunk_number, is_key, name_of
from stores.file.places import session_folder
from stores.file.refs import Ref, read_ref
from stores.file.root import Root
from stores.file.survey import DataFolder
from stores.records import Status


def problems_of_run(root: Root, name: str, folders: dict[str, DataFolder]) -> list[Problem]:
    """Everything that is wrong with the run of that name."""
    file = root.part("runs", f"{name}.json")
    try:
        with root.open_folder("runs") as runs:
            ref = read_ref(runs, name)
    except NO_DAMAGE as error:
        return [told(error, file)]
    except StoreError as error:
        return problems_of_lost(root, name, error, folders)
    if ref is None:
        return problems_of_lost(root, name, None, folders)
    if ref.is_deleted and not ref.fields.get("keep"):
        return [_half_deleted(root, ref, file)]
    names = names_in(root, "data", ref.key)  # before it is examined: it may grow meanwhile
    fresh, wrong = examine(root, ref)
    return [
        *([problem_of_damage(root, ref, fresh, wrong)] if wrong else []),
        *_problems_of_marks(root, ref),
        *_problems_of_files(root, ref, names, None if wrong else fresh.tail),
        *_problems_of_dropped(root, ref),
        *_problems_of_end(root, ref, file, None if wrong else fresh),
    ]


def _half_deleted(root: Root, ref: Ref, file: str) -> Problem:
    def mend() -> None:
        release(root, ref.key)
        with root.make_folder("runs") as runs:
            runs.unlink(f"{name_of(ref.run_id)}.json")
            runs.sync()

    return Problem(file, "the run was deleted, and a crash kept its data", mend, is_leftover=True)


def _problems_of_files(root: Root, ref: Ref, names: list[str], tail: int | None) -> list[Problem]:
    """What else is in the folder of the data, of which the last chunk is ``tail``; None where they cannot be read."""
    problems = []
    for name in names:
        number, parts = chunk_number(name), ("data", ref.key, name)
        if name.endswith(TEMP):
            problems.append(unfinished_write(root, *parts))
        elif number and tail and number > tail:
            what = f"a chunk that does not follow the last one of run {ref.run_id!r}"
            problems.append(Problem(root.part(*parts), what, partial(set_aside, root, *parts)))
        elif not number and name != FORKS:
            problems.append(stranger(root.part(*parts)))
    return problems


def _problems_of_dropped(root: Root, ref: Ref) -> list[Problem]:
    """The data that a restart was going to remove, unless forks read it."""
    dropped = ref.fields.get("drop")
    if not isinstance(dropped, str) or not is_key(dropped) or dropped == ref.key:
        return []
    with root.open_folder("data", dropped) as old:
        if old is None or (DROPPED in old.names() and readers(root, dropped)):
            return []
        what = "the data of a run that was begun anew"
        return [Problem(old.path, what, partial(release, root, dropped), is_leftover=True)]


def _problems_of_marks(root: Root, ref: Ref) -> list[Problem]:
    """A fork has a mark in what it shares, and what is marked in its own data are forks that are there."""
    problems = []
    with root.open_folder("data", ref.key) as folder:
        shared = shared_key(folder) if folder else None
    if shared and _is_unmarked(root, shared, ref.key):
        what = f"the mark of fork {ref.run_id!r}, which keeps what it shares, is missing"
        file = root.part("data", shared, FORKS, f"{ref.key}.json")
        problems.append(Problem(file, what, partial(mark, root, shared, ref)))
    try:
        with root.open_folder("data", ref.key, FORKS) as marks:
            gone = sorted(set(marks.records()) - set(readers(root, ref.key))) if marks else []
    except StoreError as error:
        return [*problems, Problem(error.where or root.part("data", ref.key, FORKS), error.message)]
    stale = [leftover(root, "the mark of a fork that is gone", "data", ref.key, FORKS, f"{name}.json") for name in gone]
    return [*problems, *stale]


def _is_unmarked(root: Root, key: str, fork_key: str) -> bool:
    """True when the data is there and has no mark of that fork. Where nobody may look, its run says so."""
    with suppress(StoreError), root.open_folder("data", key) as folder, root.open_folder("data", key, FORKS) as marks:
        return folder is not None and (marks is None or f"{fork_key}.json" not in marks.names())
    return False


def _problems_of_end(root: Root, ref: Ref, ref_file: str, fresh: Ref | None) -> list[Problem]:
    """An unfinished run of a session has a marker there, and no segment.

    ``fresh`` is the ref as the data has it; None where something is wrong with that, which has been said.
    """
    if ref.session_id is None or ref.is_deleted or ref.status == Status.COMPLETED:
        return []
    if fresh and fresh.status != Status.COMPLETED and is_finished(root, ref):
        return [unfinished(root, ref, ref_file)]
    file = f"{name_of(ref.run_id)}.json"
    with root.open_folder(*session_folder(ref.session_id)) as session:
        if session is None:  # which is told of the session, with all its runs
            return []
    if file in names_in(root, *marker_folder(ref.session_id)):
        return []
    where = root.part(*marker_folder(ref.session_id), file)
    return [Problem(where, "the session does not know of this unfinished run", partial(write_marker, root, ref))]
