"""A run at the model's level: ask, record, rebuild from what is stored, ask again."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lovia_cli.models.base import Delta, Model, ModelRequest, ModelResponse, ToolSpec
from lovia_cli.models.transcript import WireTranscript
from stores.entries import Entry, InputEntry, ToolCallEntry, ToolResultEntry, entry_from_json, entry_to_json
from stores.fields import changed

SERVERS = Path(__file__).parent.parent / "servers"
TOOL = ToolSpec(name="sh", description="Run a command.", parameters={"type": "object", "properties": {"cmd": {}}})


@contextmanager
def serving(*command: str) -> Iterator[int]:
    """Run a server of ``tests/servers`` that prints ``PORT n``; gives the port."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().split()[1])
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Strict:
    """The strict server: refuses each invalid transcript, logs each request."""

    def __init__(self, port: int, log: Path) -> None:
        self.url, self._log = f"http://127.0.0.1:{port}/v1", log

    def requests(self) -> list[dict[str, Any]]:
        """The requests so far; fails when one of them was refused."""
        rows = [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]
        assert [row["errors"] for row in rows] == [[] for _ in rows]
        return rows

    def bodies(self) -> list[dict[str, Any]]:
        return [row["body"] for row in self.requests()]


class Faulty:
    """The server that misbehaves, one step a request."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}"
        self.url = f"{self._root}/v1"

    def log(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self._root}/__log") as answer:
            rows: list[dict[str, Any]] = json.load(answer)
        return rows


StartStrict = Callable[[Sequence[dict[str, Any]]], Strict]
StartFaulty = Callable[[str], Faulty]


def wire_transcript(groups: Sequence[Sequence[Entry]]) -> list[Entry]:
    """The conversation of ``groups``: see `WireTranscript`."""
    wire = WireTranscript()
    for group in groups:
        wire.add(group)
    return wire.entries


class Talk:
    """A session of runs with one model; every entry goes through its stored form before it is sent."""

    def __init__(self, model: Model, system: str | None = "Be brief.") -> None:
        self.model, self.system = model, system
        self.groups: list[list[dict[str, Any]]] = []
        self.deltas: list[Delta] = []

    @property
    def entries(self) -> list[list[Entry]]:
        """What is stored, read back as a new process would."""
        return [[entry_from_json(json.loads(json.dumps(row))) for row in group] for group in self.groups]

    def say(self, text: str, **more: Any) -> None:
        """Begin a run with an input."""
        self.groups.append([entry_to_json(InputEntry(text=text, **more))])

    def request(self, **more: Any) -> ModelRequest:
        entries = wire_transcript(self.entries)
        request = ModelRequest(run_id="r", agent="a", number=1, system=self.system, entries=entries, tools=[TOOL])
        return changed(request, **more)

    async def step(self, outputs: Sequence[str] = (), **more: Any) -> ModelResponse:
        """Ask once, store the response, and a result for each call (the last output again when they run out)."""
        self.deltas = [delta async for delta in self.model.respond(self.request(**more))]
        response = self.deltas[-1]
        assert isinstance(response, ModelResponse)
        step = 1 + max(row.get("step", 0) for row in self.groups[-1])
        calls: list[ToolCallEntry] = []
        for entry in response.entries:
            if isinstance(entry, ToolCallEntry):
                entry = changed(entry, position=len(calls) + 1)
                calls.append(entry)
            self.groups[-1].append(entry_to_json(changed(entry, step=step)))
        texts = [*outputs, *([outputs[-1] if outputs else "ok"] * len(calls))]
        for call, text in zip(calls, texts, strict=False):
            result = ToolResultEntry(call_id=call.id, output=text, step=step, position=call.position)
            self.groups[-1].append(entry_to_json(result))
        return response


def shown(deltas: Sequence[Delta]) -> str:
    """What a person saw of the answer."""
    return "".join(delta.text for delta in deltas if not isinstance(delta, ModelResponse))
