"""What may be wrong with a run, and how it is put right from the data that is left."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from stores import codec
from stores.entries import UnknownEntryError
from stores.errors import StoreError, StoreUnreadableError, StoreVersionError
from stores.file.disk import TEMP
from stores.file.doctor.finished import is_finished, set_finished_aside, unfinished
from stores.file.doctor.lost_refs import examine, lost_ref_of, read_fields
from stores.file.doctor.quarantine import Problem, leftover, moved, set_aside, stranger, unfinished_write
from stores.file.doctor.salvage import Salvage, salvage
from stores.file.forking import mark, readers, release, shared_key
from stores.file.locks import SESSIONS, lock_of
from stores.file.markers import marker_folder, write_marker
from stores.file.names import DROPPED, FORKS, chunk_name, chunk_number, is_key, may_be_of, name_of
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.segments import session_folder
from stores.file.session_forking import bare_fork
from stores.file.survey import DataFolder
from stores.findings import CAN_ANSWER
from stores.ids import as_words
from stores.records import Status


def problems_of_run(root: Root, name: str, folders: dict[str, DataFolder]) -> list[Problem]:
    """Everything that is wrong with the run of that name."""
    file = root.part("runs", f"{name}.json")
    try:
        ref = read_fields(root, name)
    except FileNotFoundError:
        return []
    except (StoreUnreadableError, StoreVersionError) as error:
        return [Problem(file, error.message)]
    except StoreError as error:
        owned = [folder for folder in folders.values() if folder.run_id and not folder.is_dropped]
        mine = [folder for folder in owned if name_of(str(folder.run_id)) == name]
        if _is_hidden(folders, mine):
            return [Problem(file, f"{error.message}; its data may be what cannot be read")]
        return [lost_ref_of(root, name, file, error.message, mine)]
    if ref.is_deleted and not ref.fields.get("keep"):
        return [_half_deleted(root, ref, file)]
    with root.open_folder("data", ref.key) as folder:
        names = sorted(folder.names()) if folder else []  # before it is examined: it may grow meanwhile
    fresh, wrong = examine(root, ref)
    return [
        *_problems_of_chunks(root, ref, fresh, wrong),
        *_problems_of_marks(root, ref),
        *_problems_of_files(root, ref, names, None if wrong else fresh.tail),
        *_problems_of_dropped(root, ref),
        *_problems_of_end(root, ref, file, None if wrong else fresh),
    ]


def _is_hidden(folders: dict[str, DataFolder], mine: list[DataFolder]) -> bool:
    """True when the newest data of a run, of which ``mine`` was found, may be what cannot be read."""
    run_id = mine[0].run_id if mine else None
    return any(folder.unreadable and may_be_of(folder.key, run_id) for folder in folders.values())


def _half_deleted(root: Root, ref: Ref, file: str) -> Problem:
    def mend() -> None:
        release(root, ref.key)
        with root.make_folder("runs") as runs:
            runs.unlink(f"{name_of(ref.run_id)}.json")
            runs.sync()

    return Problem(file, "the run was deleted, and a crash kept its data", mend, is_leftover=True)


def _problems_of_chunks(root: Root, ref: Ref, fresh: Ref, error: StoreError | None) -> list[Problem]:
    """What `examine` has found wrong with the saves, its own or shared ones."""
    if error is None:
        return []
    own = root.part("data", ref.key)
    file = error.where or own
    if isinstance(error, (StoreUnreadableError, StoreVersionError, UnknownEntryError)):
        return [Problem(file, error.message)]
    if "/" in file and not file.startswith(own):
        if ref.is_deleted:
            return [_lost_history(ref, file, f"{error.message}, which the history kept of fork {ref.run_id!r} shares")]
        return [_damaged_source(root, ref, file, error.message)]
    return [_damaged(root, ref, fresh, file, error.message)]


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


def _damaged_source(root: Root, ref: Ref, file: str, what: str) -> Problem:
    """What a fork shares with its source is damaged: where the source is mended, so is the fork, as far as it goes."""
    if is_finished(root, ref):
        return Problem(file, what, partial(set_finished_aside, root, ref), outlook=CAN_ANSWER)
    outlook = f"fork {ref.run_id!r} shares it; with --repair the fork would go aside as a whole"
    mend = partial(_set_fork_aside, root, ref)
    return Problem(file, f"{what}, which fork {ref.run_id!r} shares", mend, outlook=outlook, is_lost=True)


def _set_fork_aside(root: Root, ref: Ref) -> str:
    """Its own saves go on from what is lost. They stay readable in quarantine, one a line."""
    return _all_aside(root, ref, f"fork {ref.run_id!r} cannot be kept without it: its data was", "and its id is free")


def _all_aside(root: Root, ref: Ref, lost: str, end: str) -> str:
    """Data, session and ref, which goes last: until then the run is damaged, and all of this is done again."""
    aside = set_aside(root, "data", ref.key) or "gone"
    done = f"{lost} {aside}{_with_session(root, ref, end)}"
    set_aside(root, "runs", f"{name_of(ref.run_id)}.json")
    return done


def _with_session(root: Root, ref: Ref, end: str) -> str:
    """The session that was forked for the run goes aside with it; the ``end`` of the sentence that says so.

    But it stays where there is more in it: a segment of its own, or another run.
    """
    if ref.session_id is None or not ref.fields.get("parent"):
        return f", {end}"
    name = name_of(ref.session_id)
    with root.make_folder(*SESSIONS) as locks:
        lock = lock_of(locks.path, name)
    if not lock.try_take():
        return "; its session stays"
    try:
        if not _is_only_in(root, ref, ref.session_id):
            return "; its session stays"
        return f", its session was {set_aside(root, 'sessions', name) or 'gone'}, {end}"
    finally:
        lock.release()


def _is_only_in(root: Root, ref: Ref, session_id: str) -> bool:
    """True when nothing is in the session but what it began with, and the run."""
    with suppress(StoreError), root.open_folder(*marker_folder(session_id)) as markers:
        others = {f"{name}.json" for name in markers.records()} if markers else set()
        return not others - {f"{name_of(ref.run_id)}.json"} and bare_fork(root, session_id) is not None
    return False


def _damaged(root: Root, ref: Ref, fresh: Ref, file: str, what: str) -> Problem:
    """What is kept of a run whose data is damaged: the saves before, and those in front of it in the same chunk."""
    number = chunk_number(os.path.basename(file))
    is_own = number is not None and file == root.part("data", ref.key, chunk_name(number))
    found = salvage(root, ref.run_id, ref.key, number) if number and is_own else None
    kept = found.last if found else fresh.save
    back = partial(_cut_back, root, ref, fresh, found)
    if ref.is_deleted and (not kept or (found and _is_fork_lost(ref, found))):
        return _lost_history(ref, file, what)
    if not ref.is_deleted and not (found and found.is_proven) and is_finished(root, ref):
        mend = partial(set_finished_aside, root, ref, back, stays=bool(kept))
        return Problem(file, what, mend, outlook=CAN_ANSWER)
    if found and _is_fork_lost(ref, found):
        return _lost_fork(root, ref, file, what)
    if not kept:
        outlook = f"no save of run {ref.run_id!r} can be kept, and its id would start over"
        return Problem(file, what, partial(_drop, root, ref), outlook=outlook, is_lost=True)
    doubt = ""
    if found and not found.is_proven:
        doubt = f" ({found.first} to {found.last} are whole lines that no checksum vouches for)"
    keep = partial(back, f"saves 1 to {kept} of run {ref.run_id!r} were kept{doubt}")
    return Problem(file, what, keep, outlook=f"saves 1 to {kept} can be kept{doubt}")


def _lost_history(ref: Ref, file: str, what: str) -> Problem:
    """Nothing can be kept of what was kept of a run that is gone, and no id starts over by that."""
    outlook = f"no save of the history kept of run {ref.run_id!r} can be read"
    return Problem(file, what, outlook=f"{outlook}: remove it with: lovia rm {as_words(f'run:{ref.run_id}')}")


def _is_fork_lost(ref: Ref, found: Salvage) -> bool:
    """True when the save that forks is not among those of the first chunk: they say another parent then, or none."""
    parent = None
    for record in codec.decode(found.data, "chunk", where="")["records"]:
        parent = (record.get("head") or {}).get("parent", parent)
    return found.n == 1 and parent != ref.fields.get("parent")


def _lost_fork(root: Root, ref: Ref, file: str, what: str) -> Problem:
    """No save of the fork's own can be kept: what is left is a part of its source, in its source's session."""
    outlook = f"no save of its own is left of fork {ref.run_id!r}; with --repair it would go aside as a whole"
    return Problem(file, what, partial(_set_fork_aside, root, ref), outlook=outlook, is_lost=True)


def _drop(root: Root, ref: Ref) -> str:
    """Nothing of the run can be read: all of it goes aside."""
    return _all_aside(root, ref, f"no save of run {ref.run_id!r} can be kept: it was", "and its id would start over")


def _cut_back(root: Root, ref: Ref, fresh: Ref, found: Salvage | None, done: str = "") -> str:
    """Keep the saves before the damage: the chunks from there on go aside, and the ref back to what is left."""
    aside = None
    with root.make_folder("data", ref.key) as data:
        if found:
            aside = set_aside(root, "data", ref.key, chunk_name(found.n), keep=True)
            data.write(chunk_name(found.n), found.data)
            fresh = examine(root, ref)[0]
        for number in sorted(number for entry in data.names() if (number := chunk_number(entry))):
            if number > fresh.tail:
                moved_now = set_aside(root, "data", ref.key, chunk_name(number))
                aside = aside or moved_now
        data.sync()
        if ref.is_deleted:
            fresh.fields["status"] = ref.status  # its data does not know
        with root.make_folder("runs") as runs:
            fresh.write(runs, by=data)
    return done + moved(aside)


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
    with root.open_folder(*marker_folder(ref.session_id)) as folder:
        if folder and file in folder.names():
            return []
    where = root.part(*marker_folder(ref.session_id), file)
    return [Problem(where, "the session does not know of this unfinished run", partial(write_marker, root, ref))]
