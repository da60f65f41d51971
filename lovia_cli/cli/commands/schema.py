"""``lovia schema``: the JSON Schemas of what people write and what scripts read.

They are printed from files: making them takes pydantic, and longer than a shell or an editor should wait. A test holds
each file against the models that run; ``docs/write_schemas.py`` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from lovia_cli.cli.answers import Answer, Document
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument
from lovia_cli.errors import UserError

FILES = Path(__file__).parents[2] / "schemas"
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
    text = (FILES / f"{kind}.json").read_text(encoding="utf-8").removesuffix("\n")
    return Document(text=text, data=json.loads(text))


COMMAND = schema


def made_schema(kind: str) -> dict[str, Any]:
    """What the very models that run say: it is what the file holds."""
    if kind == "agent":
        from lovia_cli.agentfile.schema import json_schema

        return json_schema()
    if kind == "comparison":
        from lovia_cli.cli.shapes_comparison import comparison_schema

        return comparison_schema()
    if kind == "replay":
        from lovia_cli.cli.shapes_replay import replay_schema

        return replay_schema()
    from lovia_cli.cli import shapes

    return shapes.events_schema() if kind == "events" else shapes.run_schema()
