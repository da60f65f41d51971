"""Runs that their session holds as finished, and whose checkpoint has lost its end.

A segment is appended when its run is completed, and never again (S3). To go on with such a run would do its last steps
over, and nothing of that could be appended; to forget it would free its id, and with that its idempotency keys (R4).
So what is left of the checkpoint goes aside, and one is made again from the segment: the id replays.
"""

from __future__ import annotations

from collections.abc import Callable

from stores import codec
from stores.closing import save_of_segment
from stores.errors import StoreError, StoreUnreadableError, StoreVersionError
from stores.file.chunks import Tail
from stores.file.doctor.quarantine import Problem, set_aside
from stores.file.forking import readers, release
from stores.file.markers import remove_marker
from stores.file.names import chunk_name, name_of, new_key
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.segments import read_log, read_segment, segment_of
from stores.findings import CAN_ANSWER, answers
from stores.records import Save, Segment


def is_finished(root: Root, ref: Ref) -> bool:
    """True when the whole segment of the run is in its session; raises as `finished_segment` does."""
    return finished_segment(root, ref) is not None


def finished_segment(root: Root, ref: Ref) -> Segment | None:
    """The whole segment of the run in its session, as far as that is not damaged.

    Raises `StoreUnreadableError` or `StoreVersionError` where it may be in there, and cannot be looked for.
    """
    if ref.session_id is None:
        return None
    try:
        place = read_log(root, ref.session_id).find(ref.run_id)
        segment = segment_of(read_segment(place, None), f"{place.folder}/{place.file}") if place else None
    except (StoreUnreadableError, StoreVersionError):
        raise
    except StoreError:
        return None
    return None if segment is None or segment.truncated else segment


def unfinished(root: Root, ref: Ref, file: str) -> Problem:
    """What to say of a finished run whose checkpoint is whole and tells of an unfinished one."""
    what = f"the checkpoint of run {ref.run_id!r} breaks off before its end"
    return Problem(file, what, lambda: set_finished_aside(root, ref), outlook=CAN_ANSWER)


def set_finished_aside(root: Root, ref: Ref, cut_back: Callable[[], object] | None = None) -> str:
    """A checkpoint made of the segment takes the place of the ref, and then the data goes aside.

    But what forks read of those stays, and is ``cut_back`` to what is whole.
    """
    segment = finished_segment(root, ref)
    if cut_back and readers(root, ref.key):
        cut_back()
    aside = set_aside(root, "runs", f"{name_of(ref.run_id)}.json", keep=True)
    if segment is not None and ref.session_id is not None:
        _write_again(root, ref.run_id, save_of_segment(segment, ref.session_id))
    if readers(root, ref.key):
        release(root, ref.key)
    else:
        aside = set_aside(root, "data", ref.key) or aside
    return answers(ref.run_id, aside or "gone")


def _write_again(root: Root, run_id: str, save: Save) -> None:
    """The run as that one save, in new data. Its ref is the commit; its session knows already, so no marker is left."""
    ref = Ref.new(run_id, new_key(run_id))
    ref.advance_by(save)
    tail = Tail(run_id, ref.key, sets={})
    tail.add(codec.encode_save(save), save)
    with root.make_folder("data", ref.key) as data, root.make_folder("runs") as runs:
        data.write(chunk_name(1), tail.lines.bytes())
        ref.point_at(1, tail.lines.sum)
        ref.write(runs, by=data)
    remove_marker(root, ref)
