"""What two texts that hold JSON mean, so that spaces and the order of keys make no difference."""

from __future__ import annotations

import json
from typing import Any

from stores.entries import JSON

NOT_JSON: Any = object()


def structure(text: str) -> JSON:
    """The object or list that ``text`` holds, or `NOT_JSON`: a bare word or number is better compared as text."""
    if text.lstrip()[:1] not in ("{", "["):
        return NOT_JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


def meaning(text: str) -> str:
    """A text that is the same for every way to write the same object or list; any other text is its own meaning."""
    value = structure(text)
    return text if value is NOT_JSON else "json " + canonical(value)


def canonical(value: JSON) -> str:
    """One JSON text for one value: 1, 1.0 and true stay apart."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def written(value: JSON) -> str:
    """The value as people are shown it, in one line."""
    return json.dumps(value, ensure_ascii=False)
