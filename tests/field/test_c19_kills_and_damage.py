"""C19: killed at random moments, nothing is half written; damage is named, and hurts nothing else."""

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.lovia import Lovia
from tests.field.kit import asked, calls, lines, make_agent, python, say, segments, store_files

QUICK = '''
def quick(n: int, ctx) -> str:
    """Do something quick."""
    with open("n.txt", "a") as effects:
        effects.write(ctx.idempotency_key + "\\n")
    return f"did {n}"
'''
RUNS = 15


def test_c19_random_kills(lovia: Lovia) -> None:
    """40 calls in each run, killed once at a random moment from its start to beyond its end."""
    lovia.write(
        "tools.py", "from lovia_cli.tools.base import ToolContext\n" + QUICK.replace("ctx)", "ctx: ToolContext)")
    )
    turns = [calls(*((f"c{n}", "quick", {"n": n}) for n in range(4))) for _ in range(10)]
    make_agent(lovia, [*turns, say()], python("quick"))
    when = random.Random(19)
    killed = []
    began = time.monotonic()
    assert lovia("run", "agent.yaml", "go", "--session", "u1", "--run-id", "r0").code == 0
    whole = time.monotonic() - began
    for number in range(1, RUNS):
        command = ("run", "agent.yaml", "go", "--session", "u1", "--run-id", f"r{number}")
        process = lovia.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(when.random() * 1.2 * whole)
        except subprocess.TimeoutExpired:
            killed.append(number)
        process.kill()
        process.wait()
        assert lovia("history", "--json").code == 0
        again = lovia(*command)
        assert (again.code, again.out) == (0, "done\n"), again
    assert segments(lovia, "u1") == [f"r{number}" for number in range(RUNS)]
    assert killed
    done, wanted = lines(lovia, "n.txt"), RUNS * 40
    assert len(set(done)) == wanted
    assert len(done) <= wanted + 4 * len(killed)  # of the four that ran side by side at each kill
    requests = asked(lovia)
    assert len(set(requests)) == RUNS * 11
    assert len(requests) <= RUNS * 11 + len(killed)


def two_sessions(lovia: Lovia) -> None:
    lovia.agent([{"text": "fine"}])
    for name in ("sick", "well"):
        assert lovia("run", "agent.yaml", "go", "--session", name, "--run-id", f"run-{name}").code == 0


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    path.write_bytes({"cut": data[:100], "emptied": b"", "appended": data + b'{"x":1}'}[how])


@pytest.mark.parametrize("how", ["cut", "emptied", "appended"])
@pytest.mark.parametrize("pattern", ["sessions/sick*/0*.json", "sessions/sick*/session.json"])
def test_c19_a_damaged_session_is_named_and_never_begun_anew(lovia: Lovia, pattern: str, how: str) -> None:
    two_sessions(lovia)
    [file] = store_files(lovia, pattern)
    damage(file, how)
    before = lovia.store_bytes()
    for command in (["show", "session:sick"], ["run", "agent.yaml", "more", "--session", "sick"]):
        ran = lovia(*command)
        assert (ran.code, ran.out) == (10, ""), ran
        assert file.name in ran.err
        assert "Traceback" not in ran.err
        assert lovia.store_bytes() == before
    assert lovia("run", "agent.yaml", "more", "--session", "well").out == "fine\n"


@pytest.mark.parametrize("how", ["cut", "emptied", "appended"])
@pytest.mark.parametrize("kind", ["runs", "data"])
def test_c19_a_damaged_run_is_named_and_the_others_are_listed(lovia: Lovia, kind: str, how: str) -> None:
    two_sessions(lovia)
    [ref] = store_files(lovia, "runs/run-sick*.json")
    key = json.loads(ref.read_bytes())["key"]
    [file] = [ref] if kind == "runs" else store_files(lovia, f"data/{key}/000001.json")
    damage(file, how)
    before = lovia.store_bytes()
    for command in (["show", "run:run-sick"], ["resume", "run-sick"]):
        ran = lovia(*command)
        assert (ran.code, ran.out) == (10, ""), ran
        assert file.name in ran.err
        assert "lovia doctor" in ran.err
    listed = lovia("history")
    assert listed.code == 0
    assert "run-well" in listed.out
    assert lovia.store_bytes() == before


def test_c19_a_damaged_ref_is_visible_in_the_listing(lovia: Lovia) -> None:
    two_sessions(lovia)
    [ref] = store_files(lovia, "runs/run-sick*.json")
    damage(ref, "cut")
    listed = {run["run_id"]: run["damage"] for run in lovia("history", "--json").json["runs"]}
    assert listed.pop("run-well") is None
    assert all(listed.values())
    assert len(listed) == 1
