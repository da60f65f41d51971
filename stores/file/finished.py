"""Runs that their session holds as finished, and whose checkpoint has lost its end.

A segment is appended when its run is completed, and never again (S3). To go on with such a run would do its last steps
over, and nothing of that could be appended: what is left of the checkpoint goes aside, and the session answers (R4).
"""

from __future__ import annotations

from collections.abc import Callable

from stores.errors import StoreError, StoreUnreadableError, StoreVersionError
from stores.file.forking import readers, release
from stores.file.names import name_of
from stores.file.quarantine import Problem, set_aside
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.segments import read_log, read_segment
from stores.findings import CAN_ANSWER, answers


def is_finished(root: Root, ref: Ref) -> bool:
    """True when the whole segment of the run is in its session, as far as that is not damaged.

    Raises `StoreUnreadableError` or `StoreVersionError` where it may be in there, and cannot be looked for.
    """
    if ref.session_id is None:
        return False
    try:
        place = read_log(root, ref.session_id).find(ref.run_id)
        return place is not None and not read_segment(place, None).get("truncated")
    except (StoreUnreadableError, StoreVersionError):
        raise
    except StoreError:
        return False


def unfinished(root: Root, ref: Ref, file: str) -> Problem:
    """What to say of a finished run whose checkpoint is whole and tells of an unfinished one."""
    what = f"the checkpoint of run {ref.run_id!r} breaks off before its end"
    return Problem(file, what, lambda: set_finished_aside(root, ref), outlook=CAN_ANSWER)


def set_finished_aside(root: Root, ref: Ref, cut_back: Callable[[], object] | None = None) -> str:
    """The ref goes aside, then the data; but what forks read of those stays, and is ``cut_back`` to what is whole."""
    if cut_back and readers(root, ref.key):
        cut_back()
    aside = set_aside(root, "runs", f"{name_of(ref.run_id)}.json")
    if readers(root, ref.key):
        release(root, ref.key)
    else:
        aside = set_aside(root, "data", ref.key) or aside
    return answers(ref.run_id, aside or "gone")
