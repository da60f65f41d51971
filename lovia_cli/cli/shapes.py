"""What scripts read, as types: the object of ``-o json`` and the lines of ``-o ndjson``, and their JSON Schemas.

Fields may be added in any version, so a reader passes over what it does not know.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from typing_extensions import TypedDict

from lovia_cli.engine.lines import EVENTS, Failure, RunFinished, RunStatus, Tokens

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class RunObject(TypedDict):
    """The result of a run, or why a command could not do what it was asked."""

    v: Literal[1]
    run_id: str | None
    session_id: str | None
    status: RunStatus | None
    """Null when the command was refused before a run went on."""
    exit_code: int
    """The process's own."""
    output: Any
    """The final answer: text, or the value that the agent's output is asked to be."""
    error: Failure | None
    approvals: list[dict[str, Any]]
    steps: int | None
    usage: Tokens | None
    cost_usd: float | None
    """What it cost, as far as prices are known; null when none is."""
    model: str | None
    agent: str | None
    replayed: bool
    """True when the stored result was given again, without the model."""
    input_ignored: bool
    """True when the input given now is another than the run's own, which it keeps."""
    forked_from: dict[str, Any] | None
    store: str | None
    """Where the run is kept."""


class LastLine(RunObject, RunFinished):
    """The run has ended or stopped, and how it stands is on disk. Always the last event; it has the exit code."""


def run_schema() -> dict[str, Any]:
    """The JSON Schema of the json object."""
    return schema_of(RunObject, "The result of a run, as lovia prints it with -o json")


def events_schema() -> dict[str, Any]:
    """The JSON Schema of one line of ndjson."""
    from pydantic import Field

    lines = tuple(LastLine if event is RunFinished else event for event in EVENTS)
    return schema_of(
        Annotated[Union[lines], Field(discriminator="type")],  # noqa: UP007 - a tuple of types
        "One event of a run, as lovia prints it with -o ndjson: one a line",
    )


def schema_of(shape: Any, title: str) -> dict[str, Any]:
    """The JSON Schema of a type, with what its docstrings say."""
    from pydantic import ConfigDict, TypeAdapter

    # A list of it, because pydantic takes settings for what is made of such types and not for one of them.
    several = TypeAdapter(list[shape], config=ConfigDict(use_attribute_docstrings=True)).json_schema()
    return {"$schema": _DIALECT, "title": title, **several["items"], "$defs": several["$defs"]}
