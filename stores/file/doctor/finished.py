"""Runs that their session holds as finished, and whose checkpoint has lost its end.

A segment is appended when its run is completed, and never again (S3). To go on with such a run would do its last steps
over, and nothing of that could be appended; to forget it would free its id, and with that its idempotency keys (R4).
So what is left of the checkpoint goes aside, and one is made again from the segment: the id replays.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from stores import codec
from stores.closing import save_of_segment
from stores.errors import StoreDamagedError, StoreError
from stores.fields import changed
from stores.file.doctor.known_runs import KnownRuns
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import copy_aside, set_aside
from stores.file.forking import readers, release
from stores.file.markers import remove_marker
from stores.file.names import chunk_name, name_of, new_key
from stores.file.places import Place, places_of, read_segment
from stores.file.readers import session_names
from stores.file.reading import steady
from stores.file.refs import Ref
from stores.file.results import RESULTS, read_output
from stores.file.root import Root
from stores.file.segments import read_log, segment_of
from stores.file.tail import Tail
from stores.findings import CAN_ANSWER, answers
from stores.records import Save, Segment
from stores.references import results_of
from stores.surgery import entries_checksum


def is_finished(root: Root, ref: Ref) -> bool:
    """True when the whole segment of the run is in its session; raises as `finished_segment` does."""
    return finished_segment(root, ref) is not None


def finished_segment(root: Root, ref: Ref) -> tuple[Segment, str] | None:
    """The whole segment of the run in its session, as far as that is not damaged, and the checksum of the entries that
    were first appended.

    Raises `StoreUnreadableError` or `StoreVersionError` where it may be in there, and cannot be looked for.
    """
    try:
        found = steady(partial(_live_segment, root, ref.session_id, ref.run_id)) if ref.session_id else None
    except StoreDamagedError:
        return None
    return None if found is None or found[0].truncated else found


def _live_segment(root: Root, session_id: str, run_id: str) -> tuple[Segment, str] | None:
    place = read_log(root, session_id).find(run_id)
    document = read_segment(place, None) if place else None
    return (segment_of(document, f"{place.folder}/{place.file}"), document["checksum"]) if place and document else None


def unfinished(root: Root, ref: Ref, file: str) -> Problem:
    """What to say of a finished run whose checkpoint is whole and tells of an unfinished one."""
    what = f"the checkpoint of run {ref.run_id!r} breaks off before its end"
    return Problem(file, what, lambda: set_finished_aside(root, ref), outlook=CAN_ANSWER)


def set_finished_aside(
    root: Root, ref: Ref, cut_back: Callable[[], object] | None = None, *, stays: bool = True
) -> str:
    """A checkpoint made of the segment takes the place of the ref, and then the data goes aside.

    What forks read of those ``stays`` as well, and is ``cut_back`` to what is whole: in quarantine it is as it was.
    Raises as `save_from_segment` does, before anything is moved.
    """
    save = save_from_segment(root, ref)
    stays = stays and bool(readers(root, ref.key))
    copied = copy_aside(root, "data", ref.key) if stays else None
    if cut_back and stays:
        cut_back()
    aside = set_aside(root, "runs", f"{name_of(ref.run_id)}.json", keep=True)
    write_again(root, ref, save)
    if stays:
        release(root, ref.key)
    else:
        copied = set_aside(root, "data", ref.key)
    return answers(ref.run_id, copied or aside or "gone")


def _as_appended(root: Root, segment: Segment, checksum: str) -> Segment:
    """The segment with the archived outputs in the place of what a trim has left, where that is what was appended."""
    entries = list(segment.entries)
    with suppress(StoreError), root.open_folder(RESULTS, name_of(segment.run_id)) as folder:
        for index, reference, result in results_of(segment.run_id, segment.entries):
            if result.trimmed and folder:
                entries[index] = changed(result, output=read_output(folder, reference) or "", trimmed=None)
        if entries_checksum(entries) == checksum:
            return replace(segment, entries=entries)
    return segment


def _run_before(root: Root, session_id: str, run_id: str) -> str | None:
    """The run whose segment stands before that run's: with it ended the history that this one started from.

    Not exactly, where another run of the session ended meanwhile; a resume would have gone on behind that too (Z1).
    """
    place_before = partial(_place_before, root, session_id, run_id)
    try:
        return steady(lambda: str(read_segment(place, None)["run"]) if (place := place_before()) else None)
    except StoreError:
        place = steady(place_before)
        ref = KnownRuns(root).ref(place.digest) if place else None
        return ref.run_id if ref else None


def _place_before(root: Root, session_id: str, run_id: str) -> Place | None:
    log = read_log(root, session_id)
    places, own = [*log.shared, *log.places], log.find(run_id)
    return places[places.index(own) - 1] if own in places[1:] else None


def held_run(root: Root, run_name: str) -> Ref | None:
    """A ref, of data to come, of the finished run of that name: where just one session holds its segment.

    Raises `StoreUnreadableError` or `StoreVersionError` where one that cannot be looked into may be another.
    """
    found = []
    for name in session_names(root):
        with suppress(StoreDamagedError):
            ref = steady(partial(_held_in, root, name, run_name))
            found += [ref] if ref else []
    return found[0] if len(found) == 1 else None


def _held_in(root: Root, name: str, run_name: str) -> Ref | None:
    """The ref, if the session in the folder of that name holds the run as finished.

    Raises `StoreDamagedError` where it does not, and a segment of the run was listed that cannot be read.
    """
    damage: StoreDamagedError | None = None
    for place in (place for place in places_of(root, name) if place.digest == run_name.rpartition(".")[2]):
        try:
            document = read_segment(place, None)
        except StoreDamagedError as error:
            damage = error
            continue
        ref = Ref.new(document["run"], new_key(document["run"]))
        ref.fields["session"] = document.get("id")
        if name_of(ref.run_id) == run_name and is_finished(root, ref):
            return ref
    if damage:
        raise damage
    return None


def save_from_segment(root: Root, lost: Ref) -> Save:
    """The one save that the segment of the run comes to.

    Raises `StoreError` where the segment is not there any more: of its session no lock is held.
    """
    found = finished_segment(root, lost)
    if found is None or lost.session_id is None:
        raise StoreError("its segment has changed meanwhile", hint="look again: lovia doctor")
    known = {name: lost.fields.get(name) for name in ("parent", "history_limit")}
    known["history_upto"] = _run_before(root, lost.session_id, lost.run_id)
    return save_of_segment(_as_appended(root, *found), lost.session_id, known)


def write_again(root: Root, lost: Ref, save: Save) -> None:
    """The run as that one save, in new data. Its ref is the commit; its session knows already: no marker is left."""
    ref = Ref.new(lost.run_id, new_key(lost.run_id))
    ref.advance_by(save)
    tail = Tail(lost.run_id, ref.key, sets={})
    tail.add(codec.encode_save(save), save)
    with root.make_folder("data", ref.key) as data, root.make_folder("runs") as runs:
        data.write(chunk_name(1), tail.lines.bytes())
        ref.point_at(1, tail.lines.sum)
        ref.write(runs, by=data)
    remove_marker(root, ref)
