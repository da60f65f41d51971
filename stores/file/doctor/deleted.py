"""Whether a run whose ref is lost had been deleted, and only its history was kept: as far as anything tells.

The data does not: a deletion that keeps the history writes nothing but the ref. What is left of that may still say so.
So may the session. An unfinished run has a marker there; a finished one has that until its segment is appended.
"""

from __future__ import annotations

import re
from contextlib import suppress

from stores import codec
from stores.errors import StoreError
from stores.file.markers import marker_folder
from stores.file.names import name_of
from stores.file.places import read_segment
from stores.file.refs import DELETED, Ref
from stores.file.root import Root
from stores.file.segments import read_log

_STATUS = re.compile(rb'"status"\s*:\s*"(\w+)"')


def was_deleted(root: Root, ref: Ref) -> bool | None:
    """True or False where it can be told; ``ref`` is what the data says of the run."""
    told = _by_its_ref(root, ref.run_id)
    return _by_its_session(root, ref) if told is None else told


def _by_its_ref(root: Root, run_id: str) -> bool | None:
    """What the damaged ref still says. Its status stands before all that others may have put into it."""
    with suppress(StoreError), root.open_folder("runs") as runs:
        data = (runs.read(f"{name_of(run_id)}.json") if runs else None) or b""
        found = _STATUS.search(data)
        if found and codec.dumps(run_id) in data[: found.start()]:
            return found[1] == DELETED.encode()
    return None


def _by_its_session(root: Root, ref: Ref) -> bool | None:
    """A run with a whole segment may have been deleted as well: that stays in the session then."""
    if ref.session_id is None:
        return None
    with suppress(StoreError), root.open_folder(*marker_folder(ref.session_id)) as markers:
        if markers is None:
            return None
        if f"{name_of(ref.run_id)}.json" in markers.names():
            return False
        place = read_log(root, ref.session_id).find(ref.run_id)
        return place is None or bool(read_segment(place, None).get("truncated")) or None
    return None
