"""Segments that only forks read: those that a rewind has undone, or a trim has written again in a later epoch.

They are mended where they stand, as those that count are, before their forks are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from stores.errors import StoreError
from stores.file.doctor.check_marks import read_parts
from stores.file.doctor.lost_segments import Lost, as_it_was, restorable, spans_of
from stores.file.names import name_of
from stores.file.places import Place, newest_places, places_of, session_folder
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
    places, fields = places_of(root, name_of(session_id)), as_it_was(part)
    newest = newest_places([place for place in places if place.n <= part["count"]], fields, chained=True)
    is_sound = all(newest.get(n) in sound for n in range(1, part["count"] + 1))
    is_sound = is_sound or len(spans_of(newest, fields)) == part["count"]
    return [] if is_sound else restorable(root, session_id, places, part)
