"""``lovia schema``: the JSON Schemas of what people write and what scripts read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from lovia_cli.cli.answers import Answer, Document
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument
from lovia_cli.errors import UserError

KINDS = ("agent", "events", "run", "comparison", "replay")


def schema(
    call: Call,  # noqa: ARG001 - every command has one
    kind: Annotated[str, Argument(metavar="|".join(KINDS), help="What to describe.")],
) -> Answer:
    """Print a JSON Schema: of the agent file, for editors; of the events of -o ndjson; of the object of -o json.

    comparison is the object of lovia compare, replay that of lovia replay --agent.
    """
    if kind not in KINDS:
        raise UserError(f"there is no schema of {kind!r}", hint="use one of: " + ", ".join(KINDS))
    data = _maker(kind)()
    return Document(text=json.dumps(data, ensure_ascii=False, indent=2), data=data)


COMMAND = schema


def _maker(kind: str) -> Callable[[], dict[str, Any]]:
    """What makes the schema, from the very models that run."""
    if kind == "agent":
        from lovia_cli.agentfile.schema import json_schema

        return json_schema
    if kind == "comparison":
        from lovia_cli.cli.shapes_comparison import comparison_schema

        return comparison_schema
    if kind == "replay":
        from lovia_cli.cli.shapes_replay import replay_schema

        return replay_schema
    from lovia_cli.cli import shapes

    return {"events": shapes.events_schema, "run": shapes.run_schema}[kind]
