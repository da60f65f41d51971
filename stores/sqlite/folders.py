"""The folders above a file of the store: each that we make is for this user alone, whatever the umask."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path


def make_folder(folder: Path) -> None:
    """The folder and those above it, as far as they are missing, each on the disk when the next is made in it."""
    for place in (*reversed(folder.parents), folder):
        if place.is_dir():
            continue
        try:
            place.mkdir(0o700)
        except FileExistsError as error:
            if not place.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place)) from error
            continue  # another process was faster
        place.chmod(0o700)  # an odd umask took even that away
        flush_folder(place.parent)


def flush_commits(database: Path) -> None:
    """Have on the disk what whoever was killed may have committed and not flushed: before anybody acts on it.

    With a rollback journal that is its removal from the folder, in WAL mode the log. Where either may not be opened,
    SQLite cannot flush it either.
    """
    with suppress(FileNotFoundError, PermissionError):
        log = os.open(f"{database}-wal", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(log)
        finally:
            os.close(log)
    with suppress(PermissionError):
        flush_folder(database.parent)


def flush_folder(folder: Path) -> None:
    """Have the names in it on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
