"""The guard of a program that uses lovia as a library."""

import os
import signal
import subprocess
import sys

PROGRAM = """
import asyncio, os, time
from lovia_cli import Agent, Runner, ScriptedModel
from lovia_cli.tools.shell import ShellTool

turns = [{"tool_calls": [{"name": "hi", "arguments": {}}]}, "done"]
agent = Agent(name="g", model=ScriptedModel(turns), tools=[ShellTool("hi", "Say hi.", "echo hi", shell=True)])
print(asyncio.run(Runner.run(agent, "go")).output, flush=True)
child = os.fork()
if not child:
    {child}
print(child, flush=True)
"""


def test_a_program_ends_while_a_child_that_it_forked_goes_on() -> None:
    program = PROGRAM.replace("{child}", "os.closerange(0, 3); time.sleep(600)")
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    said, child = ended.stdout.splitlines()
    os.kill(int(child), signal.SIGKILL)
    assert (said, ended.returncode, ended.stderr) == ("done", 0, "")


def test_the_child_has_a_guard_of_its_own() -> None:
    """It runs a command as its parent did, and ends as any program; neither waits for the other's guard."""
    again = "print(asyncio.run(Runner.run(agent, 'again')).output, flush=True); raise SystemExit"
    program = PROGRAM.replace("{child}", again).replace("print(child, flush=True)", "print(os.waitpid(child, 0)[1])")
    warned = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(warned, capture_output=True, text=True, timeout=60)
    assert (ended.stdout.splitlines(), ended.returncode, ended.stderr) == (["done", "done", "0"], 0, "")
