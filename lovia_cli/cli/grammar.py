"""The command line as a table, for completion: reading it takes no parser and no command to be imported.

What the commands really take is theirs to say; a test compares every verb and option with this.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lovia_cli.settings import CHECK_OUTPUTS, OUTPUTS

Wanted = str | tuple[str, ...]
"""What a word is: one of these kinds, or a choice of words."""

TEXT = "text"
"""Anything; there is nothing to propose."""
FILE = "file"
RUN = "run"
SESSION = "session"
ID = "id"
"""A run or a session."""
FLAG = "flag"
"""An option without a value."""


class Verb(NamedTuple):
    """``words`` are the positional ones, the last of them for all that follow; ``options`` the verb's own."""

    words: tuple[Wanted, ...] = ()
    options: Mapping[str, Wanted] = MappingProxyType({})


GLOBAL: dict[str, Wanted] = {
    "--store": FILE,
    "--output": OUTPUTS,
    "-o": OUTPUTS,
    "--json": FLAG,
    "--quiet": FLAG,
    "-q": FLAG,
    "--verbose": FLAG,
    "-v": FLAG,
    "--no-color": FLAG,
    "--debug": FLAG,
    "--help": FLAG,
    "-h": FLAG,
}
TOP: dict[str, Wanted] = {"--version": FLAG}
"""Before the verb only."""

STATUSES = ("running", "interrupted", "awaiting_approval", "completed", "failed")

_EXECUTING: dict[str, Wanted] = {
    "--var": TEXT,
    "-p": TEXT,
    "--model": TEXT,
    "-m": TEXT,
    "--max-steps": TEXT,
    "--max-cost": TEXT,
    "--limit": TEXT,
    "--timeout": TEXT,
    "--attach": FILE,
    "-a": FILE,
    "--on-drift": ("warn", "error", "ignore"),
    "--delete-on-success": FLAG,
}
_ASKING: dict[str, Wanted] = {"--dry-run": FLAG, "--yes": FLAG, "-y": FLAG}

VERBS: dict[str, Verb] = {
    "init": Verb((FILE, TEXT), {"--template": ("basic", "tools")}),
    "validate": Verb((FILE,), {"--output": CHECK_OUTPUTS, "-o": CHECK_OUTPUTS}),
    "schema": Verb((("agent", "events", "run", "comparison", "replay"), TEXT)),
    "run": Verb(
        (FILE, TEXT),
        {
            "--session": SESSION,
            "-s": SESSION,
            "--run-id": RUN,
            "--if-run-exists": ("resume", "restart", "fail", "resume-only"),
            "--dry-run": FLAG,
            **_EXECUTING,
        },
    ),
    "resume": Verb((ID, TEXT), {"--last": FLAG, "--input": TEXT, "-i": TEXT, "--agent": FILE, **_EXECUTING}),
    "replay": Verb((ID, TEXT), {"--last": FLAG, "--agent": FILE}),
    "cancel": Verb((ID, TEXT), {"--last": FLAG}),
    "history": Verb((ID, TEXT), {"--last": FLAG, "--status": STATUSES, "--since": TEXT, "-n": TEXT, "--tree": FLAG}),
    "show": Verb((ID, TEXT), {"--last": FLAG, "--step": TEXT, "--call": TEXT, "--raw": FLAG}),
    "fork": Verb(
        (ID, TEXT),
        {
            "--last": FLAG,
            "--from-step": TEXT,
            "--from-save": TEXT,
            "--tool-result": TEXT,
            "--state": TEXT,
            "--messages": FILE,
            "--append-input": TEXT,
            "--new-id": TEXT,
            "--run": FLAG,
        },
    ),
    "compare": Verb((ID, ID, TEXT), {"--last": FLAG, "--exit-code": FLAG, "--html": FILE}),
    "rewind": Verb(
        (SESSION, TEXT),
        {
            "--last": FLAG,
            "--keep-entries": TEXT,
            "--keep-runs": TEXT,
            "--last-run": FLAG,
            "--keep-history": FLAG,
            **_ASKING,
        },
    ),
    "trim": Verb(
        (SESSION, TEXT), {"--last": FLAG, "--keep-chars": TEXT, "--keep-runs": TEXT, "--no-archive": FLAG, **_ASKING}
    ),
    "export": Verb(
        (ID, TEXT), {"--last": FLAG, "--format": ("jsonl", "json", "md", "html", "scripted"), "--redact": FLAG}
    ),
    "import": Verb((FILE, TEXT), {"--new-id": TEXT}),
    "rm": Verb((ID, TEXT), {"--last": FLAG, "--keep-history": FLAG, "--yes": FLAG, "-y": FLAG}),
    "prune": Verb((TEXT,), {"--older-than": TEXT, "--status": ("completed", "deleted"), **_ASKING}),
    "doctor": Verb((TEXT,), {"--repair": FLAG}),
    "runs finalize": Verb((ID, TEXT), {"--last": FLAG}),
    "completion": Verb((("bash", "zsh", "fish"), TEXT)),
}
