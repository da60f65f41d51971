"""Writing a file that was asked for: whole or not at all, and for its owner alone."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from lovia_cli.errors import UserError


def place(path: Path, data: bytes, option: str) -> Path:
    """Write ``data`` to ``path``, which ``option`` named, and return its absolute path.

    A regular file is replaced in one step, with mode 0600; a link is followed, and into a pipe or a device it is
    written as it comes. Raises `UserError` where that cannot be, with nothing changed.
    """
    if not str(path).strip() or path.name in ("", "..") or "\0" in str(path):
        raise UserError("no file named", where=option, hint=f"name one: {option} FILE")
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", where=option, hint="choose another place") from error
    return path.absolute()


def _replace(target: Path, data: bytes) -> None:
    """Write beside it and rename; `mkstemp` makes a file of mode 0600."""
    fd, beside = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise
