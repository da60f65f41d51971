"""What every kind of tool is told in its definition: a name, a timeout, what a resume does."""

from __future__ import annotations

import math
import re
from typing import Literal, get_args

from lovia_cli.errors import AgentFileError

DEFAULT_TIMEOUT = 120.0

OnResume = Literal["rerun", "fail"]
"""What happens to a call that a crash left without a result (Z5)."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_definition(name: str, timeout: float | None, on_resume: str, *, where: str | None = None) -> None:
    """Raise `AgentFileError` for a tool that no provider takes, or that could never run.

    A name is 1 to 64 ASCII letters, digits, ``_`` and ``-``, which is what every provider allows.
    """
    if not _NAME.fullmatch(name):
        raise AgentFileError(
            f"{name!r} cannot be a tool's name",
            where=where,
            hint="use 1 to 64 letters, digits, _ and -; set another with: name",
        )
    if timeout is not None and not (timeout > 0 and math.isfinite(timeout)):
        raise AgentFileError(f"the timeout of {name} is {timeout!r}", where=where, hint="give seconds above 0")
    if on_resume not in get_args(OnResume):
        words = ", ".join(get_args(OnResume))
        raise AgentFileError(f"on_resume of {name} is {on_resume!r}", where=where, hint=f"use one of: {words}")
