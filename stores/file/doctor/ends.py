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
    is_file = place[-1].endswith(".json")
    within = place[:-1] if is_file else place
    with suppress(StoreError), root.open_folder(*within) as folder:  # a place of another kind is told of elsewhere
        if folder is None:
            return
        for name in [place[-1]] if is_file else sorted(folder.names()):
            with suppress(StoreError):
                data = folder.read(name) if name.endswith(".json") else None
                if data is not None and (what := _damage_of(data)) and codec.whole_within(data):
                    yield (*within, name), what


def _damage_of(data: bytes) -> str:
    try:
        codec.check(data, where="")
    except StoreDamagedError as error:
        return error.message
    return ""


def _put_right(root: Root, file: tuple[str, ...]) -> str:
    """The unfinished file stands in quarantine: whoever takes the record's lock looks for none elsewhere."""
    with root.make_folder(*file[:-1]) as folder, root.make_folder("quarantine") as temps:
        whole = codec.whole_within(folder.read(file[-1]) or b"")
        aside = moved(set_aside(root, *file, keep=True))
        if whole:
            folder.write(file[-1], whole, by=temps)
    return f"{_DONE}: it was put right{aside}"
