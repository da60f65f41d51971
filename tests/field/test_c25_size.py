"""C25: huge outputs and long runs: what is kept is capped, memory is bounded, and disk grows with what is new."""

import subprocess
import sys

from tests.cli.lovia import SCRIPT, Lovia
from tests.field.kit import HANG_ONCE, asked, calls, kill, make_agent, python, results, say, shell

MB = 1024 * 1024
LARGE = '''
def large() -> str:
    """Give 100 KB."""
    with open("n.txt", "a") as effects:
        effects.write("x\\n")
    return "x" * 100_000
'''


def measured(lovia: Lovia, *argv: str) -> tuple[int, int]:
    """Exit code and peak memory of a command, in bytes.

    A small process starts it: a child's peak counts what its parent held when it was forked.
    """
    small = (
        "import os, sys; pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ); "
        "_, status, used = os.wait4(pid, 0); print(os.waitstatus_to_exitcode(status), used.ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-Sc", small, str(SCRIPT), *argv],
        cwd=lovia.folder,
        env=lovia.env,
        capture_output=True,
        check=True,
    )
    code, peak = done.stderr.split()[-2:]
    return int(code), int(peak) * 1024


def store_size(lovia: Lovia) -> int:
    return sum(len(data) for data in lovia.store_bytes().values())


def test_c25_a_huge_output_is_drained_and_capped(lovia: Lovia) -> None:
    make_agent(lovia, [say("small")])
    _, plain = measured(lovia, "run", "agent.yaml", "go", "--run-id", "small")
    flood = shell("flood", "yes 0123456789 | head -c 100000000")
    make_agent(lovia, [calls(("f", "flood", {})), say()], flood)
    code, peak = measured(lovia, "run", "agent.yaml", "go", "--run-id", "flood")
    assert code == 0
    assert peak < plain + 16 * MB
    [result] = results(lovia, "flood")
    assert len(result["output"]) < 70_000
    assert "bytes of output were cut here" in result["output"]
    assert result["output"].startswith("0123456789\n0123456789\n")
    assert store_size(lovia) < 200_000


def test_c25_two_hundred_large_results_killed_at_150_and_resumed(lovia: Lovia) -> None:
    size, steps = 100_000, 200
    lovia.write("tools.py", LARGE)
    turns = [calls((f"c{step}", "hang" if step == 150 else "large", {})) for step in range(1, steps + 1)]
    tools = python("large") + shell("hang", HANG_ONCE)
    make_agent(lovia, [*turns, say()], tools, more=f"limits: {{max_steps: {2 * steps}}}")
    kill(lovia, "run", "agent.yaml", "go", "--session", "u1", "--run-id", "r1")

    code, peak = measured(lovia, "resume", "r1")
    assert code == 0
    payload = size * (steps - 1)
    assert peak < 12 * payload
    assert store_size(lovia) < 2.1 * payload  # once in the run, once in the session
    assert len((lovia.folder / "n.txt").read_text().splitlines()) == steps - 1
    assert len(asked(lovia)) == steps + 1
    code, listing = measured(lovia, "history", "u1")
    assert (code, listing < 8 * payload) == (0, True)
