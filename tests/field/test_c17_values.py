"""C17: whatever a tool returns has one stored form, and its call a result, so that no effect happens twice."""

import json

import pytest

from tests.cli.lovia import Lovia
from tests.field.kit import asked, calls, kill, lines, make_agent, python, results, say, shell

TOOLS = '''
"""Tools that return what JSON has no form for. Each leaves an x behind first."""
import dataclasses, datetime, decimal, enum, functools, os, pathlib, uuid
import pydantic


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Room(pydantic.BaseModel):
    name: str
    since: datetime.date


VALUES = {
    "datetime": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    "date": datetime.date(2026, 1, 2),
    "decimal": decimal.Decimal("3.10"),
    "set": {3, 1, 2},
    "bytes": b"caf\\xc3\\xa9\\xff",
    "path": pathlib.PurePosixPath("/a/b"),
    "enum": Colour.RED,
    "dataclass": Point(1, float("nan")),
    "model": Room(name="blue", since=datetime.date(2026, 1, 2)),
    "keys": {1: "one", (2, 3): "pair", None: "none"},
    "surrogate": "half \\ud83d x",
    "big": 2**70,
    "exception": ValueError("no such room"),
    "object": object(),
}


def give(name: str) -> object:
    """Return a value of some type."""
    with open("n.txt", "a") as effects:
        effects.write(name + "\\n")
    return VALUES[name]


def raises() -> str:
    """Raise."""
    with open("n.txt", "a") as effects:
        effects.write("raises\\n")
    raise KeyError("room 12")
'''

STORED = {
    "datetime": "2026-01-02T03:04:05+00:00",
    "date": "2026-01-02",
    "decimal": "3.10",
    "set": "[1,2,3]",
    "path": "/a/b",
    "enum": "red",
    "model": '{"name":"blue","since":"2026-01-02"}',
    "surrogate": "half � x",
    "big": str(2**70),
}


def test_c17_a_value_of_each_type_is_stored_once_and_the_same_after_a_kill(lovia: Lovia) -> None:
    lovia.write("tools.py", TOOLS)
    names = [
        *("datetime", "date", "decimal", "set", "bytes", "path", "enum", "dataclass"),
        *("model", "keys", "surrogate", "big", "exception", "object"),
    ]
    batch = calls(*((name, "give", {"name": name}) for name in names), ("raises", "raises", {}))
    hang = shell("hang", "echo $$ > pid; [ -e again ] || { touch again; exec sleep 600; }")
    make_agent(lovia, [batch, calls(("h", "hang", {})), say()], python("give", "raises") + hang)
    kill(lovia, "run", "agent.yaml", "go", "--run-id", "r1")
    before = results(lovia, "r1")
    assert lovia("resume", "r1").code == 0
    after = results(lovia, "r1")

    assert after[: len(before)] == before
    assert sorted(lines(lovia, "n.txt")) == sorted([*names, "raises"])
    assert asked(lovia) == [("r1", 1), ("r1", 2), ("r1", 3)]
    by_id = {result["call_id"]: result for result in after}
    assert {name: by_id[name]["output"] for name in STORED} == STORED
    assert by_id["raises"]["is_error"]
    assert "room 12" in by_id["raises"]["output"]
    for path in (lovia.folder / ".lovia").rglob("*.json"):
        json.loads(path.read_bytes(), parse_constant=pytest.fail)


def test_c17_a_date_in_the_script_is_text(lovia: Lovia) -> None:
    lovia.write("tools.py", 'def when(day: str) -> str:\n    "A day."\n    return day + "!"\n')
    lovia.write("s.yaml", "turns:\n  - tool_calls: [{id: a, name: when, arguments: {day: 2026-01-01}}]\n  - text: ok\n")
    lovia.write("agent.yaml", "version: 1\nname: a\nmodel: scripted:s.yaml\ntools: [./tools.py:when]\n")
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1").code == 0
    assert [result["output"] for result in results(lovia, "r1")] == ["2026-01-01!"]
