"""Keeping the values of secrets out of what is said about an error.

A provider's message, or that of a library, may quote what it was sent. What a variable of the environment holds is
taken for a secret by the variable's name; its name is shown in its place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_NAME = re.compile(
    r"(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|PAT)S?(?:_|$|\d)", re.IGNORECASE
)
_SHORTEST = 8
"""A shorter value is found in too much that is no secret."""


def hidden(text: str, environ: Mapping[str, str] | None = None) -> str:
    """``text`` with ``[NAME]`` for the value of each secret variable NAME, the longest first."""
    known = secret_variables(os.environ if environ is None else environ)
    for name, value in sorted(known.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(value, f"[{name}]")
    return text


def secret_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names say that they hold a secret, with their values, but for values that are too short."""
    values = {name: value.strip() for name, value in environ.items() if _NAME.search(name)}
    return {name: value for name, value in values.items() if len(value) >= _SHORTEST}
