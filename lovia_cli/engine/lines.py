"""What each type of event carries, in the form of a line of ``-o ndjson``; ``lovia schema events`` prints these.

Definitions only, and apart from `lovia_cli.engine.events`: no run needs them.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict  # typing's own before Python 3.12 is none that pydantic can read

from stores.entries import ResultKind

# --- parts of events --------------------------------------------------------------------------------------------------

RunStatus = Literal["running", "interrupted", "awaiting_approval", "completed", "failed"]


class Tokens(TypedDict):
    """Tokens of one response or the sum over many; null is unknown, never zero."""

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    requests: int
    """How many responses this counts."""
    unknown: int
    """How many of them told no numbers; the sums are lower bounds then."""


class Failure(TypedDict):
    """What went wrong, and what to do."""

    code: str
    """A word for scripts; it does not change between versions."""
    message: str
    hint: str | None
    retryable: bool
    """True when the same command may succeed later without a change."""


class CallAsked(TypedDict):
    """A tool call that a response asks for."""

    position: int
    call_id: str
    """The model's own; it may repeat. ``STEP.POSITION`` is unique."""
    name: str
    arguments: str
    """The text that the model wrote, which need not be valid JSON."""


# --- events -----------------------------------------------------------------------------------------------------------


class EventLine(TypedDict):
    """What every line of ndjson has."""

    v: Literal[1]
    seq: int
    ts: float
    run_id: str | None


class RunStarted(EventLine):
    """The run begins, goes on, or is replayed; its first save is on disk. Always the first event."""

    type: Literal["run.started"]
    session_id: str | None
    agent: str | None
    model: str | None
    resumed: bool
    replayed: bool
    steps: int
    """The steps it has already."""
    input_ignored: bool
    """True when the input given now is another than the run's own, which it keeps."""


class InputAccepted(EventLine):
    """New input for the run is on disk; ``queued`` while tool calls have to come first."""

    type: Literal["input.accepted"]
    text: str
    queued: bool


class ModelStarted(EventLine):
    """The model is asked."""

    type: Literal["model.started"]
    step: int
    model: str


class TextDelta(EventLine):
    """A piece of the text that the model is writing."""

    type: Literal["text.delta"]
    step: int
    text: str


class ReasoningDelta(EventLine):
    """A piece of the model's reasoning."""

    type: Literal["reasoning.delta"]
    step: int
    text: str


class ModelRetry(EventLine):
    """The model did not answer: it, or a fallback, is asked again; the pieces of text since `ModelStarted` are void."""

    type: Literal["model.retry"]
    step: int
    attempt: int
    wait: float
    """Seconds."""
    fallback: str | None
    """The model that is asked next, when it is not the same again."""
    message: str


class ModelFinished(EventLine):
    """The response is whole and on disk; no tool of it has run yet."""

    type: Literal["model.finished"]
    step: int
    model: str | None
    text: str
    tool_calls: list[CallAsked]
    finish_reason: str | None
    usage: Tokens
    cost_usd: float | None


class OutputInvalid(EventLine):
    """The answer is not the output that was asked for; the model is told so once."""

    type: Literal["output.invalid"]
    step: int
    message: str


class ToolStarted(EventLine):
    """A tool call begins."""

    type: Literal["tool.started"]
    step: int
    position: int
    call_id: str
    name: str
    arguments: str


class ToolProgress(EventLine):
    """What a tool shows while it runs."""

    type: Literal["tool.progress"]
    step: int
    position: int
    text: str


class ToolFinished(EventLine):
    """A call's result is on disk."""

    type: Literal["tool.finished"]
    step: int
    position: int
    call_id: str
    name: str
    output: str
    is_error: bool
    kind: ResultKind
    seconds: float


class RunSaved(EventLine):
    """A save of the run is on disk; ``event`` is what it saved."""

    type: Literal["run.saved"]
    save: int
    step: int
    event: str


class Notice(EventLine):
    """Something that a person should know."""

    type: Literal["notice"]
    level: Literal["info", "warning"]
    code: str
    message: str


class AgentDrift(EventLine):
    """The agent has changed since the run was saved (Z7)."""

    type: Literal["agent.drift"]
    changes: dict[str, Any]


class RunFinished(EventLine):
    """The run has ended or stopped, and how it stands is on disk. Always the last event."""

    type: Literal["run.finished"]
    status: RunStatus | None
    output: Any
    error: Failure | None
    stop: dict[str, Any] | None
    """Why an interrupted run stopped: its ``reason``, and what belongs to that."""
    finish_reason: str | None
    steps: int | None
    usage: Tokens | None
    replayed: bool


EVENTS = (
    RunStarted, InputAccepted, ModelStarted, TextDelta, ReasoningDelta, ModelRetry, ModelFinished, OutputInvalid,
    ToolStarted, ToolProgress, ToolFinished, RunSaved, Notice, AgentDrift, RunFinished,
)  # fmt: skip
"""Every type of event there is."""
