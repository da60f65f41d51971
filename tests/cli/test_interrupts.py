"""Ctrl-C while lovia loads: what is being imported stands whole before anything is broken off."""

from tests.cli.lovia import Lovia

AT_THE_IMPORT = """\
import os, signal, sys

class Finder:
    def find_spec(name, path=None, target=None):
        if name == "lovia_cli.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""
HELPER = """\
import os, signal

os.kill(os.getpid(), signal.SIGINT)
open("whole", "w").close()
"""


def test_c37_ctrl_c_before_the_command_line_is_read_is_answered_too(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia.write("sitecustomize.py", AT_THE_IMPORT)
    ran = lovia("run", "agent.yaml", "go", "--json", env={"PYTHONPATH": str(lovia.folder)})
    assert (ran.code, ran.json["exit_code"], ran.json["error"]["message"]) == (130, 130, "stopped by SIGINT")
    assert ran.json["error"]["hint"] == "nothing is lost: run the same command again"
    assert not (lovia.folder / ".lovia").exists()


def test_c37_ctrl_c_within_an_import_comes_when_the_module_stands(lovia: Lovia) -> None:
    lovia.write("helper.py", HELPER)
    lovia.write("tools.py", "import helper\n\nopen('further', 'w').close()\n\ndef look() -> str:\n    return 'x'\n")
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:look]")
    ran = lovia("run", "agent.yaml", "go", "--json")
    assert (ran.code, ran.json["error"]["message"]) == (130, "stopped by SIGINT")
    assert ((lovia.folder / "whole").exists(), (lovia.folder / "further").exists()) == (True, False)


def test_c37_ctrl_c_ends_a_tools_module_that_hangs_while_it_is_imported(lovia: Lovia) -> None:
    lovia.write("tools.py", HELPER.replace("open", "import time\ntime.sleep(60)\nopen") + "def look() -> str: ...\n")
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:look]")
    assert lovia("run", "agent.yaml", "go").code == 130
    assert not (lovia.folder / "whole").exists()


def test_c37_ctrl_c_between_a_fork_and_its_run_names_the_fork(lovia: Lovia) -> None:
    """The same command again would be refused, or make a second fork."""
    lovia.write("tools.py", "def look() -> str:\n    return 'x'\n")
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:look]")
    assert lovia("run", "agent.yaml", "go", "--run-id", "r").code == 0
    lovia.write("tools.py", HELPER + "def look() -> str:\n    return 'x'\n")
    ran = lovia("fork", "r", "--from-step", "0", "--new-id", "f", "--run", "--json")
    assert (ran.code, ran.json["run_id"], ran.json["error"]["hint"]) == (130, "f", "go on with: lovia resume f")
    lovia.write("tools.py", "def look() -> str:\n    return 'x'\n")
    assert lovia("resume", "f").out == "hi\n"


def test_c37_ctrl_c_while_a_fork_is_made_says_to_look_first(lovia: Lovia) -> None:
    """It may be there."""
    lovia.agent([{"text": "hi"}])
    assert lovia("run", "agent.yaml", "go", "--run-id", "r").code == 0
    lovia.write("sitecustomize.py", AT_THE_IMPORT.replace("lovia_cli.cli.app", "lovia_cli.engine.forking"))
    ran = lovia("fork", "r", "--from-step", "0", "--store", ".lovia", env={"PYTHONPATH": str(lovia.folder)})
    assert (ran.code, ran.out) == (130, "")
    hint = "see whether the fork is there before you make it again: lovia history --store .lovia --tree"
    assert ran.err.splitlines()[-1] == f"  hint: {hint}"
