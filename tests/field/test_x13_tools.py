"""X13: a Python tool that exits, prints, recurses or interrupts ends as an error result; our stdout stays ours."""

from tests.cli.lovia import Lovia
from tests.field.kit import asked, calls, lines, make_agent, python, results, say

TOOLS = '''
"""Tools that do not behave."""
import os, sys


def exits() -> str:
    """Exit."""
    sys.exit(3)


def interrupts() -> str:
    """Interrupt."""
    raise KeyboardInterrupt


def prints() -> str:
    """Print."""
    print("to stdout")
    print("to stderr", file=sys.stderr)
    os.write(1, b"to fd 1\\n")
    os.system("echo from a child")
    return "printed"


def recurses() -> str:
    """Recurse."""
    return recurses()


def generates() -> object:
    """Generate."""
    yield "a"
    yield "b"


async def waits() -> str:
    """Wait."""
    return "awaited"


def vanishes() -> str:
    """Take the process down."""
    with open("n.txt", "a") as effects:
        effects.write("x\\n")
    os._exit(1)
'''
NAMES = ("exits", "interrupts", "prints", "recurses", "generates", "waits")


def test_x13_each_misbehaviour_is_a_result(lovia: Lovia) -> None:
    lovia.write("tools.py", TOOLS)
    make_agent(lovia, [calls(*((name, name, {}) for name in NAMES)), say()], python(*NAMES))
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert (ran.code, ran.out) == (0, "done\n"), ran
    found = {result["call_id"]: result for result in results(lovia, "r1")}
    assert {name for name in NAMES if found[name].get("is_error")} == {"exits", "interrupts", "recurses"}
    assert (found["prints"]["output"], found["waits"]["output"]) == ("printed", "awaited")
    assert found["generates"]["output"] == '["a","b"]'
    assert "SystemExit" in found["exits"]["output"]
    assert "RecursionError" in found["recurses"]["output"]


def test_x13_stdout_is_json_only(lovia: Lovia) -> None:
    lovia.write("tools.py", TOOLS)
    make_agent(lovia, [calls(("p", "prints", {})), say()], python("prints"))
    assert lovia("run", "agent.yaml", "go", "--json").json["output"] == "done"


def test_x13_a_tool_that_takes_the_process_down_is_not_run_again_when_it_must_not(lovia: Lovia) -> None:
    lovia.write("tools.py", TOOLS)
    tool = "  - {type: python, function: ./tools.py:vanishes, on_resume: fail}\n"
    make_agent(lovia, [calls(("v", "vanishes", {})), say()], tool)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1")
    assert (ran.code, ran.out) == (1, "")
    assert lovia("resume", "r1").out == "done\n"
    assert lines(lovia, "n.txt") == ["x"]
    [result] = results(lovia, "r1")
    assert result["is_error"]
    assert "was not run again" in result["output"]
    assert asked(lovia) == [("r1", 1), ("r1", 2)]
