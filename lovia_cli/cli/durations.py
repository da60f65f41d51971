"""Durations on the command line: ``30d``."""

from __future__ import annotations

import re

from lovia_cli.errors import UserError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"([0-9]{1,9})([smhdw])")


def seconds_given(option: str, text: str) -> int:
    """The duration in seconds; a whole number and its unit, such as ``90s``, ``30m``, ``12h``, ``30d`` or ``8w``."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise UserError(f"{text!r} is no duration", where=option, hint="write a number and s, m, h, d or w: 30d")
    return int(found[1]) * _UNITS[found[2]]
