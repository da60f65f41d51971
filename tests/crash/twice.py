"""lovia, killed when it is about to flush one folder of the store for the first time; then the same command again.

    twice.py FOLDER lovia ...

What the first has renamed is there for the second, and a power cut may still undo it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def main(folder: str, *command: str) -> None:
    sys.argv = list(command)
    child = os.fork()
    if child == 0:
        _die_before_flushing(folder)
    else:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"it flushed no folder {folder}"
    from lovia_cli.__main__ import main as lovia

    sys.exit(lovia())


def _die_before_flushing(folder: str) -> None:
    flush = os.fsync

    def fsync(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").readlink().match(f".lovia/{folder}"):
            os.kill(os.getpid(), signal.SIGKILL)
        flush(fd)

    os.fsync = fsync


if __name__ == "__main__":
    main(*sys.argv[1:])
