"""The ids that a store knows, read from refs alone: for a shell that completes them, so fast and never an error.

It needs nothing but the standard library. An id counts when its file's name proves it; whether the record behind it
is whole is for those to see who use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stores.errors import LoviaError
from stores.file.disk import Folder
from stores.file.names import name_of
from stores.known import KnownIds

_DELETED = "deleted"  # as in stores.file.refs, which would load an event loop


def known_ids(path: str | Path) -> KnownIds:
    """What the store at ``path`` knows; what cannot be read is left out. A session exists once a run is in it."""
    runs = [ref for ref in _documents(f"{path}/runs") if ref.get("status") != _DELETED]
    logs = [
        log for log in _documents(f"{path}/sessions", "/session") if not (log.get("cleared") or log.get("prepared"))
    ]
    sessions = [*(log["id"] for log in logs), *(ref["session"] for ref in runs if isinstance(ref.get("session"), str))]
    return KnownIds([ref["id"] for ref in runs], list(dict.fromkeys(sessions)))


def _documents(path: str, inside: str = "") -> Iterator[dict[str, Any]]:
    """The documents ``NAME.json`` of a folder, or those ``inside`` its folders ``NAME``, that have their name's id."""
    try:
        folder = Folder.open(path)
        if folder is None:
            return
        with folder:
            for name in sorted(folder.names()) if inside else folder.records():
                document = _read(folder, f"{name}{inside}.json")
                if isinstance(document.get("id"), str) and name_of(document["id"]) == name:
                    yield document
    except LoviaError:
        return


def _read(folder: Folder, file: str) -> dict[str, Any]:
    try:
        found = json.loads(folder.read(file) or b"{}")
    except (LoviaError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
