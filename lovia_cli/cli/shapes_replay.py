"""What `lovia replay --agent` prints with ``-o json``, as types."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from lovia_cli.cli.shapes import schema_of
from lovia_cli.engine.lines import RunStatus


class DifferenceObject(TypedDict):
    """One point where the agent does not fit the recording."""

    step: int
    until: int
    """The last step in a row that it holds for."""
    part: Literal["instructions", "tools", "schema", "arguments", "limits", "output", "result"]
    message: str
    position: int | None
    """The call's within its step, where it is about one."""
    name: str | None
    """The tool's or the limit's."""


class CallObject(TypedDict):
    """A call of a recorded run."""

    step: int
    position: int
    id: str
    name: str


class ReplayObject(TypedDict):
    """An agent that was driven along a recorded run."""

    v: Literal[1]
    exit_code: int
    """9 when anything differs, else 0."""
    store: str
    run_id: str
    session_id: str | None
    agent: str
    status: RunStatus
    """The run's: one that is not completed is recorded up to where it stands."""
    steps: int
    diverged_at: int | None
    """The first step that differs."""
    without_result: CallObject | None
    """The first call that would run and has no recorded result."""
    notes: list[str]
    differences: list[DifferenceObject]


def replay_schema() -> dict[str, Any]:
    """The JSON Schema of the object of `lovia replay --agent`."""
    return schema_of(ReplayObject, "What lovia replay --agent prints with -o json")
