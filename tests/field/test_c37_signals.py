"""C37: a signal stops what the tool has started too, saves the run, and leaves it resumable."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.lovia import Lovia, end
from tests.field.kit import calls, lines, make_agent, results, say, shell, start

FAMILY = shell(
    "family",
    "echo start >> n.txt; [ -e again ] && exit 0; "
    "sleep 301 & echo $! > child; echo $$ > pid; touch again; exec sleep 302",
)


def alive(pid: int) -> bool:
    """True while the process runs; one that is dead and not yet reaped does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_c37_no_child_survives_a_signal(lovia: Lovia, number: int, code: int) -> None:
    make_agent(lovia, [calls(("f", "family", {})), say()], FAMILY)
    process = start(lovia, "run", "agent.yaml", "go", "--session", "u1", "--run-id", "r1")
    process.send_signal(number)
    ran = end(process)
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err
    assert ran.err.splitlines()[-1] == "lovia resume r1"
    for name in ("pid", "child"):
        assert not alive(int((lovia.folder / name).read_text()))
    info = lovia("history", "r1", "--json").json
    assert (info["status"], results(lovia, "r1")) == ("interrupted", [])

    assert lovia("resume", "r1").out == "done\n"
    assert lines(lovia, "n.txt") == ["start", "start"]
    assert len(results(lovia, "r1")) == 1


def test_c37_a_second_interrupt_leaves_nothing_behind_either(lovia: Lovia) -> None:
    stubborn = "trap '' INT TERM HUP; sleep 301 & echo $! > child; echo $$ > pid; touch again; while :; do wait; done"
    make_agent(lovia, [calls(("f", "stubborn", {})), say()], shell("stubborn", stubborn))
    process = start(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert end(process).code == 130
    for name in ("pid", "child"):
        assert not alive(int((lovia.folder / name).read_text()))
    assert lovia("history", "r1", "--json").json["status"] == "interrupted"


def test_c37_only_our_own_group_is_killed(lovia: Lovia) -> None:
    bystander = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")
    make_agent(lovia, [calls(("f", "family", {})), say()], FAMILY)
    process = start(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    process.send_signal(signal.SIGTERM)
    assert end(process).code == 143
    assert alive(bystander)
    os.kill(bystander, signal.SIGKILL)
    os.waitpid(bystander, 0)
