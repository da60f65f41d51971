"""The commands that we advise, as the same shell has to be given them."""

from __future__ import annotations

import re

from lovia_cli.cli.grammar import VERBS
from lovia_cli.render.terminal import quoted
from lovia_cli.settings import StoreLocation

_STORELESS = {"init", "validate", "schema", "completion"}
"""The verbs that look into no store."""


def in_same_store(text: str, location: StoreLocation) -> str:
    """``text`` with the store in every command that it advises, where the same shell would not find it by itself."""
    option = " ".join(store_option(location))
    if not option:
        return text
    verbs = "|".join(sorted(VERBS.keys() - _STORELESS, key=len, reverse=True))
    advised = rf"(?:(?<=: )|(?<=with ))lovia ({verbs})(?![\w-])"
    return re.sub(advised, lambda command: f"{command[0]} {option}", text)


def store_option(location: StoreLocation) -> list[str]:
    """``--store`` where the same shell would not find the store by itself."""
    return ["--store", quoted(location.given)] if location.origin == "flag" else []
