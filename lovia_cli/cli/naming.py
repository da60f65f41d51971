"""An id on the command line, or ``--last`` in its place: the same for every verb that takes one."""

from __future__ import annotations

from typing import Annotated

from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.errors import UserError

RunName = Annotated[
    str | None, Argument(metavar="RUN", help="A run, or a session: then its unfinished run.", show_default=False)
]
SessionName = Annotated[str | None, Argument(metavar="SESSION", help="The session.", show_default=False)]
Last = Annotated[bool, Option("--last", help="The one with the newest save, in place of an id.")]


def named(name: str | None, last: bool, what: str = "run or session") -> str | None:
    """The id that was given, or None for ``--last``; both, and neither, are a usage error."""
    if last and name is not None:
        raise UserError(f"{name!r} and --last were given", hint="name the one that is meant, or leave it to --last")
    if not last and name is None:
        raise UserError(f"no {what} given", hint="name one, or take the newest with --last; see: lovia history")
    return name
