"""Attachments as a line each: what they are and what they are called, never their data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def attached(parts: Iterable[Mapping[str, Any]]) -> str:
    """The lines that stand below the text of an input, each ``[file notes.txt]`` or, without a name, ``[file]``."""
    return "".join(f"\n[{_label(part)}]" for part in parts)


def _label(part: Mapping[str, Any]) -> str:
    name = part.get("name")
    kind = str(part.get("type", "attachment"))
    return f"{kind} {' '.join(name.split())}" if isinstance(name, str) and name.strip() else kind
