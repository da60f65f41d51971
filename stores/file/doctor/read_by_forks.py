"""Segments that only forks read: those that a rewind has undone, or a trim has written again in a later epoch.

They are mended where they stand, as those that count are, before their forks are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from stores.errors import StoreError
from stores.file.doctor.check_marks import read_parts
from stores.file.doctor.lost_segments import Lost, readable, restorable
from stores.file.names import name_of
from stores.file.places import Place, as_forked, newest_places, places_of, session_folder
from stores.file.readers import Part
from stores.file.root import Root


def restorable_for_forks(root: Root, session_id: str, sound: list[Place]) -> list[Lost]:
    """The lost segments that a fork of the session reads and a checkpoint can make whole again.

    ``sound`` are those that are known to be whole. Where a mark cannot be read, that comes first.
    """
    name, found = name_of(session_id), dict[str, Lost]()
    with suppress(StoreError), root.open_folder(*session_folder(session_id)) as folder:
        for part in read_parts(root, folder, name) if folder else ():
            found |= {lost.place.file: lost for lost in restorable_part(root, session_id, part, sound)}
    return list(found.values())


def restorable_part(root: Root, session_id: str, part: Part, sound: Sequence[Place] = ()) -> list[Lost]:
    """Those that stood in the session when it was forked there."""
    places = places_of(root, name_of(session_id))
    is_needed = any(place not in sound and not (place and readable(place)) for place in _numbered(places, part))
    return restorable(root, session_id, places, part) if is_needed else []


def _numbered(places: list[Place], part: Part) -> Iterator[Place | None]:
    """The segments of that part; None for one whose file is gone."""
    newest = newest_places(places, as_forked(part), chained=True)
    return (newest.get(n) for n in range(1, part["count"] + 1))
