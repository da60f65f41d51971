"""What can be known of a run from outside: its records, its effects, its requests, and what it printed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lovia_cli.cli.app import main as lovia
from lovia_cli.settings import locate_store
from lovia_cli.wiring import open_stores
from stores.entries import ToolResultEntry, entry_to_json
from stores.protocols import ResultStore
from stores.records import RunSnapshot
from stores.references import ResultRef

Transcripts = dict[str, list[Any]]
"""Entries by run id, as JSON, in the order of their runs."""

RUNS, BIG = ("r0", "r1", "r2", "t0"), (2, 1)
"""The runs whose outputs may be archived, and the step and position of the call that has the long one."""


def cli(*argv: str) -> tuple[int, str]:
    """The exit code and output of a lovia command, in a fork of this process: a start costs more."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os._exit(lovia(argv))
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode()


def cli_json(*argv: str) -> dict[str, Any]:
    """The JSON that a command prints; it must succeed."""
    code, text = cli(*argv, "--json")
    assert code == 0, f"lovia {' '.join(argv)} exits {code}: {text[-300:]}"
    found: dict[str, Any] = json.loads(text)
    return found


def shell(command: str) -> tuple[int, str]:
    """The exit code and last words of a command line; in a warm sweep it is a fork as well."""
    if os.environ.get("SWEEP_WARM"):
        return cli(*shlex.split(command)[1:])
    done = subprocess.run(["/bin/sh", "-c", "exec " + command], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, (done.stdout + done.stderr)[-400:]


@dataclass(slots=True)
class Seen:
    """The store at one moment, and what the tools and the model had seen by then. ``segments`` are of session s.

    ``listed`` is how many segments the listing of sessions gives in all. ``archive`` holds the outputs of the runs' big
    tool that were archived, by run.
    """

    runs: dict[str, RunSnapshot]
    sessions: dict[str, Transcripts]
    listed: int
    archive: dict[str, str]
    executions: Counter[str]
    requests: Counter[tuple[str, int]]

    @staticmethod
    def look() -> Seen:
        """Read everything there is."""
        return Seen(*asyncio.run(_records()), Counter(executions()), Counter(requests()))

    @property
    def segments(self) -> Transcripts:
        return self.sessions.get("s", {})

    @property
    def results(self) -> set[str]:
        """The calls that have a result, by idempotency key."""
        return {
            f"{run_id}/{entry.step}.{entry.position}"
            for run_id, run in self.runs.items()
            for entry in run.entries
            if isinstance(entry, ToolResultEntry)
        }

    @property
    def transcripts(self) -> Transcripts:
        """The entries of every run."""
        return {run_id: [entry_to_json(entry) for entry in run.entries] for run_id, run in self.runs.items()}

    @property
    def records(self) -> dict[str, Any]:
        """All that is stored, as JSON, without what differs from one time to the next."""
        return {"runs": self.transcripts, "sessions": self.sessions, "archive": self.archive}

    def responses(self, run_id: str) -> int:
        """How many responses of the run are saved."""
        return sum(self.runs[run_id].head.responses.values()) if run_id in self.runs else 0


async def _records() -> tuple[dict[str, RunSnapshot], dict[str, Transcripts], int, dict[str, str]]:
    stores = open_stores(locate_store(None, os.environ, Path.cwd()))
    runs: dict[str, RunSnapshot] = {}
    for info in await stores.runs.runs():
        assert info.damage is None, f"{info.run_id}: {info.damage}"
        run = await stores.runs.load(info.run_id)
        assert run is not None, f"{info.run_id} is listed and cannot be loaded"
        runs[info.run_id] = run
    listed = await stores.sessions.sessions()
    sessions: dict[str, Transcripts] = {}
    for name in sorted({"s", *(info.session_id for info in listed)}):
        found = await stores.sessions.segments(name)
        sessions[name] = {one.run_id: [entry_to_json(entry) for entry in one.entries] for one in found}
    return runs, sessions, sum(info.segments for info in listed), await _archived(stores.archive)


async def _archived(archive: ResultStore | None) -> dict[str, str]:
    found = {run_id: await archive.get(ResultRef(run_id, *BIG)) for run_id in RUNS} if archive else {}
    return {run_id: output for run_id, output in found.items() if output is not None}


def executions() -> list[str]:
    """The idempotency keys that tools left behind, one an execution."""
    effects = Path("effects.txt")
    return effects.read_text(encoding="utf-8").splitlines() if effects.exists() else []


def requests() -> Iterator[tuple[str, int]]:
    """What the model was asked: run and number of the response."""
    log = Path("agent/calls.jsonl")
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        request = json.loads(line)
        yield request["run_id"], request["n"]


@dataclass(slots=True)
class Said:
    """What a command had told the world: only whole lines count."""

    runs: set[str] = field(default_factory=set)
    saves: dict[str, int] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)
    responses: Counter[str] = field(default_factory=Counter)
    completed: set[str] = field(default_factory=set)

    @staticmethod
    def of(stdout: str, stderr: str) -> Said:
        """Read the two streams of a crashed command, ndjson or text."""
        said = Said()
        for line in _lines(stdout):
            if line.startswith("{"):
                said._hear(json.loads(line))
        said.runs |= {found[1] for line in _lines(stderr) if (found := re.match(r"run (\S+) \(session s\)", line))}
        if "All done." in _lines(stdout):
            said.completed |= said.runs
        return said

    def _hear(self, event: dict[str, Any]) -> None:
        run_id, kind = event.get("run_id"), event["type"]
        if run_id is None:
            return  # an error before any run
        if kind == "run.started" and event["agent"] is not None:
            self.runs.add(run_id)
        elif kind == "run.saved":
            self.saves[run_id] = event["save"]
        elif kind == "tool.finished":
            self.results.add(f"{run_id}/{event['step']}.{event['position']}")
        elif kind == "model.finished":
            self.responses[run_id] = event["step"]
        elif kind == "run.finished" and event["status"] == "completed" and event["error"] is None:
            self.completed.add(run_id)


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1] if Path(path).exists() else []
