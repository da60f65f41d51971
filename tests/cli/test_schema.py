"""`lovia schema`: every example, every event and every result object is what the schemas say, key by key."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lovia_cli.agentfile.schema import json_schema
from lovia_cli.cli.commands.schema import FILES, KINDS, made_schema
from lovia_cli.cli.shapes import events_schema, run_schema
from lovia_cli.cli.shapes_comparison import comparison_schema
from lovia_cli.yamlfile.fields import to_json
from lovia_cli.yamlfile.reader import read_document
from tests.architecture import ROOT
from tests.cli.lovia import Lovia, call, shell_tool

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "agent": json_schema,
    "events": events_schema,
    "run": run_schema,
    "comparison": comparison_schema,
}
AGENT_FILES = [
    path
    for folder in ("examples", "lovia_cli/templates")
    for path in sorted((ROOT / folder).rglob("*.yaml"))
    if "\nmodel:" in path.read_text(encoding="utf-8")
]


@cache
def closed(kind: str) -> dict[str, Any]:
    """The schema with no room for a key that it does not name."""

    def close(node: Any) -> Any:
        if isinstance(node, list):
            return [close(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        shut = {"additionalProperties": False} if "properties" in node else {}
        return {**{key: close(inner) for key, inner in node.items()}, **shut}

    schema: dict[str, Any] = close(SCHEMAS[kind]())
    return schema


def misfits(kind: str, value: Any) -> list[str]:
    """What in ``value`` is not as the schema has it; an event is held against its own type's definition."""
    schema = closed(kind)
    if kind == "events":
        reference = schema["discriminator"]["mapping"][value["type"]]
        schema = {"$ref": reference, "$defs": schema["$defs"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SCHEMAS)
def test_it_prints_a_schema_for_people_and_for_scripts(lovia: Lovia, kind: str) -> None:
    shown, data = lovia("schema", kind), lovia("schema", kind, "--json")
    assert (shown.code, shown.err, data.code) == (0, "", 0)
    assert shown.out.startswith('{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n')
    assert data.json == SCHEMAS[kind]()
    Draft202012Validator.check_schema(data.json)
    assert (
        lovia.shell(f"lovia schema {kind} | jq -cj .").stdout
        == lovia.shell(f"lovia schema {kind} --json | jq -cj .").stdout
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_that_is_printed_holds_what_the_models_say(kind: str) -> None:
    made = json.dumps(made_schema(kind), ensure_ascii=False, indent=2) + "\n"
    assert (FILES / f"{kind}.json").read_text(encoding="utf-8") == made, "write it anew: python docs/write_schemas.py"


def test_an_unknown_kind_is_a_usage_error(lovia: Lovia) -> None:
    ran = lovia("schema", "event")
    assert (ran.code, ran.out) == (2, "")
    what, where, hint = ran.err.splitlines()
    assert (what, where) == ("error: there is no schema of 'event'", "  where: lovia schema")
    assert hint == f"  hint: use one of: {', '.join(KINDS)}"


def test_fields_are_described() -> None:
    run = run_schema()["$defs"]["RunObject"]["properties"]
    assert run["status"]["description"] == "Null when the command was refused before a run went on."
    assert events_schema()["$defs"]["ModelRetry"]["properties"]["wait"]["description"] == "Seconds."


# --- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", AGENT_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_is_what_the_schema_says(path: Path) -> None:
    assert misfits("agent", to_json(read_document(path).root.data())) == []


def test_there_are_examples() -> None:
    assert len(AGENT_FILES) >= 3


# --- events -----------------------------------------------------------------------------------------------------------

TOOLS = '''
from lovia_cli.tools.base import ToolContext

def work(ctx: ToolContext) -> str:
    """Work."""
    ctx.progress("half")
    return "done"
'''


def eventful(lovia: Lovia) -> list[dict[str, Any]]:
    """The events of a run in which nearly everything happens: a retry, a limit, a changed agent, a word in between."""
    lovia.write("tools.py", TOOLS)
    turns = [
        {"fail": {"status": 503}, "reasoning": "Hm.", "text": "Let me.", "chunks": 3, **call("work")},
        call("nosuch"),
        {"text": "ok", "usage": {"input_tokens": 3, "output_tokens": 4}},
    ]
    lovia.agent(turns, tools="tools: [./tools.py:work]")
    first = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--max-steps", "1", "-o", "ndjson")
    lovia.agent(turns, tools="tools: [./tools.py:work]", more="instructions: Be brief.")
    second = lovia("resume", "r1", "--max-steps", "9", "-i", "Hurry!", "-o", "ndjson")
    assert (first.code, second.code) == (7, 0)
    return [*first.lines, *second.lines, *lovia("resume", "r1", "-o", "ndjson").lines]


def refused(lovia: Lovia) -> list[dict[str, Any]]:
    """The events of runs that never began."""
    commands = [["run", "nowhere.yaml", "go"], ["resume", "nosuch"], ["run", "--bogus"]]
    return [line for argv in commands for line in lovia(*argv, "-o", "ndjson").lines]


def unfit(lovia: Lovia) -> list[dict[str, Any]]:
    """The events of a run whose first answer is not the output that was asked for."""
    lovia.agent([{"text": "none"}, {"text": '{"n": 1}'}], more="output_schema: {type: object, required: [n]}")
    return lovia("run", "agent.yaml", "go", "-o", "ndjson").lines


def test_every_event_there_is_and_only_those(lovia: Lovia) -> None:
    lines = [*eventful(lovia), *refused(lovia), *unfit(lovia)]
    assert [(line, found) for line in lines if (found := misfits("events", line))] == []
    assert {line["type"] for line in lines} == set(closed("events")["discriminator"]["mapping"])


def test_an_event_that_is_none_is_noticed() -> None:
    line = {"v": 1, "seq": 1, "ts": 0.5, "run_id": "r1", "type": "run.saved", "save": 1, "step": 0, "event": "started"}
    assert misfits("events", line) == []
    assert misfits("events", {**line, "save": "1"}) == ["'1' is not of type 'integer'"]
    assert misfits("events", {**line, "more": 1}) == ["Additional properties are not allowed ('more' was unexpected)"]
    assert misfits("events", {key: line[key] for key in line if key != "event"}) == ["'event' is a required property"]


# --- the result object ------------------------------------------------------------------------------------------------


def test_every_result_object(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools="tools:\n" + shell_tool("hi", "echo hi"))
    table = [
        (7, ["run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--max-steps", "1"]),
        (0, ["resume", "r1", "--max-steps", "5"]),
        (0, ["resume", "r1"]),
        (7, ["run", "agent.yaml", "go", "--run-id", "r2", "--max-steps", "1"]),
        (0, ["runs", "finalize", "r2"]),
        (6, ["run", "agent.yaml", "go", "--run-id", "r1", "-s", "u2"]),
        (5, ["history", "nosuch"]),
        (2, ["validate"]),
        (3, ["run", "agent.yaml", "go", "-p", "x=1"]),
    ]
    for code, argv in table:
        ran = lovia(*argv, "--json")
        assert (ran.code, misfits("run", ran.json)) == (code, []), argv
