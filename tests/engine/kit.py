"""What the engine's tests share: agents from a few lines, tools that count, stores that crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from lovia_cli.agent import Agent, Limits
from lovia_cli.engine.events import Event
from lovia_cli.engine.runner import CheckpointOptions
from lovia_cli.models.base import ModelRequest, ToolSpec
from lovia_cli.models.scripted import ScriptedModel
from lovia_cli.tools.base import Tool, ToolContext
from lovia_cli.tools.definition import OnResume
from stores.entries import Entry, entry_to_json
from stores.memory import InMemoryCheckpointer
from stores.protocols import RunLease
from stores.records import RunSnapshot, Save


class Crash(BaseException):
    """The process is gone: nobody catches this."""


class FakeTool:
    """A tool that counts its calls by their text argument ``x`` and does what ``action`` says."""

    def __init__(
        self,
        name: str = "work",
        action: Callable[[dict[str, Any], ToolContext], Any] | None = None,
        *,
        on_resume: OnResume = "rerun",
        timeout: float | None = None,
    ) -> None:
        self.spec = ToolSpec(name=name, description=name, parameters={"type": "object"})
        self.timeout = timeout
        self.on_resume = on_resume
        self.ran: Counter[str] = Counter()
        self.contexts: list[ToolContext] = []
        self._action = action

    def check(self, arguments: dict[str, Any]) -> None:
        """Anything goes."""

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        self.ran[str(arguments.get("x"))] += 1
        self.contexts.append(context)
        result = self._action(arguments, context) if self._action else f"did {arguments.get('x')}"
        return await result if hasattr(result, "__await__") else result


def calls(*arguments: str, name: str = "work", text: str | None = None) -> dict[str, Any]:
    """A turn that calls a tool once for each argument; all with one id, as bad servers do (C05)."""
    turn: dict[str, Any] = {"tool_calls": [{"id": "call_0", "name": name, "arguments": {"x": x}} for x in arguments]}
    return {**turn, "text": text} if text is not None else turn


class Requests:
    """What the model was asked, one `ModelRequest` each, with the entries as they were then."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.texts: list[list[str]] = []
        self.systems: list[str | None] = []

    def __call__(self, request: ModelRequest) -> None:
        self.numbers.append(request.number)
        self.texts.append([says(entry) for entry in request.entries])
        self.systems.append(request.system)


def agent(
    turns: Sequence[Mapping[str, Any] | str],
    *tools: Tool,
    asked: Requests | None = None,
    loop: bool = False,
    limits: Limits | None = None,
    **more: Any,
) -> Agent:
    """An agent named ``bot`` on a scripted model."""
    model = ScriptedModel(turns, loop=loop, on_request=asked)
    return Agent(**{"name": "bot", "model": model, "tools": tools, "limits": limits or Limits(), **more})


def at(store: Any, run_id: str | None = None, if_run_exists: Any = "resume") -> CheckpointOptions:
    return CheckpointOptions(store, run_id, if_run_exists)


def says(entry: Entry) -> str:
    """One entry in a few characters: ``user:hi``, ``assistant:text``, ``call:1.2 x``, ``ok:1.2 did x``."""
    data = entry_to_json(entry)
    place = f"{data.get('step', 0)}.{data.get('position', 0)}"
    match data["type"]:
        case "input":
            return f"{data.get('role', 'user')}:{data['text']}"
        case "assistant_text":
            return f"assistant:{data['text']}"
        case "reasoning":
            return f"reasoning:{data['text']}"
        case "tool_call":
            return f"call:{place} {data['arguments']}"
        case _:
            return f"{data.get('kind', 'ok')}:{place} {data['output']}"


def transcript(entries: Sequence[Entry]) -> list[str]:
    return [says(entry) for entry in entries]


class Events(list[Event]):
    """A sink that keeps everything."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def types(self) -> list[str]:
        return [event.type for event in self]

    def of(self, type: str) -> list[dict[str, Any]]:
        return [event.data for event in self if event.type == type]


class CrashingCheckpointer(InMemoryCheckpointer):
    """Crashes at save number ``crash_at`` (over all runs), before it is durable or just after; then never again."""

    def __init__(self, crash_at: int = 0, *, after: bool = False, error: BaseException | None = None) -> None:
        super().__init__()
        self.crash_at, self.after, self.error = crash_at, after, error or Crash()
        self.count = 0

    @asynccontextmanager
    async def lease(self, run_id: str) -> AsyncIterator[RunLease]:
        async with super().lease(run_id) as lease:
            yield _CrashingLease(self, lease)


class _CrashingLease:
    def __init__(self, store: CrashingCheckpointer, lease: RunLease) -> None:
        self._store, self._lease = store, lease

    async def load(self) -> RunSnapshot | None:
        return await self._lease.load()

    async def cancel_requested(self) -> bool:
        return await self._lease.cancel_requested()

    async def save(self, save: Save) -> None:
        self._store.count += 1
        if self._store.count == self._store.crash_at and not self._store.after:
            raise self._store.error
        await self._lease.save(save)
        if self._store.count == self._store.crash_at:
            raise self._store.error
