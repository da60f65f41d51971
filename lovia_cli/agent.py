"""The `Agent` of the Python API: what the engine runs, whoever built it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lovia_cli.hooks import AgentHooks, Guardrail
from lovia_cli.models.base import Model
from lovia_cli.tools.base import Tool
from stores.entries import JSON


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


@dataclass(slots=True, kw_only=True)
class Agent:
    """A model with instructions and tools.

    ``instructions`` is text or a function of the run's variables that renders it. ``model`` is a `Model`.
    ``parse_output`` turns the final text into the run's output. It raises `lovia_cli.errors.InvalidOutputError` or
    ValueError for a text that is none: the model is then told once, and answers again. An output that JSON cannot
    hold completes the run, but cannot be replayed (R10). ``hooks`` are called around models and tools, and each of
    ``output_guardrails`` may refuse the output; neither is part of the fingerprint, and a replay runs none (R6).
    Of its runs the newest ``history_limit`` saves are history, None is all (H1).
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

    def render_instructions(self, variables: dict[str, Any]) -> str:
        """The system prompt for these variables; empty when there are no instructions."""
        return self.instructions(variables) if callable(self.instructions) else self.instructions
