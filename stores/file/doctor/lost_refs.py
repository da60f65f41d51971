"""Runs whose ref cannot be read, or is gone: made again from their data, or from what their session holds of them."""

from __future__ import annotations

from functools import partial

from stores import codec
from stores.errors import StoreError
from stores.file.chunks import Chunk, read_all
from stores.file.doctor.finished import held_run, save_from_segment, write_again
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.refs import Ref, parse_ref
from stores.file.root import Root
from stores.file.survey import DataFolder
from stores.findings import CAN_ANSWER, answers
from stores.records import Status


def read_fields(root: Root, name: str) -> Ref:
    """The ref of that name. Raises what is wrong with it."""
    with root.open_folder("runs") as runs:
        data = runs.read(f"{name}.json") if runs else None
        if runs is None or data is None:
            raise FileNotFoundError(name)
        return parse_ref(data, name, runs.where(f"{name}.json"))


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


def lost_ref_of(root: Root, name: str, file: str, what: str, folders: list[DataFolder]) -> Problem:
    """What to say of a run without a ref that can be read, whose data are the ``folders``."""
    refs = [_ref_from(root, folder) for folder in folders]
    if whole := [ref for ref in refs if ref.save]:
        newest = max(whole, key=lambda ref: ref.fields.get("updated_at") or 0.0)
        return Problem(file, what, partial(_write_ref, root, name, newest), outlook="it can be made from the data")
    if held := held_run(root, name.rpartition(".")[2]):
        return Problem(file, what, partial(_answer, root, name, held, folders), outlook=CAN_ANSWER)
    mend = partial(_set_aside, root, name, folders)
    if not folders:
        return Problem(file, f"{what}; no data of it was found", mend, is_lost=True)
    outlook = f"no save of run {folders[0].run_id!r} can be kept, and its id would start over"
    return Problem(file, what, mend, outlook=outlook, is_lost=True)


def _ref_from(root: Root, folder: DataFolder) -> Ref:
    """The ref as the data has it. It names the last chunk that is there: so one that lacks before it is missed."""
    ref, _ = examine(root, Ref.new(folder.run_id or "", folder.key))
    ref.fields["tail"] = max(ref.tail, folder.tail)
    return ref


def _write_ref(root: Root, name: str, ref: Ref) -> str:
    """The ref that cannot be read goes aside, and is made again as the newest data of its run have it."""
    aside = set_aside(root, "runs", f"{name}.json")
    with root.make_folder("runs") as runs, root.make_folder("data", ref.key) as data:
        data.sync()  # a killed writer may not have: what the ref says is there then
        ref.write(runs, by=data)
    return f"it was made from the data{moved(aside)}"


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
    if not folders:
        return aside
    return f"no save of run {folders[0].run_id!r} can be kept: it was {aside}, and its id would start over"
