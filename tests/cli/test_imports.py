"""What each command may load: the table of start-up.

Every library here costs as much as starting Python itself, or several times that; the modules of our own bring many
classes with them. A command that loads one more than its row says is a command that has become slower.
"""

import re

import pytest

from tests.cli.lovia import Lovia

LIBRARIES = (
    "typer", "asyncio", "orjson", "msgspec", "filelock", "pydantic", "ruamel", "jsonschema", "docstring_parser", "rich",
    "sqlite3", "openai", "anthropic", "httpx", "httpx2", "mcp", "yaml", "typing_extensions", "subprocess", "logging",
    "importlib.metadata", "stores.records", "lovia_cli.agent", "lovia_cli.render.listings",
)  # fmt: skip

NOTHING: set[str] = set()
HELP = {"typer", "subprocess"}
"""A right command line needs no typer: it is for help, and for saying what is wrong."""
READS = {"orjson", "msgspec", "typing_extensions", "stores.records"}
LISTS = READS | {"lovia_cli.render.listings"}
LOOP = {"asyncio", "subprocess", "logging", "lovia_cli.agent"}
WRITES = READS | LOOP | {"filelock"}
CHECKS = {"pydantic", "ruamel", "typing_extensions"}
TOOLS = {"docstring_parser", "importlib.metadata", "jsonschema"}
"""The arguments of a Python tool are a model of the user's: pydantic's plugins are looked for."""
RUNS = WRITES | CHECKS

TABLE = [
    (NOTHING, ["__complete", "bash", "lovia sh", " :="]),
    (NOTHING, ["__complete", "bash", "lovia show --ca", " :="]),
    (NOTHING, ["__complete", "bash", "lovia show ", " :="]),
    (NOTHING, ["--version"]),
    (NOTHING, ["completion", "bash"]),
    (NOTHING, ["init", "shop"]),
    (NOTHING, ["schema", "run"]),
    (NOTHING, ["schema", "events"]),
    (NOTHING, ["schema", "agent"]),
    (HELP, ["nosuch"]),
    (HELP | READS | {"lovia_cli.agent"}, ["--help"]),
    (HELP, ["completion", "--help"]),
    (LISTS, ["history"]),
    (LISTS, ["history", "r1"]),
    (LISTS, ["history", "u1"]),
    (LISTS, ["history", "--tree"]),
    (READS, ["show", "r1"]),
    (READS, ["show", "u1", "--json"]),
    (READS, ["doctor"]),
    (READS, ["trim", "u1", "--dry-run"]),
    (READS, ["rewind", "u1", "--last-run", "--dry-run"]),
    (READS, ["prune", "--older-than", "1d", "-y"]),
    (READS, ["rm", "nosuch", "-y"]),
    (READS | LOOP, ["cancel", "r1"]),
    (WRITES, ["runs", "finalize", "r1"]),
    (WRITES, ["resume", "r1"]),  # a replay: it needs no agent
    (CHECKS, ["validate", "agent.yaml"]),
    (CHECKS | TOOLS | {"msgspec"}, ["validate", "tools.yaml"]),
    (CHECKS | {"msgspec", "stores.records"}, ["validate", "asks.yaml"]),
    (RUNS, ["run", "agent.yaml", "go"]),
    (RUNS, ["run", "agent.yaml", "go", "--json"]),
    (READS, ["compare", "r1", "u1"]),
    (READS, ["compare", "r1", "u1", "--html", "page.html"]),
    (WRITES, ["fork", "r1", "--from-step", "1"]),
    (WRITES, ["replay", "r1"]),
    (READS | LOOP | CHECKS, ["replay", "r1", "--agent", "agent.yaml"]),
    (READS, ["export", "r1"]),
    (READS, ["export", "u1", "--format", "html"]),
    (READS | {"pydantic"}, ["export", "r1", "--format", "scripted"]),
    (READS, ["import", "agent.yaml"]),
]

TOOLS_FILE = """\
name: desk
model: scripted:agent-script.yaml
tools:
  - ./tools.py:look
  - {type: shell, name: say, command: [echo, "${args.what}"], args: {what: {type: string}}}
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Lovia:
    """A folder with an agent, and a run in a session."""
    lovia = Lovia(tmp_path_factory.mktemp("used"))
    lovia.agent([{"text": "hi"}])
    lovia.write("tools.yaml", TOOLS_FILE)
    lovia.write("tools.py", "def look(name: str) -> str:\n    return name\n")
    lovia.write("asks.yaml", "name: desk\nmodel: openai:gpt-5\n")
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
