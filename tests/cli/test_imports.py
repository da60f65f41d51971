"""What each command may load: the table of start-up.

Every library here costs as much as starting Python itself, or several times that. A command that loads one more than
its row says is a command that has become slower.
"""

import re

import pytest

from tests.cli.lovia import Lovia

LIBRARIES = (
    "typer", "asyncio", "orjson", "filelock", "pydantic", "ruamel", "jsonschema", "docstring_parser", "rich", "sqlite3",
    "openai", "anthropic", "httpx", "httpx2", "mcp", "yaml",
)  # fmt: skip

PARSER = {"typer"}
READS = {"typer", "asyncio", "orjson"}
WRITES = READS | {"filelock"}
CHECKS = {"typer", "asyncio", "pydantic", "ruamel"}
RUNS = WRITES | CHECKS

TABLE = [
    (set(), ["__complete", "bash", "lovia sh", " :="]),
    (set(), ["__complete", "bash", "lovia show --ca", " :="]),
    (set(), ["__complete", "bash", "lovia show ", " :="]),
    (PARSER, ["--version"]),
    (PARSER, ["completion", "bash"]),
    (PARSER, ["nosuch"]),
    (PARSER, ["init", "shop"]),
    (PARSER | {"pydantic"}, ["schema", "run"]),
    (PARSER | {"pydantic"}, ["schema", "events"]),
    (PARSER | {"pydantic"}, ["schema", "agent"]),
    (READS, ["history"]),
    (READS, ["history", "r1"]),
    (READS, ["history", "u1"]),
    (READS, ["history", "--tree"]),
    (READS, ["show", "r1"]),
    (READS, ["show", "u1", "--json"]),
    (READS, ["cancel", "r1"]),
    (READS, ["compare", "r1", "u1"]),
    (READS, ["compare", "r1", "u1", "--html", "page.html"]),
    (WRITES, ["fork", "r1", "--from-step", "1"]),
    (READS, ["doctor"]),
    (WRITES, ["runs", "finalize", "r1"]),
    (CHECKS, ["validate", "agent.yaml"]),
    (RUNS, ["run", "agent.yaml", "go"]),
    (RUNS, ["run", "agent.yaml", "go", "--json"]),
    (WRITES, ["resume", "r1"]),  # a replay: it needs no agent
    ({"filelock", "orjson", "asyncio"}, ["replay", "r1"]),
    ({"orjson", "asyncio"} | {"pydantic", "ruamel"}, ["replay", "r1", "--agent", "agent.yaml"]),
    ({"orjson"}, ["export", "r1"]),
    ({"orjson"}, ["export", "u1", "--format", "html"]),
    ({"orjson", "asyncio", "pydantic"}, ["export", "r1", "--format", "scripted"]),
    ({"orjson", "asyncio"}, ["import", "agent.yaml"]),
]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Lovia:
    """A folder with an agent, and a run in a session."""
    lovia = Lovia(tmp_path_factory.mktemp("used"))
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    return lovia


@pytest.mark.parametrize(
    ("libraries", "argv"), TABLE, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_what_a_command_loads(used: Lovia, libraries: set[str], argv: list[str]) -> None:
    assert loaded(used, *argv) == libraries


def loaded(lovia: Lovia, *argv: str) -> set[str]:
    """The libraries that the installed script imports for these arguments."""
    told = lovia(*argv, env={"PYTHONPROFILEIMPORTTIME": "1"}).err
    names = set(re.findall(r"^import time:[^|]*\|[^|]*\| +(\S+)$", told, re.MULTILINE))
    assert "lovia_cli" in names
    return names & set(LIBRARIES)
