"""Whose files these are: what is stored decides what is executed, so all of it must be this user's own.

The path that was given may lead through links, as the user wishes; what SQLite and we put beside the file is never one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stores.errors import StoreError

_JOURNALS = ("-journal", "-wal", "-shm")


def check_owner(found: os.stat_result, where: str) -> None:
    """Raise `StoreError` unless it is this user's."""
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"it belongs to user {found.st_uid}, not to this one ({os.geteuid()})",
            where=where,
            hint="use a store of your own with --store, or change its owner",
        )


def check_journals(path: Path) -> None:
    """Raise `StoreError` where somebody else has put what SQLite would take for the file's journal."""
    for name in _JOURNALS:
        check_beside(path.with_name(path.name + name))


def check_beside(path: Path) -> None:
    """Raise `StoreError` when what is there is a link, or another user's. Nothing there is well."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISLNK(found.st_mode):
        raise StoreError("a link stands in the place of a file of the store", where=str(path), hint="remove the link")
    check_owner(found, str(path))
