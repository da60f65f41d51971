"""R11 and Z9: one executor a run, a dead one is followed at once, a living one can be asked to stop."""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from tests.cli.lovia import Lovia, end
from tests.field.kit import HANG_ONCE, asked, calls, kill, lines, make_agent, say, shell, start

RUN = ("run", "agent.yaml", "go", "--run-id", "r1")


def hanging(lovia: Lovia) -> None:
    make_agent(lovia, [calls(("h", "hang", {})), say()], shell("hang", "echo start >> n.txt; " + HANG_ONCE))


def clear(lovia: Lovia, process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()
    with suppress(ProcessLookupError):
        os.killpg(int((lovia.folder / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("command", [RUN, ("resume", "r1"), ("runs", "finalize", "r1")])
def test_r11_a_stopped_owner_is_not_taken_over(lovia: Lovia, command: tuple[str, ...]) -> None:
    hanging(lovia)
    process = start(lovia, *RUN)
    process.send_signal(signal.SIGSTOP)
    ran = lovia(*command)
    assert (ran.code, ran.out) == (6, "")
    assert f"process {process.pid} on {os.uname().nodename}" in ran.err
    assert lovia("history", "r1", "--json").json["owner"]["pid"] == process.pid
    clear(lovia, process)
    assert lines(lovia, "n.txt") == ["start"]


def test_r11_a_stopped_owner_that_wakes_up_goes_on(lovia: Lovia) -> None:
    hanging(lovia)
    process = start(lovia, *RUN)
    process.send_signal(signal.SIGSTOP)
    assert lovia("resume", "r1").code == 6
    os.killpg(int((lovia.folder / "pid").read_text()), signal.SIGKILL)  # its tool ends, with an error
    process.send_signal(signal.SIGCONT)
    assert end(process).code == 0
    assert asked(lovia) == [("r1", 1), ("r1", 2)]


def test_r11_a_dead_owner_is_followed(lovia: Lovia) -> None:
    hanging(lovia)
    kill(lovia, *RUN)
    assert lovia("history", "r1", "--json").json["owner"] is None
    assert lovia(*RUN).code == 0
    assert lines(lovia, "n.txt") == ["start", "start"]


def test_z9_cancel_stops_a_tool(lovia: Lovia) -> None:
    hanging(lovia)
    process = start(lovia, *RUN)
    ran = lovia("cancel", "r1")
    assert ran.code == 0
    assert end(process).code == 143
    with pytest.raises(ProcessLookupError):
        os.killpg(int((lovia.folder / "pid").read_text()), 0)
    assert not list((lovia.folder / ".lovia" / "cancel").glob("*")) or lovia("resume", "r1").code == 0


def test_z9_cancel_stops_a_model_call_and_outlives_no_owner(lovia: Lovia) -> None:
    make_agent(lovia, [{"text": "never", "delay": 600}])
    process = lovia.start(*RUN)
    assert process.stderr is not None
    assert process.stderr.readline() == b"run r1\n"
    assert lovia("cancel", "r1").code == 0
    assert end(process).code == 143
    assert lovia("cancel", "r1").code == 0  # nobody executes it: it is left as it is
    make_agent(lovia, [say()])
    assert lovia("resume", "r1").out == "done\n"
