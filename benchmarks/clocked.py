"""`lovia` with a clock around each save: python clocked.py TIMES.json ARGUMENTS OF LOVIA.

Every tenth save is followed by the floor, in the same process and on the same disk: a new file of 2 KB, flushed,
renamed into place, and its folder flushed. TIMES.json gets the seconds of each save, each floor and each step.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stores.file.lease import FileLease
from stores.records import Save

EVERY = 10


def floor(folder: int, name: str) -> float:
    """Seconds that it takes to place 2 KB durably."""
    began = time.perf_counter()
    fd = os.open(f"{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    os.write(fd, b"x" * 2048)
    os.fsync(fd)
    os.close(fd)
    os.rename(f"{name}.tmp", name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)
    return time.perf_counter() - began


def main() -> None:
    from lovia_cli.cli.app import main as lovia

    target = Path(sys.argv[1])
    times: dict[str, list[Any]] = {"saves": [], "floors": [], "steps": []}
    scratch = tempfile.mkdtemp(dir=target.parent)
    folder = os.open(scratch, os.O_RDONLY)
    awaited, prompt = FileLease.save, FileLease.save_now

    def note(save: Save, began: float) -> None:
        ended = time.perf_counter()
        times["saves"].append([save.step, save.event, ended - began])
        if save.event == "response":
            times["steps"].append([save.step, ended])
        if save.number % EVERY == 0:
            times["floors"].append([save.step, floor(folder, str(save.number))])

    async def save(lease: FileLease, save: Save) -> None:
        began = time.perf_counter()
        await awaited(lease, save)
        note(save, began)

    def save_now(lease: FileLease, save: Save) -> None:
        began = time.perf_counter()
        prompt(lease, save)
        note(save, began)

    FileLease.save, FileLease.save_now = save, save_now  # type: ignore[method-assign] # this is what a clock is
    code = lovia(sys.argv[2:])
    target.write_text(json.dumps(times), encoding="utf-8")
    os._exit(code)


if __name__ == "__main__":
    main()
