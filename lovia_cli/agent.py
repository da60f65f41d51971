"""The `Agent` of the Python API: what the engine runs, whoever built it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from lovia_cli.errors import UserError
from lovia_cli.hooks import AgentHooks, Guardrail
from lovia_cli.models.base import Model
from lovia_cli.tools.base import Tool
from stores.entries import JSON

DRIFT_POLICIES = ("warn", "error", "ignore")
"""What may be done about an agent that has changed since its run was saved (Z7)."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Limits:
    """Totals over the whole run, all processes together (Z1); None is no limit.

    ``max_seconds`` counts executing time only. They are checked before each model call and each tool call.
    """

    max_steps: int | None = 50
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        """Raise `UserError` for a limit that nothing could be held to."""
        for name in ("max_steps", "max_tool_calls", "max_total_tokens"):
            check_amount(name, getattr(self, name), int)
        for name in ("max_cost_usd", "max_seconds"):
            check_amount(name, getattr(self, name), (int, float))


def check_amount(name: str, value: Any, kind: type | tuple[type, ...]) -> None:
    """Raise `UserError` unless ``value`` is None or a finite number of that kind from 0."""
    if value is None:
        return
    if isinstance(value, kind) and not isinstance(value, bool) and 0 <= cast(float, value) < math.inf:
        return
    what = "a whole number from 0" if kind is int else "a number from 0"
    raise UserError(f"{name} must be {what}, not {value!r}", hint="None is no limit")


def check_drift_policy(value: Any) -> None:
    """Raise `UserError` for what is none of `DRIFT_POLICIES`."""
    if value not in DRIFT_POLICIES:
        raise UserError(f"on_drift is warn, error or ignore, not {value!r}")


@dataclass(slots=True, kw_only=True)
class Agent:
    """A model with instructions and tools.

    ``instructions`` is text or a function of the run's variables that renders it. ``model`` is a `Model`, and
    ``model_settings`` are sent with each request as they are, over the model's own. ``tools`` are what it may call: of
    one step up to ``tool_concurrency`` calls at once. ``description`` is for people, and no model is told it.
    ``limits`` bind a run that has saved no others and is given none (Z8).

    ``output_schema`` is sent to the model, and nothing here checks an answer by it: that is for ``parse_output``, which
    turns the final text into the run's output. It raises `lovia_cli.errors.InvalidOutputError` or ValueError for a
    text that is none: the model is then told once, and answers again. An output that JSON cannot hold completes the
    run, but cannot be replayed (R10).

    ``hooks`` are called around models and tools, and each of ``output_guardrails`` may refuse the output; neither is
    part of the fingerprint, and a replay runs none (R6). ``on_drift`` says what becomes of a run that is resumed with
    another fingerprint than it was saved with: ``warn``, ``error`` or ``ignore`` (Z7). Of its runs the newest
    ``history_limit`` saves are history, None is all (H1). ``environment`` are the names of the environment variables
    that it was made with: its runs keep them, and no view shows what those variables hold.
    """

    name: str
    model: Model
    instructions: str | Callable[[dict[str, Any]], str] = ""
    tools: Sequence[Tool] = ()
    description: str = ""
    limits: Limits = field(default_factory=Limits)
    tool_concurrency: int = 4
    model_settings: dict[str, JSON] = field(default_factory=dict)
    output_schema: dict[str, JSON] | None = None
    parse_output: Callable[[str], Any] | None = None
    hooks: AgentHooks | None = None
    output_guardrails: Sequence[Guardrail] = ()
    on_drift: str = "warn"
    history_limit: int | None = None
    environment: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise `UserError` for what is no agent: no name, no model, no tool, two tools of one name, no such policy."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise UserError("an agent needs a name", hint='such as Agent(name="helper", ...)')
        if not hasattr(self.model, "respond"):
            raise UserError(f"agent {self.name!r} has no model: {self.model!r}", hint="pass a Model")
        check_drift_policy(self.on_drift)
        check_amount("history_limit", self.history_limit, int)
        if type(self.tool_concurrency) is not int or self.tool_concurrency < 1:
            raise UserError(f"tool_concurrency must be a whole number from 1, not {self.tool_concurrency!r}")
        names: set[str] = set()
        for tool in self.tools:
            spec = getattr(tool, "spec", None)
            if spec is None:
                raise UserError(f"{tool!r} is no tool of agent {self.name!r}", hint="wrap a function: tool(function)")
            if spec.name in names:
                raise UserError(f"agent {self.name!r} has two tools named {spec.name!r}", hint="rename one")
            names.add(spec.name)

    def render_instructions(self, variables: dict[str, Any]) -> str:
        """The system prompt for these variables; empty when there are no instructions."""
        return self.instructions(variables) if callable(self.instructions) else self.instructions
