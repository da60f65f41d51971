"""The object of ``lovia compare --json``, as types: see `lovia_cli.cli.shapes`."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from lovia_cli.cli.shapes import schema_of
from lovia_cli.engine.lines import RunStatus, Tokens


class PathDifference(TypedDict):
    """Two JSON values that are not the same at one place."""

    path: str
    """The keys that lead there, such as ``guests[0].name``."""
    kind: Literal["changed", "removed", "added"]
    """``removed``: only A has it; ``added``: only B."""
    a: Any
    b: Any


class Patched(TypedDict):
    """One change that was made to a fork before it went on."""

    kind: Literal["messages", "state", "tool_result", "input"]
    was: Any
    """What stood there before; null where there was nothing. Of rewritten messages, how many there were."""
    now: Any


class PatchedResult(Patched, total=False):
    """With the call that it is the result of."""

    call: str
    """STEP.POSITION."""
    tool: str


class ForkedFrom(TypedDict):
    """Where a fork comes from."""

    run_id: str
    save: int | None
    step: int | None
    patch: list[PatchedResult] | None
    """What was changed, in its order; null when that is not kept any more."""


class Side(TypedDict):
    """One of the two runs."""

    name: str
    """As it was meant on the command line: an id or a file, with @STEP where only a part is compared."""
    run_id: str | None
    session_id: str | None
    upto: int | None
    """The last step that is compared; null for all."""
    agent: str | None
    model: str | None
    status: RunStatus | None
    finish_reason: str | None
    """Null for a part of a run."""
    steps: int
    tool_calls: int
    usage: Tokens | None
    """Of the steps that are compared; null where that is not known."""
    cost_usd: float | None
    forked_from: ForkedFrom | None


class Result(TypedDict):
    """What a call gave."""

    output: str
    is_error: bool
    kind: Literal["ok", "error", "cancelled", "rejected"]


class Called(TypedDict):
    """A tool call of a step."""

    position: int
    name: str
    arguments: str
    """As the model wrote them."""
    result: Result | None


class Said(TypedDict):
    """An input."""

    role: Literal["user", "system"]
    text: str
    parts: list[dict[str, Any]]


class StepObject(TypedDict):
    """A model response with the results of its calls, and what was said to the run after them."""

    step: int
    """0 is what the run was asked."""
    reasoning: str
    text: str
    calls: list[Called]
    inputs: list[Said]


class PartDifference(TypedDict):
    """A part of a step that is not the same on both sides; null where a side has none."""

    part: Literal["input", "reasoning", "text", "call", "result"]
    a: str | None
    b: str | None
    a_label: str
    """Which it is: the role of an input, STEP.POSITION and the tool of a call."""
    b_label: str
    paths: list[PathDifference]
    """Where both are JSON objects or lists: what differs in them."""


class RowObject(TypedDict):
    """Two steps that belong together, or one that only one run has."""

    kind: Literal["same", "changed", "removed", "added"]
    """``removed``: only in A; ``added``: only in B."""
    a: StepObject | None
    b: StepObject | None
    differences: list[PartDifference]


class Names(TypedDict):
    a: list[str]
    b: list[str]


class Numbers(TypedDict):
    a: int
    b: int


class Reasons(TypedDict):
    a: str | None
    b: str | None


class Arguments(TypedDict):
    """A call, and its arguments as the model wrote them."""

    call: str
    arguments: str


class ArgumentDrift(TypedDict):
    """Two calls of one tool that belong together, with other arguments."""

    tool: str
    a: Arguments
    b: Arguments
    paths: list[PathDifference]


class DriftObject(TypedDict):
    """What the runs do differently; null, or empty, where they do not."""

    tool_order: Names | None
    """The tools called, in order."""
    arguments: list[ArgumentDrift]
    step_count: Numbers | None
    finish_reason: Reasons | None


class ComparisonObject(TypedDict):
    """Two runs, compared step by step."""

    v: Literal[1]
    exit_code: int
    """The process's own: 9 with ``--exit-code`` when they differ."""
    store: str
    same: bool
    """True when no step differs and nothing drifts."""
    diverged_at: int | None
    """The first step that differs; null when every step is the same."""
    drift: DriftObject
    a: Side
    b: Side
    rows: list[RowObject]
    """All steps in order, those that belong together side by side; the first row is the input."""
    html: str | None
    """Where the page was written."""


def comparison_schema() -> dict[str, Any]:
    """The JSON Schema of the object."""
    return schema_of(ComparisonObject, "Two runs compared, as lovia compare prints them with -o json")
