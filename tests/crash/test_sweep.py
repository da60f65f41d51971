"""The crash sweep, bounded: every point of one run, and a sample of all else. `sweep.py --full` does the rest."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("sweep.py")


def sweep(*options: str) -> list[tuple[str, str, int, int]]:
    """Scenario, mode, survived and tried of each row; fails with the sweep's own words when anything is lost."""
    done = subprocess.run([sys.executable, str(SWEEP), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^([\w-]+) +([\w-]+) +(\d+) of (\d+)$", done.stdout, re.M)
    return [(scenario, mode, int(survived), int(tried)) for scenario, mode, survived, tried in rows]


def test_r1_killed_at_every_operation_of_a_run() -> None:
    """From before the id is printed to between checkpoint, segment and marker."""
    [(_, _, survived, tried)] = sweep("--warm", "--full", "--modes", "kill", "--scenarios", "fresh")
    assert survived == tried
    assert tried > 100


@pytest.mark.parametrize(
    ("scenarios", "modes", "sample"),
    [
        ("keyless,queue,restart,fork,orphan", "kill", 2),
        ("rewind,trim,rm-run,rm-session,delete-on-success", "kill", 3),
        ("again", "torn,short,enospc,eio-sticky", 2),
        ("finalize", "nested", 2),
        ("resume", "powerloss-posix,powerloss-ext4", 6),
        ("twice", "powerloss-posix", 20),
    ],
)
def test_r1_a_sample_of_other_crashes(scenarios: str, modes: str, sample: int) -> None:
    rows = sweep("--warm", "--scenarios", scenarios, "--modes", modes, "--sample", str(sample))
    assert len(rows) == len(scenarios.split(",")) * len(modes.split(","))
    assert all(survived == tried >= sample for _, _, survived, tried in rows), rows


def test_r1_the_script_itself_as_it_is_installed() -> None:
    """The other tests fork processes that have lovia imported; this one starts the script each time."""
    assert sweep("--scenarios", "fresh", "--modes", "kill", "--sample", "2") == [("fresh", "kill", 2, 2)]


def test_r1_a_sample_of_crashes_on_a_database() -> None:
    rows = sweep("--warm", "--store", "sqlite", "--scenarios", "queue,rewind", "--modes", "kill", "--sample", "3")
    assert rows == [("queue", "kill", 3, 3), ("rewind", "kill", 3, 3)]
