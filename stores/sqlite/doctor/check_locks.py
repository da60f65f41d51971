"""What may stand in the place of the folder of locks beside the file, and is none: no run can be executed then."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from stores.oslock import lock_error
from stores.sqlite.doctor.quarantine import Problem


def problem_of_locks(locks: Path) -> Problem | None:
    """Nothing of ours is in it, so it can go aside. A folder, or nothing, is as it should be."""
    if locks.is_dir() or not os.path.lexists(locks):
        return None
    what = f"{locks.name} is not a folder, and no run can be executed without its locks there"
    return Problem(what, partial(_move_aside, locks), outlook="it can be moved aside")


def _move_aside(locks: Path) -> str:
    """Under a name of its own beside the file; the next run makes the folder."""
    aside = locks.with_name(f"{locks.name}.aside-{os.urandom(4).hex()}")
    try:
        locks.rename(aside)
    except OSError as error:
        raise lock_error(error, locks) from error
    return f"it was moved to {aside.name}"
