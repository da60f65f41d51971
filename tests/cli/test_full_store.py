"""A completed run is replayed from a store that takes no write (R6)."""

from pathlib import Path

import pytest

from tests.cli.lovia import Lovia


def completed(lovia: Lovia) -> None:
    lovia.agent([{"text": "the answer"}])
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "s1").code == 0


def unlockable(store: Path) -> None:
    """No lock of it can be opened, as on a read-only file system, whoever the user is."""
    for lock in store.glob("locks/*/*.lock"):
        lock.unlink()
        lock.mkdir()


@pytest.mark.parametrize("command", ["lovia resume r1", "lovia run agent.yaml go --run-id r1 -s s1"])
def test_r6_a_completed_run_is_replayed_on_a_full_disk(lovia: Lovia, command: str) -> None:
    completed(lovia)
    ran = lovia.shell(f"set -o pipefail; (ulimit -f 0; {command}) | cat")
    assert (ran.code, ran.out) == (0, "the answer\n")


def test_r9_a_new_run_on_a_full_disk_is_refused(lovia: Lovia) -> None:
    completed(lovia)
    ran = lovia.shell("set -o pipefail; (ulimit -f 0; lovia run agent.yaml go --run-id r2) 2>&1 | cat")
    assert (ran.code, "cannot write" in ran.out) == (10, True)


def test_r6_a_completed_run_is_replayed_where_no_lock_can_be_taken(lovia: Lovia) -> None:
    completed(lovia)
    unlockable(lovia.folder / ".lovia")
    ran = lovia("resume", "r1")
    assert (ran.code, ran.out) == (0, "the answer\n")
