"""Which segments of a session its forks still read (H3).

A forked session names what it begins with in its own session.json, and has a mark in the folder of each session that
it reads from. Marks are placed, looked at and removed under the lock of the session they stand in; one whose fork does
not name the session is left over from a crash, or from a fork that is gone.
"""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from typing import Any

from stores import codec
from stores.errors import StoreDamagedError, StoreError
from stores.file.chunks import data_folder, read_from
from stores.file.disk import Folder
from stores.file.heads import head_at
from stores.file.moments import cut_at_end
from stores.file.names import FORKS, is_name, name_of, parse_segment_name
from stores.file.places import as_forked, newest_places, places_in, session_folder
from stores.file.refs import read_ref
from stores.file.root import Root
from stores.file.session_json import SESSION, base_parts, own_session, part_of

Part = dict[str, Any]
"""What a fork reads: ``epoch`` and ``count`` say which segments, as in `Log.fields`."""


def read_by_forks(folder: Folder) -> set[str]:
    """The segment files of the session in ``folder`` that a fork reads."""
    return files_of(folder, [part for part in marks(folder).values() if part])


def files_of(folder: Folder, parts: list[Part]) -> set[str]:
    """The segment files of the session in ``folder`` that belong to one of the parts."""
    if not parts:
        return set()
    places = places_in(folder)
    read: set[str] = set()
    for part in parts:
        newest = newest_places(places, as_forked(part))
        read |= {place.file for n, place in newest.items() if n <= part["count"]}
    return read


def marks(folder: Folder) -> dict[str, Part | None]:
    """The marks of the session in ``folder``: by file name what the fork reads, None for one that is gone."""
    found = Folder.open(folder.where(FORKS))
    if found is None:
        return {}
    with found:
        return {f"{name}.json": read_here(folder, found, name) for name in found.records()}


def session_names(root: Root) -> list[str]:
    """The names of all session folders, sorted. What else may stand among them is none."""
    with root.open_folder("sessions") as sessions:
        return sorted(name for name in sessions.names() if is_name(name)) if sessions else []


def sources_first(root: Root, names: list[str]) -> list[str]:
    """The session folders of those names, no fork before a session that it begins with.

    That is seen by the marks, of which each fork has one more than its source, or than the one it shares all with; and
    by what it says itself, where marks are lost.
    """
    named = {name: _parts_of(root, name) for name in names}
    marked = dict.fromkeys(names, 0)
    for name in names:
        with suppress(StoreError), root.open_folder("sessions", name, FORKS) as found:
            for fork in found.records() if found else ():
                marked[fork] = marked.get(fork, 0) + 1
    return sorted(names, key=lambda name: (max(named[name], marked[name]), name))


def _parts_of(root: Root, name: str) -> int:
    """How many sessions the one in the folder of that name begins with, as far as it can be read."""
    with suppress(StoreError), root.open_folder("sessions", name) as folder:
        data = folder.read(SESSION) if folder else None
        return 0 if data is None else len(base_parts(own_session(data, name, root.part("sessions", name)).get("base")))
    return 0


def is_marked(root: Root, name: str) -> bool:
    """True when a session has a mark of a fork of that name, whether there is one or not. No folder is opened."""
    return any(os.path.lexists(root.part("sessions", source, FORKS, f"{name}.json")) for source in session_names(root))


def has_history(root: Root, folder: Folder) -> bool:
    """True when an unfinished run of the session in ``folder`` began with a history, or cannot be read."""
    markers = Folder.open(folder.where("open"))
    with markers or nullcontext():
        return any(_began_with_history(root, name) for name in (markers.records() if markers else ()))


def _began_with_history(root: Root, name: str) -> bool:
    try:
        with root.open_folder("runs") as runs:
            ref = read_ref(runs, name)
        if ref is None or ref.is_deleted:
            return False
        with data_folder(root, ref.run_id, ref.key, ref.tail) as data:
            [*_, last] = read_from(data, ref.run_id, ref.key, ref.tail, ref.tail)
        return head_at(root, cut_at_end(ref, last)).history_upto is not None
    except StoreError:
        return True


def is_begun(folder: str) -> bool:
    """True when the session folder holds segments or runs: it is no fork's that is gone."""
    opened, markers = Folder.open(folder), Folder.open(f"{folder}/open")
    with opened or nullcontext(), markers or nullcontext():
        is_written = opened is not None and any(parse_segment_name(name) for name in opened.names())
        return is_written or (markers is not None and any(markers.records()))


def place_mark(root: Root, fork_id: str, part: Part) -> None:
    """Say durably that the forked session reads that part of another one."""
    with root.make_folder(*session_folder(part["session"]), FORKS) as found:
        mark = {"kind": "reader", "id": fork_id, **part_of(part)}
        found.write(f"{name_of(fork_id)}.json", codec.encode(mark))


def read_mark(found: Folder, name: str) -> Part:
    """The mark of the fork of that name, checked."""
    where = found.where(f"{name}.json")
    mark = codec.decode(found.read(f"{name}.json") or b"", "reader", where=where)
    counts = type(mark.get("epoch")) is type(mark.get("count")) is int
    if not counts or not isinstance(mark.get("id"), str) or name_of(mark["id"]) != name:
        raise StoreDamagedError("this is not the mark of the fork that its name says", where=where)
    return mark


def read_here(folder: Folder, found: Folder, name: str) -> Part | None:
    """What the fork of that name reads of the session in ``folder``, whose marks are in ``found``; None: it is gone.

    Where the fork itself cannot be read, its mark is believed.
    """
    try:
        fork = Folder.open(f"{os.path.dirname(folder.path)}/{name}")
        if fork is None:
            return None
        with fork:
            data = fork.read(SESSION)
            if data is None and is_begun(fork.path):
                raise StoreDamagedError(f"{SESSION} is missing", where=fork.where(SESSION))
            fields = {} if data is None else own_session(data, name, fork.where(SESSION))
    except StoreError:
        return read_mark(found, name)
    parts = base_parts(fields.get("base"))
    return next((part for part in parts if name_of(part["session"]) == os.path.basename(folder.path)), None)
