"""The file store as a peer of a store benchmark that drives `open`, `save`, `load` and `list_many`.

The benchmark passes its payload; a step is one save of two entries of about 1 KB each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import bench_peers
from bench_peers import Peer

from stores.entries import AssistantTextEntry, Entry, ToolResultEntry
from stores.file import FileStore
from stores.records import Save


class FileStorePeer(Peer):
    """One run in a file store, its lease held as an executing process holds it."""

    name = "ours"
    note = "stores.file: lease, one save a step, every save kept"

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self._loop = asyncio.new_event_loop()
        self._store = FileStore(f"{directory}/.lovia")
        self._lease: Any = None

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def open(self, k: int) -> None:
        self._context = self._store.checkpointer.lease("r")
        self._lease = self._run(self._context.__aenter__())
        self._run(self._fill(self._lease, k))

    async def _fill(self, lease: Any, steps: int, status: str = "running") -> None:
        await lease.save(_first())
        for step in range(steps):
            await lease.save(_save(step))
        if status != "running":
            await lease.save(Save(number=steps + 2, step=steps, at=2.0, event=status, head={"status": status}))

    def save(self, i: int) -> None:
        self._run(self._lease.save(_save(i)))

    def close(self) -> None:
        self._run(self._context.__aexit__(None, None, None))

    def load(self) -> int:
        snapshot = self._run(FileStore(self._store.path).checkpointer.load("r"))
        return len(snapshot.entries)

    def make_many(self, n: int) -> None:
        for number in range(n):
            self._run(self._one_of_many(f"run-{number}"))

    async def _one_of_many(self, run_id: str) -> None:
        async with self._store.checkpointer.lease(run_id) as lease:
            await self._fill(lease, 10, "completed")

    def list_many(self) -> int:
        return len(self._run(self._store.checkpointer.runs()))


def _first() -> Save:
    head = {"status": "running", "agent": "bench", "started_at": 1.0, "config": {"agent_file": "/home/me/agent.yaml"}}
    return Save(number=1, step=0, at=1.0, event="started", head=head)


def _save(step: int) -> Save:
    """Step ``step``, from 0: a model's answer and a tool's result, with the usage that the head counts."""
    usage = {"input_tokens": step, "output_tokens": step, "requests": step}
    return Save(
        number=step + 2,
        step=step + 1,
        at=1.0,
        event="response",
        entries=_entries(step),
        head={"usage": usage, "last_input_tokens": step},
    )


def _entries(step: int) -> list[Entry]:
    text, result = (row.get("content", row.get("output")) for row in bench_peers.DATA.plain(step))
    return [
        AssistantTextEntry(text=text, step=step + 1),
        ToolResultEntry(call_id=f"call_{step}", output=result, step=step + 1, position=1),
    ]


PEERS = [FileStorePeer]
