"""How long the commands that call no model take to start, as multiples of `python -c pass` in the same rounds.

    python benchmarks/start.py [--rounds 20] [--only WORD]

In each round every command runs once, so that a busy machine is slow for all of them. Printed are the ratios of the
least and of the median times on the wall, of the median processor time, and the goal.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SCRIPT = Path(sys.executable).parent / "lovia"
LIGHT, OTHER = 8, 14

COMMANDS = [
    (LIGHT, "--version"),
    (LIGHT, "__complete zsh show r"),
    (LIGHT, "completion bash"),
    (LIGHT, "history"),
    (LIGHT, "history r1"),
    (LIGHT, "history u1"),
    (OTHER, "show r1"),
    (OTHER, "show u1"),
    (OTHER, "cancel r1"),
    (OTHER, "doctor"),
    (OTHER, "resume r1"),
    (OTHER, "runs finalize r1"),
    (OTHER, "rewind u1 --keep-entries 4 --dry-run"),
    (OTHER, "trim u1 -y"),
    (OTHER, "prune --older-than 30d -y"),
    (OTHER, "rm nosuch -y"),
    (OTHER, "init"),
    (OTHER, "schema run"),
    (OTHER, "schema agent"),
    (OTHER, "validate agent.yaml"),
    (OTHER, "history --help"),
    (OTHER, "nosuch"),
]
"""Each with its goal: the multiple of Python's own start."""


class Times(NamedTuple):
    """Seconds of every round: on the wall, and of the processor."""

    wall: list[float]
    processor: list[float]

    def measure(self, command: list[str], folder: Path) -> None:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall.append(time.perf_counter() - began)
        self.processor.append(usage.ru_utime + usage.ru_stime)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--only", default="", metavar="WORD", help="commands with this word in them")
    given = options.parse_args()
    chosen = [(goal, line) for goal, line in COMMANDS if given.only in line]
    bare = Times([], [])
    times = [Times([], []) for _ in chosen]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        prepare(folder)
        for _ in range(given.rounds):
            bare.measure([sys.executable, "-c", "pass"], folder)
            for (_goal, line), taken in zip(chosen, times, strict=True):
                shutil.rmtree(folder / "new", ignore_errors=True)
                taken.measure([str(SCRIPT), *(["init", "new"] if line == "init" else line.split())], folder)
    print(f"python -c pass: {min(bare.wall) * 1000:.1f} ms at least, {statistics.median(bare.wall) * 1000:.1f} median")
    print("  min  median  processor  goal")
    for (goal, line), taken in zip(chosen, times, strict=True):
        least = min(taken.wall) / min(bare.wall)
        middle = statistics.median(taken.wall) / statistics.median(bare.wall)
        processor = statistics.median(taken.processor) / statistics.median(bare.processor)
        print(f"{least:5.1f}  {middle:6.1f}  {processor:9.1f}  {goal:4}  {line}")


def prepare(folder: Path) -> None:
    """An agent, and two runs in a session."""
    turns = "turns: [{text: It is on its way.}]\n"
    (folder / "script.yaml").write_text(turns, encoding="utf-8")
    agent = "version: 1\nname: desk\nmodel: scripted:script.yaml\ninstructions: Be brief.\n"
    (folder / "agent.yaml").write_text(agent, encoding="utf-8")
    (folder / ".lovia").mkdir(mode=0o700)
    for run_id in ("r1", "r2"):
        subprocess.run(
            [SCRIPT, "run", "agent.yaml", "go", "--run-id", run_id, "--session", "u1"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    main()
