"""The ids that a store knows, read from refs alone: for a shell that completes them, so fast and never an error."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stores.errors import LoviaError
from stores.file.refs import parse_ref
from stores.file.root import Root
from stores.file.segments import SESSION, parse_session


class KnownIds(NamedTuple):
    """Ids of runs and of sessions, each once."""

    runs: list[str]
    sessions: list[str]


def known_ids(path: str | Path) -> KnownIds:
    """What the store at ``path`` knows; what cannot be read is left out. A session exists once a run is in it."""
    root = Root(path)
    runs, sessions = _runs(root), _sessions(root)
    return KnownIds(list(runs), list(dict.fromkeys([*sessions, *filter(None, runs.values())])))


def _runs(root: Root) -> dict[str, str | None]:
    """Each run's id, and its session's."""
    found: dict[str, str | None] = {}
    try:
        with root.open_folder("runs") as folder:
            for name in folder.records() if folder else ():
                try:
                    data = folder.read(f"{name}.json") if folder else None
                    ref = parse_ref(data, name, name) if data else None
                except LoviaError:
                    continue
                if ref and not ref.is_deleted:
                    found[ref.run_id] = ref.session_id
    except LoviaError:
        return {}
    return found


def _sessions(root: Root) -> list[str]:
    found: list[str] = []
    try:
        with root.open_folder("sessions") as folder:
            for name in folder.names() if folder else ():
                try:
                    data = folder.read(f"{name}/{SESSION}") if folder else None
                    fields = parse_session(data, name) if data else None
                except LoviaError:
                    continue
                if fields and not fields.get("cleared"):
                    found.append(fields["id"])
    except LoviaError:
        return []
    return found
