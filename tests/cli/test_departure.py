"""Ctrl-C twice: what runs is killed, and the command ends with its last words all the same (C37)."""

import subprocess
import sys

import pytest

from lovia_cli.cli.options import Call
from lovia_cli.render.streams import Streams
from tests.cli.lovia import KEYS, Lovia, Ran, call
from tests.cli.terminal import ENTER, at_terminal

TOOLS = """\
import asyncio, os, signal, time


def press(times: int) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)


async def waits() -> str:
    "Ends when it is told to."
    press(2)
    await asyncio.sleep(60)


async def holds() -> str:
    "Holds the event loop."
    press(2)
    time.sleep(60)


async def pressed() -> str:
    "Holds the event loop, and is pressed once more."
    press(3)
    time.sleep(60)
"""
TWICE = ["waits", "holds"]


def agent(lovia: Lovia, tool: str) -> None:
    lovia.write("tools.py", TOOLS)
    lovia.agent([call(tool), {"text": "ok"}], tools=f"tools: [./tools.py:{tool}]")


def advised(lovia: Lovia, ran: Ran) -> str:
    """The run that the last line of stderr names; it can be resumed."""
    assert ran.code == 130
    *_, before, last = ran.err.splitlines()
    assert "interrupted: stopped by SIGINT" in ran.err
    assert (before, last.rpartition(" ")[0]) == ("  go on with:", "lovia resume")
    run_id = last.rpartition(" ")[2]
    assert lovia("history", run_id, "--json").json["status"] == "interrupted"
    return run_id


@pytest.mark.parametrize("tool", TWICE)
def test_c37_after_a_second_ctrl_c_there_is_one_json_object(lovia: Lovia, tool: str) -> None:
    agent(lovia, tool)
    ran = lovia("run", "agent.yaml", "go", "--json")
    run_id, told = advised(lovia, ran), ran.json
    assert (list(told), told["run_id"], told["exit_code"]) == (KEYS, run_id, 130)
    assert told["error"]["code"] == "signal"
    assert told["error"]["hint"] == f"go on with: lovia resume {run_id}"


@pytest.mark.parametrize("tool", TWICE)
def test_c37_after_a_second_ctrl_c_ndjson_ends_as_ever(lovia: Lovia, tool: str) -> None:
    agent(lovia, tool)
    ran = lovia("run", "agent.yaml", "go", "-o", "ndjson")
    run_id, lines = advised(lovia, ran), ran.lines
    kinds = [line["type"] for line in lines]
    assert (kinds[0], kinds[-1], kinds.count("run.finished")) == ("run.started", "run.finished", 1)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert (lines[-1]["run_id"], lines[-1]["exit_code"]) == (run_id, 130)
    assert lines[-1]["error"]["hint"] == f"go on with: lovia resume {run_id}"


@pytest.mark.parametrize("tool", TWICE)
def test_c37_after_a_second_ctrl_c_text_names_the_command_that_goes_on(lovia: Lovia, tool: str) -> None:
    agent(lovia, tool)
    ran = lovia("run", "agent.yaml", "go")
    advised(lovia, ran)
    assert ran.out == ""


def test_c37_a_third_ctrl_c_ends_it_without_a_word(lovia: Lovia) -> None:
    agent(lovia, "pressed")
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--json")
    assert (ran.code, ran.out, ran.err) == (130, "", "run r1\n")
    assert lovia("history", "r1", "--json").json["status"] == "interrupted"


@pytest.mark.parametrize("tool", TWICE)
def test_c37_a_second_ctrl_c_ends_a_conversation_too(lovia: Lovia, tool: str) -> None:
    agent(lovia, tool)
    seen = at_terminal(lovia, "run", "agent.yaml", "-s", "u1", "--no-color", steps=[("you> ", "go" + ENTER)])
    run_id = lovia("history", "u1", "--json").json["unfinished"][0]["run_id"]
    assert (seen.code, f"lovia resume {run_id}" in seen.lines) == (130, True)


@pytest.mark.parametrize(
    ("run_id", "session_id", "words"), [("r 1", "s", "'r 1'"), ("s", "s", "run:s"), ("run:r", None, "run:run:r")]
)
def test_c37_a_command_that_is_broken_off_names_its_run_once_that_has_begun(
    run_id: str, session_id: str | None, words: str
) -> None:
    command = Call(Streams(), environ={}, verb="run", run_id=run_id, session_id=session_id)
    assert command.failed(KeyboardInterrupt()).go_on is None
    command.has_begun = True
    answer = command.failed(KeyboardInterrupt())
    assert (answer.exit_code, answer.go_on) == (130, f"lovia resume {words}")
    assert answer.as_json()["error"]["hint"] == f"go on with: lovia resume {words}"


def test_it_comes_upon_a_module_that_is_just_being_loaded() -> None:
    """And kills what that has started, which is nothing: an import of its own would find it half there, and fail."""
    program = (
        "import sys, types; from lovia_cli.cli.signals import Departure\n"
        "sys.modules['lovia_cli.tools.process'] = types.ModuleType('lovia_cli.tools.process')\n"
        "leave = Departure(lambda: None); leave(2, None); leave(2, None)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
