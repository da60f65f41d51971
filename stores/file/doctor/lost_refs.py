"""Runs whose ref cannot be read, or is gone: made again from their data, or from what their session holds of them."""

from __future__ import annotations

import os
from functools import partial

from stores import codec
from stores.errors import StoreError
from stores.file.chunks import read_all
from stores.file.doctor.deleted import was_deleted
from stores.file.doctor.finished import held_run, save_from_segment, write_again
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.forking import readers
from stores.file.names import may_be_of
from stores.file.refs import DELETED, Ref
from stores.file.root import Root
from stores.file.survey import DataFolder, look_into
from stores.findings import CAN_ANSWER, answers, lost_run
from stores.ids import as_words
from stores.records import Status


def examine(root: Root, ref: Ref) -> tuple[Ref, StoreError | None]:
    """The ref as its data has it, up to the first thing that is wrong with them, and that."""
    fresh = Ref(ref.run_id, ref.fields | {"status": Status.RUNNING.value, "save": 0})
    last, where = None, root.part("data", ref.key)
    try:
        for chunk in read_all(root, ref.run_id, ref.key, ref.tail):
            where = chunk.where
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
        return fresh, StoreError(f"a save lacks {error}", where=where)
    return fresh, None


def problems_of_lost(root: Root, name: str, error: StoreError | None, folders: dict[str, DataFolder]) -> list[Problem]:
    """What to say of the run of that name, whose ref cannot be read, or is not there though its data has begun.

    ``folders`` are all there were; its own are looked into again, as it may have been deleted since.
    """
    there = [look_into(root, folder.key) if folder.run_name == name else folder for folder in folders.values()]
    there = [folder for folder in there if os.path.lexists(root.part("data", folder.key))]
    mine = [folder for folder in there if folder.run_name == name and (error or folder.has_begun)]
    if error:
        file, what = error.where or root.part("runs", f"{name}.json"), error.message
    elif mine:
        file, what = root.part("data", mine[0].key), f"the ref of run {mine[0].run_id!r} is missing"
    else:
        return []
    run_id = mine[0].run_id if mine else None
    if any(folder.unreadable and may_be_of(folder.key, run_id) for folder in there):
        return [Problem(file, f"{what}; its data may be what cannot be read")]
    return [_lost_ref(root, name, file, what, mine)]


def is_read_by_forks(root: Root, key: str, folders: dict[str, DataFolder]) -> bool:
    """True when a fork reads the data: it has a mark there, or says so itself and has lost it."""
    forks = [other.key for other in folders.values() if other.base == key]
    return bool(readers(root, key)) or any(os.path.isdir(root.part("data", fork)) for fork in forks)


def _lost_ref(root: Root, name: str, file: str, what: str, folders: list[DataFolder]) -> Problem:
    """The ref is made from the newest of the data; without a save there, the run is what its session holds of it."""
    refs = [_ref_from(root, folder) for folder in folders]
    if whole := [ref for ref in refs if ref.save]:
        newest = max(whole, key=lambda ref: ref.fields.get("updated_at") or 0.0)
        return _from_data(root, name, newest, file, what)
    if held := held_run(root, name):
        return Problem(file, what, partial(_answer, root, name, held, folders), outlook=CAN_ANSWER)
    mend = partial(_set_aside, root, name, folders)
    if not folders:
        return Problem(file, f"{what}; no data of it was found", mend, is_lost=True)
    return Problem(file, what, mend, outlook=lost_run(str(folders[0].run_id)), is_lost=True)


def _ref_from(root: Root, folder: DataFolder) -> Ref:
    """The ref as the data has it. It names the last chunk that is there: so one that lacks before it is missed."""
    ref, _ = examine(root, Ref.new(folder.run_id or "", folder.key))
    ref.fields["tail"] = max(ref.tail, folder.tail)
    return ref


def _from_data(root: Root, name: str, ref: Ref, file: str, what: str) -> Problem:
    """A run that was deleted is not brought back: its history is what was kept."""
    made, is_deleted = "made from the data", was_deleted(root, ref)
    if is_deleted:
        ref.fields |= {"status": DELETED, "keep": True}
        made += f", as the history kept of run {ref.run_id!r}, which had been deleted"
    elif is_deleted is None:
        made += f"; where the run had been deleted, delete it again with: lovia rm {as_words(f'run:{ref.run_id}')}"
    return Problem(file, what, partial(_write_ref, root, name, ref, made), outlook=f"it can be {made}")


def _write_ref(root: Root, name: str, ref: Ref, made: str) -> str:
    """The ref that cannot be read goes aside, and is made again over it as the newest data of its run have it."""
    aside = set_aside(root, "runs", f"{name}.json", keep=True)
    with root.make_folder("runs") as runs, root.make_folder("data", ref.key) as data:
        data.sync()  # a killed writer may not have: what the ref says is there then
        ref.write(runs, by=data)
    return f"it was {made}{moved(aside)}"


def _answer(root: Root, name: str, held: Ref, folders: list[DataFolder]) -> str:
    """The run is what its session holds of it; what is left of ref and data goes aside."""
    save = save_from_segment(root, held)
    aside = set_aside(root, "runs", f"{name}.json", keep=True)
    write_again(root, held, save)
    for folder in folders:
        aside = set_aside(root, "data", folder.key) or aside
    return answers(held.run_id, aside or "gone")


def _set_aside(root: Root, name: str, folders: list[DataFolder]) -> str | None:
    aside = set_aside(root, "runs", f"{name}.json")
    for folder in folders:
        aside = set_aside(root, "data", folder.key) or aside
    return lost_run(str(folders[0].run_id), aside or "gone") if folders else aside
