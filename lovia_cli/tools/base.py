"""The seam between the engine and a tool: check the arguments, then call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from stores.errors import LoviaError

if TYPE_CHECKING:
    from lovia_cli.models.base import ToolSpec
    from lovia_cli.tools.definition import OnResume
    from stores.entries import JSON


class ToolError(LoviaError):
    """The call did not work; its text becomes the error result that the model sees."""

    code = "tool"


class ToolArgumentsError(ToolError):
    """The arguments do not fit the schema; the tool was not called."""

    code = "tool_arguments"


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """What a tool knows of its call.

    ``state`` is the run's user state, a JSON object that the tool may read and change; it is saved with the
    call's result. ``idempotency_key`` is unique in the store and the same when the call is re-run after a
    crash (Z5); ``call_id`` is the model's and may repeat. ``deps`` is what the caller supplied, never stored.
    ``progress`` shows a line to whoever watches the run.
    """

    run_id: str
    session_id: str | None
    agent: str
    step: int
    position: int
    call_id: str
    idempotency_key: str
    state: dict[str, JSON] = field(default_factory=dict)
    deps: Any = None
    progress: Callable[[str], object] = str


@runtime_checkable
class Tool(Protocol):
    """A tool. ``timeout`` in seconds, None for none. ``on_resume``: what happens to a call that a crash
    left without a result, ``rerun`` or ``fail`` (Z5)."""

    @property
    def spec(self) -> ToolSpec: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def on_resume(self) -> OnResume: ...

    def check(self, arguments: dict[str, JSON]) -> None:
        """Raise `ToolArgumentsError` when the arguments do not fit; must not act."""
        ...

    async def call(self, arguments: dict[str, JSON], context: ToolContext) -> Any:
        """Do it, and return the result, any value (`stores.values.to_text` gives its stored form).

        Whatever it raises becomes an error result. When cancelled, it stops what it started, processes
        and all, before it lets go. The engine keeps the time.
        """
        ...
