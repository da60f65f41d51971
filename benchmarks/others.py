"""Loads, the loop, memory and starts beside their floors; `saves.py` prints them behind its own figures."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson

from lovia_cli.agent import Agent, Limits
from lovia_cli.engine.runner import CheckpointOptions, Runner
from lovia_cli.errors import LimitReached
from lovia_cli.models.scripted import ScriptedModel
from lovia_cli.tools.python import PythonTool
from stores.entries import AssistantTextEntry, ToolResultEntry, entry_to_json
from stores.file import FileCheckpointer
from stores.records import Save

HERE = Path(__file__).resolve().parent
LOVIA = str(Path(sys.executable).parent / "lovia")
RESULT = "a result of about a kilobyte " * 34
WORDS = [
    "the",
    "a",
    "to",
    "of",
    "test",
    "build",
    "path",
    "error",
    '"id"',
    "value:",
    "done",
    "café\n",
    "line",
    "42",
    "retry",
    "=",
    "None;",
    "src",
]
TURNS = 200


def print_all(work: Path) -> None:
    """``work`` holds the store of the long run."""
    print_load(work / ".lovia")
    print_loop()
    print_memory()
    print_starts(work)


def print_load(store: Path) -> None:
    """Loading a run beside reading and parsing one JSON file of the same entries."""
    pairs = store.parent / "pairs"
    asyncio.run(_save_pairs(FileCheckpointer(pairs)))
    asyncio.run(_print_load(pairs, "two a save, as the goal was taken", " (goal 1.50)"))
    asyncio.run(_print_load(store, "one a save, as the run above has them", ""))


async def _print_load(store: Path, shape: str, goal: str) -> None:
    run = await FileCheckpointer(store).load("r1")
    assert run is not None
    file = store.parent / "entries.json"
    file.write_bytes(orjson.dumps([entry_to_json(entry) for entry in run.entries]))
    loads, parses = [], []
    for _ in range(15):
        parses.append(_seconds(lambda: orjson.loads(file.read_bytes())))
        began = time.perf_counter()
        await FileCheckpointer(store).load("r1")
        loads.append(time.perf_counter() - began)
    ratio = statistics.median(loads) / statistics.median(parses)
    print(f"load of {len(run.entries):,} entries, {shape} / parse of one JSON file of them: {ratio:.2f}{goal}")


async def _save_pairs(store: FileCheckpointer) -> None:
    """5,000 entries of about a kilobyte of prose: a model's answer and a tool's result in each save."""
    pick = Random(5)
    async with store.lease("r1") as lease:
        for step in range(1, 2_501):
            said, found = (" ".join(pick.choices(WORDS, k=170)) for _ in range(2))
            answer = AssistantTextEntry(text=said, step=step)
            result = ToolResultEntry(call_id=f"call_{step}", output=found, step=step, position=1)
            head: dict[str, Any] = {"status": "running", "usage": {"requests": step}}
            await lease.save(
                Save(number=step, step=step, at=float(step), event="response", entries=[answer, result], head=head)
            )


def print_loop() -> None:
    """The engine with one tool a turn beside a bare loop that places two files a turn."""
    engine, bare = [], []
    _in_scratch(_engine_loop)
    for _ in range(3):
        bare.append(_in_scratch(_bare_loop))
        engine.append(_in_scratch(_engine_loop))
    ratio = statistics.median(engine) / statistics.median(bare)
    print(f"engine loop of {TURNS} turns / bare loop with two atomic files a turn: {ratio:.2f} (goal 1.60)")


def _in_scratch(loop: Callable[[Path], None]) -> float:
    scratch = Path(tempfile.mkdtemp(prefix="lovia-loop-"))
    try:
        return _seconds(lambda: loop(scratch))
    finally:
        shutil.rmtree(scratch)


def _bare_loop(scratch: Path) -> None:
    folder = os.open(scratch, os.O_RDONLY)
    for turn in range(TURNS):
        for name, size in ((f"m{turn}", 200), (f"t{turn}", len(RESULT))):
            fd = os.open(f"{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
            os.write(fd, b"x" * size)
            os.fsync(fd)
            os.close(fd)
            os.rename(f"{name}.tmp", name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
    os.close(folder)


def _engine_loop(scratch: Path) -> None:
    async def tick(n: int) -> str:
        """Tick."""
        del n
        return RESULT

    turn = {"tool_calls": [{"id": "call_0", "name": "tick", "arguments": {"n": 1}}]}
    model = ScriptedModel([turn], loop=True)
    agent = Agent(name="loop", model=model, tools=[PythonTool(tick)], limits=Limits(max_steps=TURNS))
    checkpoint = CheckpointOptions(FileCheckpointer(scratch / ".lovia"), run_id="r1")
    result = asyncio.run(Runner.outcome(agent, "go", checkpoint=checkpoint))
    assert isinstance(result.error, LimitReached)


def print_memory() -> None:
    """The peak of a run beside that of a process that imports pydantic."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(HERE / "agent", Path(scratch, "agent"))
        run = [LOVIA, "run", "agent/agent.yaml", "go", "--max-steps", str(TURNS), "--store", ".lovia"]
        beyond = _peak(run, scratch) - _peak([sys.executable, "-c", "import pydantic"], scratch)
    print(f"memory of a run of {TURNS} turns beyond `import pydantic`: {beyond / 1e6:.0f} MB (goal 60)")


def _peak(command: list[str], cwd: str) -> int:
    """Peak memory in bytes. Started by a small process: a child's peak counts its parent's size when it is forked."""
    small = (
        "import os, sys; pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ); "
        "print(os.wait4(pid, 0)[2].ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-Sc", small, *command], cwd=cwd, check=True, capture_output=True, text=True)
    return int(done.stderr.split()[-1]) * 1024


def print_starts(work: Path) -> None:
    """Commands that call no model beside a Python that does nothing: medians, taken in turns."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "lovia --version": [LOVIA, "--version"],
        "lovia history": [LOVIA, "history"],
        "lovia history RUN": [LOVIA, "history", "r1", "-n", "20"],
        "lovia doctor --help": [LOVIA, "doctor", "--help"],
    }
    goals = {"lovia --version": 8, "lovia history": 8}
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(11):
        for name, command in commands.items():
            spent[name].append(_seconds(lambda: subprocess.run(command, cwd=work, check=True, capture_output=True)))  # noqa: B023 - called at once
    floor = statistics.median(spent.pop("python -c pass"))
    for name, seconds in spent.items():
        print(
            f"start of {name} / python -c pass: {statistics.median(seconds) / floor:.1f} (goal {goals.get(name, 14)})"
        )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
