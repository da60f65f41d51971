"""Sessions whose whole folder is gone, though a run names them.

The store makes a session's folder before the ref of its first run, and never removes it: a cleared session leaves an
empty one. `lovia rm` deletes the checkpoints first, so what it removed is named by no run.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress

from stores.errors import StoreError
from stores.file.names import name_of
from stores.file.refs import Ref, read_ref
from stores.file.root import Root


def vanished(root: Root, names: Collection[str]) -> list[str]:
    """The ids of the sessions that runs name, and that have none of the folders of those names."""
    named = {str(ref.session_id) for ref in _refs(root)}
    return sorted(session_id for session_id in named if name_of(session_id) not in names)


def is_vanished(root: Root, name: str) -> bool:
    """True when the session folder of that name is gone, and a run names the session."""
    if os.path.lexists(root.part("sessions", name)):
        return False
    return any(name_of(str(ref.session_id)) == name for ref in _refs(root))


def refs_of(root: Root, session_id: str) -> list[Ref]:
    """The runs that name the session, deleted ones not."""
    return [ref for ref in _refs(root) if ref.session_id == session_id]


def _refs(root: Root) -> list[Ref]:
    """The runs that name a session, as far as their refs can be read."""
    found = []
    with root.open_folder("runs") as runs:
        for name in runs.records() if runs else ():
            with suppress(StoreError):
                ref = read_ref(runs, name)
                found += [ref] if ref and ref.session_id and not ref.is_deleted else []
    return found
