"""Exact counts of what a save asks of the system, by strace, over a window of steps."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_CALL = re.compile(r"^\d+\s+(\w+)\(")
_WRITTEN = re.compile(r", (\d+)(?:\) = \d+| <unfinished \.\.\.>)$")


@dataclass(slots=True)
class Window:
    """System calls on the store between two steps."""

    saves: int
    calls: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    def per_save(self, *names: str) -> float:
        """Calls of these names, or all, per save."""
        return sum(self.calls[name] for name in names or self.calls) / self.saves

    def add(self, line: str) -> None:
        """Count a line of strace's, if it is about a file or folder of the store."""
        if "/.lovia" not in line or not (call := _CALL.match(line)):
            return
        self.calls[call[1]] += 1
        if call[1] == "write" and (written := _WRITTEN.search(line)):
            self.bytes += int(written[1])


def count(command: list[str], cwd: Path, *, first: int, last: int) -> Window:
    """Run ``command`` under strace and count from the tool call of step ``first`` to that of step ``last``.

    A step is two saves: the model's response and the tool's result. The marks are the tool's own looks at
    /mark/STEP.
    """
    log = cwd / "strace.txt"
    trace = ["strace", "-f", "-y", "-s", "0", "--seccomp-bpf", "-e", "trace=%file,%desc", "-o", str(log)]
    subprocess.run([*trace, *command], cwd=cwd, check=False, capture_output=True)
    window, inside = Window(saves=2 * (last - first)), False
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if inside and f'"/mark/{last}"' in line:
                return window
            inside = inside or f'"/mark/{first}"' in line
            if inside:
                window.add(line.rstrip("\n"))
    raise SystemExit(f"steps {first} to {last} were not traced: see {log}")
