"""What a save costs: 5,000 steps through `lovia run`, with a user state of 50 KB and entries of about 1 KB.

    python benchmarks/saves.py [--steps 5000]

Counts (strace) are exact. Times are ratios to a floor that is measured in the same process, in between: a new file
of 2 KB, flushed, renamed, its folder flushed. Prints the goal beside each figure. Needs strace; takes minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import others
from counting import Window, count

HERE = Path(__file__).resolve().parent
LOVIA = Path(sys.executable).parent / "lovia"
RUN = ["run", "agent/agent.yaml", "go", "--run-id", "r1", "--store", ".lovia"]
PAYLOAD = 1_060
"""Bytes of JSON that one save adds at least: one entry of about 1 KB."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5000)
    steps = parser.parse_args().steps
    work = Path(tempfile.mkdtemp(prefix="lovia-saves-"))
    try:
        shutil.copytree(HERE / "agent", work / "agent", ignore=shutil.ignore_patterns("__pycache__"))
        return report(work, steps)
    finally:
        shutil.rmtree(work)


def report(work: Path, steps: int) -> int:
    times: dict[str, list[list[float]]] = {"saves": [], "floors": [], "steps": []}
    rows = []
    for k in (10, steps // 5, steps):
        _timed(work, times, k)
        window = count(_command(k + 42), work, first=k + 1, last=k + 41)
        rows.append((k, _around(times, "saves", k), _around(times, "floors", k), window))
    print_saves(rows)
    print_steps(times["steps"])
    print(f"store: {_size(work / '.lovia') / 1e6:.1f} MB for {2 * (steps + 42)} saves")
    others.print_all(work)
    return 0


def _timed(work: Path, times: dict[str, list[list[float]]], upto: int) -> None:
    """Drive the run to step ``upto`` under the clock."""
    target = work / "times.json"
    command = [sys.executable, str(HERE / "clocked.py"), str(target), *_command(upto)[1:]]
    subprocess.run(command, cwd=work, check=False, capture_output=True)
    for name, values in json.loads(target.read_text(encoding="utf-8")).items():
        times[name] += [[value[0], value[-1]] for value in values]


def _command(upto: int) -> list[str]:
    """The same command goes on with the run; only its limit rises."""
    return [str(LOVIA), *RUN, "--max-steps", str(upto)]


def _around(times: dict[str, list[list[float]]], name: str, k: int) -> float:
    """The median of what was measured within the last steps before ``k``, in seconds."""
    reach = max(9, k // 10)
    return statistics.median(seconds for step, seconds in times[name] if k - reach <= step <= k)


def print_saves(rows: Sequence[tuple[int, float, float, Window]]) -> None:
    print("save after step        time  floor  x floor | flushes  syscalls  opened  bytes/payload")
    for k, save, floor, window in rows:
        spent = f"{k:15,} {save * 1e3:8.2f} ms {floor * 1e3:5.2f} {save / floor:8.2f} |"
        counted = (
            f"{window.per_save('fsync', 'fdatasync'):7.2f} {window.per_save():9.2f} {window.per_save('openat'):7.2f}"
        )
        print(spent, counted, f"{window.bytes / window.saves / PAYLOAD:14.1f}")
    print("goal                                     1.30 |    2.20     10.00    1.00            9.0")


def print_steps(steps: Sequence[Sequence[float]]) -> None:
    """The loop's pace at the first thousand steps: a step is two saves, a model call and a tool call."""
    gaps = [(b[0], b[1] - a[1]) for a, b in itertools.pairwise(steps) if b[0] == a[0] + 1]
    early = statistics.median(gap for step, gap in gaps if 50 <= step <= 250)
    late = statistics.median([gap for step, gap in gaps if 800 <= step <= 1000] or [math.nan])
    print(f"step at 800 to 1,000 / at 50 to 250: {late / early:.2f} (goal 1.20)")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
