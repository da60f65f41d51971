"""The installed script, run as a user runs it: in a folder of its own, with an environment of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli import warm

SCRIPT = Path(sys.executable).parent / "lovia"

KEYS = [
    "v", "run_id", "session_id", "status", "exit_code", "output", "error", "approvals", "steps", "usage", "cost_usd",
    "model", "agent", "replayed", "input_ignored", "forked_from", "store",
]  # fmt: skip
"""The keys of the JSON object, in the order of interface.md."""


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code, and both streams as bytes."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode("utf-8")

    @property
    def err(self) -> str:
        return self.stderr.decode("utf-8")

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        assert self.stdout.count(b"\n") == 1, self
        value = json.loads(self.stdout)
        assert isinstance(value, dict)
        return value

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The objects of ndjson."""
        return [json.loads(line) for line in self.stdout.splitlines()]


_warm: list[warm.Server] = []


class Lovia:
    """A folder with agents in it, and the script.

    A command that is called and waited for is a fork of a process that has lovia imported; it is the installed script
    itself where it is ``installed``, where Python has to start in other surroundings, and in `start` and `shell`.
    """

    def __init__(self, folder: Path, *, installed: bool = False) -> None:
        self.folder = folder
        self.installed = installed
        self.env = {
            "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONWARNINGS": "error",
        }
        if prefix := os.environ.get("PYTHONPYCACHEPREFIX"):
            self.env["PYTHONPYCACHEPREFIX"] = prefix

    def __call__(
        self,
        *argv: str | bytes,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Ran:
        """Run it to its end. ``stdin`` None is /dev/null."""
        surroundings = {**self.env, **(env or {})}
        words = [word for word in (str(SCRIPT), *argv) if isinstance(word, str)]
        if not self.installed and len(words) > len(argv) and (server := self._server()).can(surroundings):
            done = server.run(words, cwd=cwd or self.folder, env=surroundings, stdin=stdin, timeout=60)
            return Ran(done.returncode, done.stdout, done.stderr)
        done = subprocess.run(
            [SCRIPT, *argv],
            cwd=cwd or self.folder,
            env=surroundings,
            stdin=subprocess.DEVNULL if stdin is None else None,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def traced(self, *argv: str) -> tuple[Ran, list[str]]:
        """Run it to its end, and give what was opened and called meanwhile, a line each (see `warm`)."""
        with tempfile.TemporaryDirectory(prefix="lovia-trace-") as folder:
            trace = Path(folder, "trace")
            words = [str(SCRIPT), *argv]
            done = self._server().run(words, cwd=self.folder, env=self.env, stdin=None, timeout=60, trace=trace)
            return Ran(done.returncode, done.stdout, done.stderr), trace.read_text().splitlines()

    def _server(self) -> warm.Server:
        if not _warm:
            _warm.append(warm.Server(self.env))
        return _warm[0]

    def start(self, *argv: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start it, and let it run."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen([SCRIPT, *argv], cwd=self.folder, env=self.env, **options)

    def shell(self, command: str, stdin: bytes | None = None) -> Ran:
        """A line of shell in which ``lovia`` is the script."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.env,
            input=stdin or b"",
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def agent(self, turns: Sequence[Any], *, name: str = "agent.yaml", tools: str = "", more: str = "") -> None:
        """An agent whose model plays ``turns``. ``tools`` and ``more`` are YAML."""
        script = name.replace(".yaml", "-script.yaml")
        self.write(script, json.dumps({"turns": list(turns)}))
        self.write(name, f"version: 1\nname: tester\nmodel: scripted:{script}\n{more}\n{tools}")

    def store_bytes(self) -> dict[str, bytes]:
        """Every file of the store, to see that nothing has changed it. Locks hold nothing."""
        store = self.folder / ".lovia"
        files = (path for path in store.rglob("*") if path.is_file())
        return {str(path.relative_to(store)): path.read_bytes() for path in files if "locks" not in path.parts}


def call(tool: str, arguments: Any = None, *, id: str = "c1") -> dict[str, Any]:
    """A turn that calls one tool."""
    return {"tool_calls": [{"id": id, "name": tool, "arguments": arguments if arguments is not None else {}}]}


def shell_tool(name: str, script: str) -> str:
    """A shell tool as YAML, to go under ``tools:``."""
    return f"  - {{type: shell, name: {name}, description: x, command: [sh, -c, {json.dumps(script)}]}}\n"


def wait_for_file(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a tool has written ``path``; fails when the process is gone before."""
    while not path.exists():
        if process.poll() is not None:
            raise AssertionError(process.communicate())
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue


def end(process: subprocess.Popen[bytes]) -> Ran:
    """Wait for a started command."""
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        raise
    return Ran(process.returncode, out, err)
