"""Files of which nothing but the end is damaged: what is missing there follows from all the rest, so it is put back.

This comes before every other rule. A file that is cut off within its last line, or that has something behind it, is
otherwise as lost as any: its checksum does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from stores import codec
from stores.errors import StoreDamagedError, StoreError
from stores.file.disk import Folder
from stores.file.doctor.problem import Problem
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.root import Root

_DONE = "all of it is there, as its checksum shows"


def problems_of_ends(root: Root, places: Iterable[tuple[str, ...]]) -> list[Problem]:
    """Those of the files there, each of ``places`` a file or a folder of them."""
    return [
        Problem(root.part(*file), what, partial(_put_right, root, file), outlook=_DONE)
        for place in places
        for file, what in _damaged_ends(root, place)
    ]


def _damaged_ends(root: Root, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    with suppress(StoreError):  # a place of another kind, which is told of elsewhere
        if place[-1].endswith(".json"):
            with root.open_folder(*place[:-1]) as folder:
                names = [place[-1]] if folder else []
                yield from _damaged_in(folder, place[:-1], names)
        else:
            with root.open_folder(*place) as folder:
                names = sorted(name for name in folder.names() if name.endswith(".json")) if folder else []
                yield from _damaged_in(folder, place, names)


def _damaged_in(
    folder: Folder | None, place: tuple[str, ...], names: list[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name in names:
        with suppress(StoreError):
            data = folder.read(name) if folder else None
            try:
                if data is not None:
                    codec.check(data, where="")
            except StoreDamagedError as error:
                if codec.whole_within(data or b""):
                    yield (*place, name), error.message


def _put_right(root: Root, file: tuple[str, ...]) -> str:
    """The unfinished file stands in quarantine: whoever takes the record's lock looks for none elsewhere."""
    with root.make_folder(*file[:-1]) as folder, root.make_folder("quarantine") as temps:
        whole = codec.whole_within(folder.read(file[-1]) or b"")
        aside = moved(set_aside(root, *file, keep=True))
        if whole:
            folder.write(file[-1], whole, by=temps)
    return f"{_DONE}: it was put right{aside}"
