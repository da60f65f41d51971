"""What may be wrong with the archived outputs of a run, and how they are made again from copies of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from stores.errors import StoreDamagedError, StoreError
from stores.file.disk import Folder
from stores.file.doctor.problem import NO_DAMAGE, Problem, problems_of_files
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.places import Place, places_of, read_segment
from stores.file.readers import session_names
from stores.file.refs import read_ref
from stores.file.results import RESULTS, file_of, read_result, write_result
from stores.file.root import Root
from stores.file.segments import segment_of
from stores.file.snapshots import newest
from stores.promises import Promise, Shown, in_checkpoint, in_session, shown, untold


def problems_of_results(root: Root, name: str) -> list[Problem]:
    """Everything that is wrong with the outputs in the folder of that name."""

    def look(folder: Folder, file: str) -> Problem | None:
        try:
            read_result(folder, file)
        except StoreDamagedError as error:
            return _damaged(root, name, file, error.message)
        return None

    return problems_of_files(root, RESULTS, name, look=look)


def _damaged(root: Root, name: str, file: str, what: str) -> Problem:
    """An output that can be made again from a copy, or is lost."""
    try:
        promise = _promise(root, name, file)
    except NO_DAMAGE as error:
        return Problem(root.part(RESULTS, name, file), what, outlook=untold(error))
    if promise.copy:
        outlook = f"it can be made again from {promise.copy.place}"
        return Problem(root.part(RESULTS, name, file), what, partial(_make_again, root, name, file), outlook=outlook)
    mend = partial(_move_aside, root, name, file, promise.loss)
    return Problem(root.part(RESULTS, name, file), what, mend, outlook=promise.loss, is_lost=True)


def _move_aside(root: Root, name: str, file: str, loss: str) -> str:
    return f"{loss}{moved(set_aside(root, RESULTS, name, file))}"


def _make_again(root: Root, name: str, file: str) -> str:
    """Looked for once more: neither the session's lock is held nor the run's."""
    copy = _promise(root, name, file).copy
    if copy is None:
        raise StoreError("its copy is gone meanwhile", hint="look again: lovia doctor")
    aside = set_aside(root, RESULTS, name, file, keep=True)
    with root.make_folder(RESULTS, name) as folder:
        write_result(folder, copy.reference, copy.result.output)
    return f"it was made again from {copy.place}{moved(aside)}"


def _promise(root: Root, name: str, file: str) -> Promise:
    return Promise.among(one for one in _shown(root, name) if file_of(one.reference) == file)


def _shown(root: Root, name: str) -> Iterator[Shown]:
    """The results of the run of that name in its checkpoint, or the history that was kept of it, and in every segment.

    As far as they are not damaged; segments that only forks read are among them. Raises what is no damage.
    """
    with suppress(StoreDamagedError), root.open_folder("runs") as runs:
        ref = read_ref(runs, name)
        run = newest(root, ref) if ref else None
        yield from shown(in_checkpoint(run.run_id), run.run_id, run.entries) if run else ()
    for place in _segments(root, name):
        with suppress(StoreDamagedError):
            document = read_segment(place, None)
            segment = segment_of(document, f"{place.folder}/{place.file}")
            yield from shown(in_session(str(document["id"])), segment.run_id, segment.entries)


def _segments(root: Root, name: str) -> Iterator[Place]:
    """Those of the run of that name, in all sessions."""
    for session in session_names(root):
        with suppress(StoreDamagedError):
            yield from (place for place in places_of(root, session) if place.digest == name.rpartition(".")[2])
