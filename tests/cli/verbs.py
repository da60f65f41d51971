"""Every verb there is, with what the tables of the tests must know of it. A new verb needs its rows here."""

from dataclasses import dataclass
from typing import Literal

from lovia_cli.cli.parser import Verbs
from lovia_cli.cli.verbs import VERBS as COMMANDS


@dataclass(frozen=True)
class Naming:
    """A verb that takes an id: of a run (through a session, too), of a session, or of either itself."""

    of: Literal["run", "session", "thing"]
    options: tuple[str, ...] = ()
    """What it needs beside the id to do something."""


NAMING = {
    "resume": Naming("run", ("--max-steps", "9")),
    "cancel": Naming("run"),
    "fork": Naming("run", ("--from-step", "0")),
    "replay": Naming("run"),
    "export": Naming("thing"),
    "history": Naming("thing"),
    "show": Naming("thing"),
    "rewind": Naming("session", ("--last-run", "-y")),
    "trim": Naming("session", ("-y",)),
    "rm": Naming("thing", ("-y",)),
    "runs finalize": Naming("run"),
}
"""The verbs that take an id of what is stored."""

MAKING_NOTHING = {
    "fork": [["--last", "--from-step", "1"], ["nosuch", "--from-step", "x"], ["nosuch"]],
    "history": [[], ["--json"], ["--tree"], ["--status", "failed"], ["--since", "1d"]],
    "validate": [["nowhere.yaml"]],
    "schema": [["agent"], ["events"], ["run"], ["replay"]],
    "import": [["nowhere.jsonl"], ["-"], ["agent.yaml"], ["."]],
    "replay": [["r1", "--agent", "agent.yaml"], ["r1", "--agent", "nowhere.yaml"]],
    "completion": [["bash"], ["zsh"], ["fish"]],
    "doctor": [[], ["--repair"]],
    "compare": [["nosuch", "other"], ["nosuch@2"], ["--last", "--html", "page.html"], ["nowhere.jsonl", "x", "--json"]],
    "prune": [["--older-than", "1d", "--dry-run"], ["--older-than", "1d", "-y"]],
    "run": [["agent.yaml", "go", "--dry-run"], ["nowhere.yaml", "go"], ["agent.yaml", "go", "--run-id", ""]],
}
"""Command lines of the other verbs, and of some of those, that must leave an empty folder as it is (X5)."""

MAKING = {"init"}
"""Verbs that are there to make something. `run` makes a store too, but not with the lines above."""


def all_verbs() -> set[str]:
    """The verbs as the program has them, those of a verb with verbs of its own by both words."""
    found = set()
    for name in COMMANDS:
        command = Verbs(name="lovia").get_command(None, name)
        found |= {f"{name} {verb}".strip() for verb in getattr(command, "commands", {"": None})}
    return found
