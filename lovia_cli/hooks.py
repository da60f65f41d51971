"""What the owner of an agent puts into its runs: hooks around models and tools, and checks of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lovia_cli.models.base import ModelRequest, ModelResponse
from stores.entries import JSON, Entry, ToolCallEntry, ToolResultEntry
from stores.records import Usage


@dataclass(slots=True, frozen=True, kw_only=True)
class RunContext:
    """What a hook or a guardrail knows of the run it is called in.

    ``step`` is the last step begun, ``usage`` what the run has used so far, all its processes together. ``resumed``
    is True when an earlier call of the Runner began the run. ``deps`` is what the caller supplied. ``transcript()``
    gives the run's own entries so far, as copies.
    """

    run_id: str
    session_id: str | None
    agent: str
    step: int
    usage: Usage
    resumed: bool
    deps: Any
    transcript: Callable[[], list[Entry]]


class AgentHooks:
    """Hooks that do nothing: derive from it and override what you need. A hook may be async or not.

    The run waits for a hook. One that raises ends the run as ``failed``, with `lovia_cli.errors.HookError`, and all
    that was recorded before is safe: resumed, the run goes on from there. A replay runs none (R6). What they are given
    is for reading.

    What comes before something (``on_start``, ``before_model``, ``before_tool``, ``on_end``) runs at least once, like
    tools: again when the run is resumed there. ``after_model`` and ``after_tool`` are told of what is saved already,
    at most once: a crash in between, or an error of theirs, is not made up for. The saves themselves are the record.
    """

    async def on_start(self, context: RunContext) -> None:
        """The run begins, or goes on."""

    async def before_model(self, context: RunContext, request: ModelRequest) -> None:
        """The model is about to be asked; retries are one request."""

    async def after_model(self, context: RunContext, response: ModelResponse) -> None:
        """The response is saved, and no tool of it has run."""

    async def before_tool(self, context: RunContext, call: ToolCallEntry, arguments: dict[str, JSON]) -> None:
        """The call is about to run; its arguments fit the tool's schema. Calls left open by a crash come here too (Z1).

        A `lovia_cli.tools.base.ToolError` raised here keeps the tool from running: its text is the call's result.
        """

    async def after_tool(self, context: RunContext, call: ToolCallEntry, result: ToolResultEntry) -> None:
        """The call's result is saved, be it an error. With several calls at once the order is that of their ends."""

    async def on_end(self, context: RunContext, output: Any) -> None:
        """The run has its output, which every guardrail has passed, and is about to be saved as completed."""


Guardrail = Callable[[Any, RunContext], Any]
"""A check of the final output, async or not, called with the output and a `RunContext`.

It refuses by raising `lovia_cli.errors.GuardrailTripped`, or by returning the reason as text; None lets it pass.
"""
