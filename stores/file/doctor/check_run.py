"""What may be wrong with a run, and how it is put right from the data that is left."""

from __future__ import annotations

import os
from functools import partial

from stores import codec
from stores.entries import UnknownEntryError
from stores.errors import StoreError, StoreUnreadableError, StoreVersionError
from stores.file.chunks import Chunk, read_all
from stores.file.disk import TEMP
from stores.file.doctor.finished import is_finished, set_finished_aside, unfinished
from stores.file.doctor.quarantine import Problem, moved, set_aside
from stores.file.doctor.salvage import Salvage, salvage
from stores.file.forking import mark, readers, release, shared_key
from stores.file.markers import marker_folder, write_marker
from stores.file.names import DROPPED, FORKS, chunk_name, chunk_number, is_key, may_be_of, name_of
from stores.file.refs import Ref, parse_ref
from stores.file.root import Root
from stores.file.survey import DataFolder
from stores.findings import CAN_ANSWER
from stores.records import Status


def read_fields(root: Root, name: str) -> Ref:
    """The ref of that name. Raises what is wrong with it."""
    with root.open_folder("runs") as runs:
        data = runs.read(f"{name}.json") if runs else None
        if runs is None or data is None:
            raise FileNotFoundError(name)
        return parse_ref(data, name, runs.where(f"{name}.json"))


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
        mine = [folder for folder in folders.values() if folder.run_id and name_of(folder.run_id) == name]
        if _is_hidden(folders, mine):
            return [Problem(file, f"{error.message}; its data may be what cannot be read")]
        lost = "" if mine else "; no data of it was found"
        return [Problem(file, error.message + lost, partial(_rebuild, root, name, mine), is_lost=not mine)]
    if ref.is_deleted:
        return [] if ref.fields.get("keep") else [_half_deleted(root, ref, file)]
    fresh, wrong = examine(root, ref)
    return [*_problems_of_data(root, ref, fresh, wrong), *_problems_of_end(root, ref, file, None if wrong else fresh)]


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


def _problems_of_data(root: Root, ref: Ref, fresh: Ref, error: StoreError | None) -> list[Problem]:
    """What is wrong with the files, of which `examine` has said the rest."""
    problems = []
    if error is not None:
        file = error.where or root.part("data", ref.key)
        if isinstance(error, (StoreUnreadableError, StoreVersionError, UnknownEntryError)):
            problems.append(Problem(file, error.message))
        elif "/" in file and not file.startswith(root.part("data", ref.key)):
            problems.append(_damaged_source(root, ref, file, error.message))
        else:
            problems.append(_damaged(root, ref, fresh, file, error.message))
    problems += _problems_of_marks(root, ref)
    dropped = ref.fields.get("drop")
    with root.open_folder("data", ref.key) as folder:
        for name in folder.names() if folder else ():
            if name == FORKS:
                continue
            if name.endswith(TEMP):
                what = "an unfinished write of a process that was killed"
                mend = partial(_remove, root, "data", ref.key, name)
                problems.append(Problem(root.part("data", ref.key, name), what, mend, is_leftover=True))
            elif chunk_number(name) is None:
                problems.append(Problem(root.part("data", ref.key, name), "not a file of this store; it is left alone"))
    if isinstance(dropped, str) and is_key(dropped) and dropped != ref.key:
        with root.open_folder("data", dropped) as old:
            if old is not None and not (DROPPED in old.names() and readers(root, dropped)):
                what = "the data of a run that was begun anew"
                problems.append(Problem(old.path, what, partial(release, root, dropped), is_leftover=True))
    return problems


def _problems_of_marks(root: Root, ref: Ref) -> list[Problem]:
    """A fork has a mark in what it shares, and what is marked in its own data are forks that are there."""
    problems = []
    with root.open_folder("data", ref.key) as folder:
        shared = shared_key(folder) if folder else None
    file = root.part("data", shared or "", FORKS, f"{ref.key}.json")
    if shared and os.path.isdir(root.part("data", shared)) and not os.path.lexists(file):
        what = f"the mark of fork {ref.run_id!r}, which keeps what it shares, is missing"
        problems.append(Problem(file, what, partial(mark, root, shared, ref)))
    with root.open_folder("data", ref.key, FORKS) as marks:
        gone = set(marks.records()) - set(readers(root, ref.key)) if marks else set()
    for name in sorted(gone):
        remove = partial(_remove, root, "data", ref.key, FORKS, f"{name}.json")
        file = root.part("data", ref.key, FORKS, f"{name}.json")
        problems.append(Problem(file, "the mark of a fork that is gone", remove, is_leftover=True))
    return problems


def _damaged_source(root: Root, ref: Ref, file: str, what: str) -> Problem:
    """What a fork shares with its source is damaged: where the source is mended, so is the fork, as far as it goes."""
    if is_finished(root, ref):
        return Problem(file, what, partial(set_finished_aside, root, ref), outlook=CAN_ANSWER)
    outlook = f"fork {ref.run_id!r} shares it; with --repair the fork would go aside as a whole"
    mend = partial(_set_fork_aside, root, ref)
    return Problem(file, f"{what}, which fork {ref.run_id!r} shares", mend, outlook=outlook, is_lost=True)


def _set_fork_aside(root: Root, ref: Ref) -> str:
    """Its own saves go on from what is lost. They stay readable in quarantine, one a line."""
    set_aside(root, "runs", f"{name_of(ref.run_id)}.json")
    aside = set_aside(root, "data", ref.key) or "gone"
    return f"fork {ref.run_id!r} cannot be kept without it: its data was {aside}, and its id is free"


def examine(root: Root, ref: Ref) -> tuple[Ref, StoreError | None]:
    """The ref as its data has it, up to the first thing that is wrong with them, and that."""
    fresh = Ref(ref.run_id, ref.fields | {"status": Status.RUNNING.value, "save": 0})
    last: Chunk | None = None
    try:
        for chunk in read_all(root, ref.run_id, ref.key, ref.tail):
            for record in chunk.records:
                fresh.advance_by_record(record)
            if chunk.header["key"] == ref.key:
                fresh.point_at(chunk.n, chunk.sum)
            for record in chunk.records:
                codec.decode_save(record, where=chunk.where, run_id=ref.run_id)
            last = chunk
        if last is not None:
            ref.check_newest(last)
    except StoreError as error:
        return fresh, error
    except (KeyError, TypeError) as error:
        return fresh, StoreError(f"a save lacks {error}", where=root.part("data", ref.key))
    return fresh, None


def _damaged(root: Root, ref: Ref, fresh: Ref, file: str, what: str) -> Problem:
    """What is kept of a run whose data is damaged: the saves before, and those in front of it in the same chunk."""
    number = chunk_number(os.path.basename(file))
    is_own = number is not None and file == root.part("data", ref.key, chunk_name(number))
    found = salvage(root, ref.run_id, ref.key, number, fresh.save + 1) if number and is_own else None
    kept = found.last if found else fresh.save
    back = partial(_cut_back, root, ref, fresh, found)
    if not (found and found.is_proven) and is_finished(root, ref):
        cut = back if kept else partial(set_aside, root, "data", ref.key)
        return Problem(file, what, partial(set_finished_aside, root, ref, cut), outlook=CAN_ANSWER)
    if found and _is_fork_lost(ref, found):
        return _lost_fork(root, ref, file, what)
    if not kept:
        outlook = f"no save of run {ref.run_id!r} can be kept, and its id would start over"
        return Problem(file, what, partial(_drop, root, ref), outlook=outlook, is_lost=True)
    doubt = ""
    if found and not found.is_proven:
        doubt = f" ({found.first} to {found.last} are whole lines that no checksum vouches for)"
    mend = partial(back, f"saves 1 to {kept} of run {ref.run_id!r} were kept{doubt}")
    return Problem(file, what, mend, outlook=f"saves 1 to {kept} can be kept{doubt}")


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
    set_aside(root, "runs", f"{name_of(ref.run_id)}.json")
    aside = set_aside(root, "data", ref.key) or "gone"
    return f"no save of run {ref.run_id!r} can be kept: it was {aside}, and its id would start over"


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
        with root.make_folder("runs") as runs:
            fresh.write(runs, by=data)
    return done + moved(aside)


def _rebuild(root: Root, name: str, folders: list[DataFolder]) -> None:
    """A ref that cannot be read goes aside, and is made again from the newest data of its run."""
    found = [examine(root, Ref.new(folder.run_id or "", folder.key))[0] for folder in folders]
    set_aside(root, "runs", f"{name}.json")
    if whole := [ref for ref in found if ref.save]:
        newest = max(whole, key=lambda ref: ref.fields.get("updated_at") or 0.0)
        with root.make_folder("runs") as runs, root.make_folder("data", newest.key) as data:
            newest.write(runs, by=data)


def problems_of_orphan(root: Root, folder: DataFolder) -> list[Problem]:
    """A data folder that no ref names."""
    file = root.part("data", folder.key)
    aside = partial(set_aside, root, "data", folder.key)
    if folder.unreadable:
        return [Problem(folder.unreadable.where or file, folder.unreadable.message)]
    if folder.is_dropped:
        what = "data of a run that is gone, kept for forks that are gone too"
        is_read = bool(readers(root, folder.key))
        return [] if is_read else [Problem(file, what, partial(release, root, folder.key), is_leftover=True)]
    if folder.chunks == 0:
        what = "a crash cut off a run before it began"
        return [] if folder.is_young else [Problem(file, what, partial(release, root, folder.key), is_leftover=True)]
    if folder.run_id is None:
        return [Problem(file, "data of an unknown run: no part of it can be read", aside, is_lost=True)]
    if folder.saves > 1 and not _has_ref(root, folder.run_id):
        what = f"the ref of run {folder.run_id!r} is missing; it can be made from the data"
        return [Problem(file, what, partial(_rebuild, root, name_of(folder.run_id), [folder]))]
    what = f"a crash cut off run {folder.run_id!r} before it began"
    return [Problem(file, what, aside, is_leftover=True)]


def _has_ref(root: Root, run_id: str) -> bool:
    try:
        read_fields(root, name_of(run_id))
    except FileNotFoundError:
        return False
    except StoreError:
        return True
    return True


def _problems_of_end(root: Root, ref: Ref, ref_file: str, fresh: Ref | None) -> list[Problem]:
    """An unfinished run of a session has a marker there, and no segment.

    ``fresh`` is the ref as the data has it; None where something is wrong with that, which has been said.
    """
    if ref.session_id is None or ref.status == Status.COMPLETED:
        return []
    if fresh and fresh.status != Status.COMPLETED and is_finished(root, ref):
        return [unfinished(root, ref, ref_file)]
    file = f"{name_of(ref.run_id)}.json"
    with root.open_folder(*marker_folder(ref.session_id)) as folder:
        if folder and file in folder.names():
            return []
    where = root.part(*marker_folder(ref.session_id), file)
    return [Problem(where, "the session does not know of this unfinished run", partial(write_marker, root, ref))]


def _remove(root: Root, *parts: str) -> None:
    with root.make_folder(*parts[:-1]) as folder:
        folder.unlink(parts[-1])
