"""Asking before something is destroyed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

from lovia_cli.cli.answers import Told
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.cli.verbs import Done
from lovia_cli.errors import UserError
from lovia_cli.exits import Exit
from lovia_cli.render.terminal import safe

Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask; needed where there is no terminal to ask at.")]
DryRun = Annotated[bool, Option("--dry-run", help="Say what would be done, and change nothing.")]
KeepHistory = Annotated[bool, Option("--keep-history", help="Leave the saves of what is deleted in the store.")]

NOT_DONE = Told(message="nothing was changed", data={"declined": True}, to_stderr=True)
"""The answer to a person who has said no."""

BROKEN_OFF = replace(NOT_DONE, exit_code=Exit.INT)
"""The answer to Ctrl-C, which says no too, and stops whoever started us."""


def agreed(call: Call, question: str, *, yes: bool) -> bool:
    """True when it may be done. Asks at a terminal; elsewhere `UserError` unless ``yes`` was given.

    Ctrl-C ends the command there, by raising `Done`.
    """
    if yes:
        return True
    err = call.streams.err
    if sys.stdin is None or not sys.stdin.isatty() or not err.is_terminal:
        raise UserError("there is no terminal to ask at whether it is meant", hint="add --yes to do it")
    try:
        err.text(safe(f"{question} [y/N] ", lines=False))
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        err.text("\n")
        raise Done(BROKEN_OFF) from None
