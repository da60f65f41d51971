"""What the field cases share: agents whose model logs its requests, tools that hang once, and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.cli.lovia import Lovia, shell_tool, wait_for_file

HANG_ONCE = "echo $$ > pid; [ -e again ] || { touch again; exec sleep 600; }"
"""Shell that hangs when it runs for the first time, once it has made the file `again`."""


def say(text: str = "done") -> dict[str, Any]:
    """A turn that answers."""
    return {"text": text}


def calls(*named: tuple[str, str, Any]) -> dict[str, Any]:
    """A turn that calls tools: id, name and arguments of each."""
    return {"tool_calls": [{"id": id, "name": name, "arguments": arguments} for id, name, arguments in named]}


def make_agent(lovia: Lovia, turns: Sequence[Any], tools: str = "", more: str = "") -> None:
    """agent.yaml, with a model that plays ``turns`` and logs each request in calls.jsonl."""
    lovia.agent(turns, tools=f"tools:\n{tools}" if tools else "", more=more)
    lovia.write("agent-script.yaml", json.dumps({"log": "calls.jsonl", "turns": list(turns)}))


def shell(name: str, script: str) -> str:
    return shell_tool(name, script)


def python(*names: str) -> str:
    """Functions of tools.py as tools."""
    return "".join(f"  - ./tools.py:{name}\n" for name in names)


def asked(lovia: Lovia) -> list[tuple[str, int]]:
    """Every request the model got: run and number of the response."""
    log = lovia.folder / "calls.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [(request["run_id"], request["n"]) for request in map(json.loads, lines)]


def lines(lovia: Lovia, name: str) -> list[str]:
    """What tools have written to a file, line by line."""
    return (lovia.folder / name).read_text(encoding="utf-8").splitlines()


def start(lovia: Lovia, *argv: str, until: str = "again") -> subprocess.Popen[bytes]:
    """Start a command and wait until one of its tools has made the file ``until``."""
    process = lovia.start(*argv)
    wait_for_file(lovia.folder / until, process)
    return process


def kill(lovia: Lovia, *argv: str, until: str = "again") -> None:
    """Run a command into a tool that hangs, kill -9 it there, and clear away what the tool has left."""
    process = start(lovia, *argv, until=until)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with suppress(ProcessLookupError):
        os.killpg(int((lovia.folder / "pid").read_text()), signal.SIGKILL)


def segments(lovia: Lovia, session: str) -> list[str]:
    """The run ids of the session's segments."""
    return [segment["run_id"] for segment in lovia("history", session, "--json").json["segments"]]


def results(lovia: Lovia, run_id: str) -> list[dict[str, Any]]:
    """The tool results of a run, in order."""
    entries = lovia("show", run_id, "--json").json["entries"]
    return [entry for entry in entries if entry["type"] == "tool_result"]


def store_files(lovia: Lovia, pattern: str) -> list[Path]:
    """Files of the store."""
    return sorted((lovia.folder / ".lovia").glob(pattern))
