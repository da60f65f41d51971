"""Where the doctor puts what is damaged: moved aside, never deleted, since it may be all there is.

A name that is taken there is given a number, and nothing is put over it; a file that stands there already, byte for
byte, is not kept twice.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from stores.file.disk import TEMP, Folder, flush_parent, write_error
from stores.file.root import Root


def moved(aside: str | None) -> str:
    """Where `set_aside` has put it, as the end of a sentence."""
    return f"; what was there was {aside}" if aside else ""


def set_aside(root: Root, *parts: str, keep: bool = False) -> str | None:
    """Move a file or folder into ``quarantine``, durably, and say where. Missing: nothing happens, None.

    ``keep``: a file's name stays in its place too, for another to be put over it.
    """
    source = root.part(*parts)
    if not os.path.lexists(source):
        return None
    with root.make_folder("quarantine") as quarantine:
        name, stands = _name_for(quarantine, _joined(parts), source)
        stays = keep and not os.path.isdir(source)
        try:
            if stands:
                quarantine.sync()
                if not stays:
                    os.unlink(source)
            elif stays:
                os.link(source, quarantine.where(name), follow_symlinks=False)
            else:
                os.rename(source, quarantine.where(name))
            quarantine.sync()
            flush_parent(source)
        except OSError as error:
            raise write_error(error, source) from error
    return f"moved to quarantine/{name}"


def copy_aside(root: Root, *parts: str) -> str:
    """Have all files of a folder in ``quarantine`` too, durably and at once, and say where.

    Nothing is copied: a file of ours is never written to, only replaced, so a second name keeps it as it is.
    """
    with root.make_folder(*parts) as source, root.make_folder("quarantine") as quarantine:
        name, _ = _name_for(quarantine, _joined(parts), source.path)
        try:
            with Folder.make(quarantine.where(name + TEMP)) as begun:
                _link_files(source, begun)
            os.rename(begun.path, quarantine.where(name))
        except OSError as error:
            raise write_error(error, source.path) from error
        quarantine.sync()
    return f"kept in quarantine/{name}"


def complete_aside(root: Root, *parts: str) -> str | None:
    """Where a folder stands in ``quarantine`` already, durably; files whose content it lacks get a second name there.

    None when no folder of that name does.
    """
    name = _joined(parts)
    with root.open_folder("quarantine") as quarantine, root.open_folder("quarantine", name) as aside:
        if quarantine is None or aside is None:
            return None
        with root.make_folder(*parts) as source:
            try:
                _link_files(source, aside)
            except OSError as error:
                raise write_error(error, aside.path) from error
        quarantine.sync()
    return f"quarantine/{name}"


def _link_files(source: Folder, into: Folder) -> None:
    """Give the files of ``source`` whose content ``into`` lacks a second name there."""
    for entry in source.names():
        name, stands = _name_for(into, entry, source.where(entry))
        if os.path.isfile(source.where(entry)) and not stands:
            os.link(source.where(entry), into.where(name), follow_symlinks=False)
    into.sync()


def _name_for(into: Folder, plain: str, source: str) -> tuple[str, bool]:
    """The name that what is at ``source`` takes in there, and whether it stands under it already."""
    name, n = plain, 0
    while os.path.lexists(into.where(name)):
        if _is_same(source, into.where(name)):
            return name, True
        n += 1
        name = f"{plain}.{n}"
    return name, False


def _is_same(one: str, other: str) -> bool:
    """True for two files with one content. What is no file, or cannot be read, is never the same."""
    if not all(stat.S_ISREG(os.lstat(path).st_mode) for path in (one, other)):
        return False
    if os.path.samefile(one, other):
        return True
    with suppress(OSError), open(one, "rb") as a, open(other, "rb") as b:
        return os.path.getsize(one) == os.path.getsize(other) and a.read() == b.read()
    return False


def _joined(parts: tuple[str, ...]) -> str:
    return "__".join(parts)
