"""The crash sweep: `lovia`, as it is installed, killed at every state-changing system call it makes under the store.

    python tests/crash/sweep.py                     every mode on every scenario, at a sample of points
    python tests/crash/sweep.py --full              at every point (an hour)
    python tests/crash/sweep.py --modes kill,torn --scenarios fresh,queue --sample 20
    python tests/crash/sweep.py --store sqlite      the same on a database; its power losses have many outcomes: slow

After each crash the same command (or `lovia resume`) goes on, and verify.py compares what there is then with an
uncrashed run. Prints survived OF tried for each, and exits 1 when anything was lost. Linux on x86_64.

A powerloss is worked out from what was written; a powercut happens: a mounted file system is shut down with its log
unflushed, taken off and mounted again. That takes root, loop devices and mkfs; without them it is left out, and the
last line says so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios import DIES, SCENARIOS, STORES, Scenario

HERE = Path(__file__).resolve().parent
SAMPLE = 12
HOURS = 12 * 3600
"""What a whole sweep may take, in seconds."""

Fork = Callable[..., subprocess.CompletedProcess[bytes]]

MODES = {
    "kill": ["--mode", "kill"],
    "torn": ["--mode", "torn"],
    "short": ["--mode", "short"],
    "enospc": ["--mode", "errno", "--errno", "ENOSPC"],
    "enospc-sticky": ["--mode", "errno", "--errno", "ENOSPC", "--sticky"],
    "eio": ["--mode", "errno", "--errno", "EIO"],
    "eio-sticky": ["--mode", "errno", "--errno", "EIO", "--sticky"],
    "nested": ["--mode", "kill", "--ops", "rename", "--nested"],
    "powerloss-posix": ["--model", "posix"],
    "powerloss-ext4": ["--model", "ext4"],
    "powercut-ext4": ["--mode", "powercut", "--mountopts", "noauto_da_alloc"],
    "powercut-synced": ["--mode", "powercut", "--mountopts", "noauto_da_alloc", "--bystander"],
    "powercut-xfs": ["--mode", "powercut", "--fs", "xfs"],
}
"""A mode is how crash_sweep.py or powerloss.py (in tools/) is asked for it. ext4 is mounted without what it does for
programs that rename before they flush; "synced": some other program has flushed its own file just before the cut."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one mode did to one scenario."""

    scenario: str
    mode: str
    tried: int
    survived: int
    detail: str

    def __str__(self) -> str:
        return f"{self.scenario:17} {self.mode:16} {self.survived:5} of {self.tried}"

    @property
    def lost(self) -> bool:
        return self.tried == 0 or self.survived < self.tried


class Sweep:
    """Runs the tools in one scratch folder."""

    def __init__(self, scratch: Path, store: str, jobs: int, *, warm: bool) -> None:
        self._environment = environment() | {"LOVIA_STORE": STORES[store]}
        self._scratch = scratch
        self._jobs = jobs
        self._warm = ["--warm", "warm"] if warm else []
        self._fork: Fork | None = importlib.import_module("warm").check if warm else None
        self._prepared: dict[tuple[str, ...], tuple[Path, Any]] = {}

    def prepare(self, scenario: Scenario) -> tuple[Path, Any]:
        """The folder of work as the scenario's command finds it, and what is stored there; shared by its like."""
        if scenario.setup not in self._prepared:
            work = self._scratch / f"prepared-{len(self._prepared)}"
            shutil.copytree(HERE / "agent", work / "agent", ignore=shutil.ignore_patterns("__pycache__"))
            (work / "disk").mkdir()
            self._prepared[scenario.setup] = work, self._records(scenario, work, *scenario.setup)
        return self._prepared[scenario.setup]

    def expect(self, scenario: Scenario) -> Path:
        """Note what is stored before the scenario's command, and behind it when nothing crashes."""
        template, before = self.prepare(scenario)
        work, noted = self._scratch / f"uncrashed-{scenario.name}", self._scratch / f"{scenario.name}.json"
        shutil.copytree(template, work)
        after = self._records(scenario, work, scenario.run)
        noted.write_text(json.dumps({"before": before, "after": after}), encoding="utf-8")
        return noted

    def _records(self, scenario: Scenario, work: Path, *commands: str) -> Any:
        """What is stored once the commands have run."""
        for command in commands:
            self._do(command, work)
        return json.loads(self._do(" ".join([*_verify(scenario), "--look"]), work)) if commands else None

    def _do(self, command: str, work: Path) -> bytes:
        """What the command prints. It must succeed, or kill itself where it is to die."""
        dies = command.startswith(DIES)
        env = self._environment | ({"DIE": "1"} if dies else {})
        done = self._run(command.removeprefix(DIES), work, env)
        if done.returncode != (-signal.SIGKILL if dies else 0):
            raise SystemExit(f"{command} exits {done.returncode}: {(done.stdout + done.stderr).decode()}")
        return done.stdout

    def _run(self, command: str, work: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
        if self._fork is None:
            return subprocess.run(shlex.split(command), cwd=work, env=env, capture_output=True, check=False)
        return self._fork(command, cwd=str(work), env=env, timeout=HOURS)

    def row(self, scenario: Scenario, mode: str, sample: int | None) -> Row:
        """Try one mode on one scenario, at ``sample`` points or at all."""
        noted = self._scratch / f"{scenario.name}.json"
        if not noted.exists():
            self.expect(scenario)
        results = self._scratch / "results.json"
        results.unlink(missing_ok=True)
        tool = shlex.join([*self._tool(scenario, mode, sample), "--json", str(results)])
        done = self._run(tool, self._scratch, self._environment | {"SWEEP_EXPECTED": str(noted)})
        trials = json.loads(results.read_text(encoding="utf-8")) if results.exists() else []
        survived = sum(not trial["bad"] for trial in trials)
        detail = (done.stdout + done.stderr).decode() if done.returncode or survived < len(trials) else ""
        return Row(scenario.name, mode, len(trials), survived, detail)

    def _tool(self, scenario: Scenario, mode: str, sample: int | None) -> list[str]:
        options = list(MODES[mode])
        if mode == "nested":
            options += [str(max(1, (sample or 40) // 8)), "--recover", scenario.recover[0]]
        tool = "powerloss.py" if mode.startswith("powerloss") else "crash_sweep.py"
        points = ["--sample", str(sample)] if sample else []
        return [
            *(sys.executable, str(HERE / "tools" / tool), *options, *points, "--exec", "-j", str(self._jobs)),
            *self._warm,
            *("--store", "disk/.lovia", "--workdir", str(self.prepare(scenario)[0]), "--tmp", str(self._scratch)),
            *("--run", scenario.run, "--check", " ".join(_verify(scenario))),
        ]


def _verify(scenario: Scenario) -> list[str]:
    return [sys.executable, str(HERE / "verify.py"), scenario.name]


def environment() -> dict[str, str]:
    """Ours, with the `lovia` installed beside this Python in front, and without settings of lovia's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOVIA_")}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def possible(mode: str) -> bool:
    """Whether this machine can do it: a power cut makes and mounts a file system."""
    if not mode.startswith("powercut"):
        return True
    return os.geteuid() == 0 and shutil.which("mkfs.xfs" if mode.endswith("xfs") else "mkfs.ext4") is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every point")
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"points a row (default {SAMPLE})")
    parser.add_argument("--modes", default=",".join(filter(possible, MODES)), help="comma separated")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="comma separated")
    parser.add_argument("--store", choices=STORES, default="file", help="which kind of store")
    parser.add_argument("--warm", action="store_true", help="fork processes that have lovia imported: much faster")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    given = parser.parse_args()
    sample = None if given.full else given.sample
    lost = 0
    with tempfile.TemporaryDirectory(prefix="lovia-sweep-") as scratch:
        sweep = Sweep(Path(scratch), given.store, given.jobs, warm=given.warm)
        for name in given.scenarios.split(","):
            if SCENARIOS[name].only not in (None, given.store):
                continue
            for mode in given.modes.split(","):
                row = sweep.row(SCENARIOS[name], mode, sample)
                print(row, flush=True)
                if row.lost:
                    lost += 1
                    print(row.detail, flush=True)
    outcome = f"LOST: {lost} rows" if lost else "nothing lost"
    left_out = "".join(f"; {mode} needs root and mkfs" for mode in MODES if not possible(mode))
    print(f"{outcome} ({given.store} store, {shutil.which('lovia')}{left_out})")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
