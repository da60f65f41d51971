"""Open markers: which runs of a session may be unfinished. A hint, so that nobody searches all runs.

A marker is placed before its run's ref and removed when the run's segment is in the session, or the run is
gone. It names the run's data as well: a run whose creation was cut off is cleared through it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from stores import codec
from stores.errors import StoreDamagedError, StoreWriteError
from stores.file.disk import Folder
from stores.file.names import is_key, name_of
from stores.file.refs import Ref
from stores.file.root import Root


def marker_folder(session_id: str) -> tuple[str, str, str]:
    return "sessions", name_of(session_id), "open"


def write_marker(root: Root, ref: Ref, *, by: Folder | None = None) -> None:
    """Say durably that the run may be unfinished. A run without a session has no marker."""
    if ref.session_id is None:
        return
    marker = {"kind": "open", "id": ref.run_id, "session": ref.session_id, "key": ref.key}
    with root.make_folder(*marker_folder(ref.session_id)) as folder:
        folder.write(f"{name_of(ref.run_id)}.json", codec.encode(marker), by=by)


def remove_marker(root: Root, ref: Ref) -> None:
    """The run is finished or gone. Not flushed, nor insisted on: a marker that stays is only looked at once more."""
    if ref.session_id is None:
        return
    with root.open_folder(*marker_folder(ref.session_id)) as folder, suppress(StoreWriteError):
        if folder:
            folder.unlink(f"{name_of(ref.run_id)}.json")


def read_marker(folder: Folder, name: str) -> dict[str, Any] | None:
    """The marker of that name; None when there is none."""
    data = folder.read(f"{name}.json")
    if data is None:
        return None
    where = folder.where(f"{name}.json")
    marker = codec.decode(data, "open", where=where)
    if not isinstance(marker.get("id"), str) or name_of(marker["id"]) != name or not is_key(marker.get("key")):
        raise StoreDamagedError("the marker is of another run than its name says", where=where)
    return marker
