"""What comes in pieces, put together: objects whose fields we do not know, and texts that grow.

A text is kept as its pieces until the answer is there. Joined at each of them, it would be copied as often, and an
answer of a few hundred kilobytes would hold up everything else in the event loop for seconds.
"""

from __future__ import annotations

from typing import Any

_WHOLE = frozenset({"type", "id", "index", "format", "name", "role", "object"})
"""Text fields that a stream repeats or sends once, but never in pieces."""


class _Growing:
    """A text of which more may come."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]


def merge(into: dict[str, Any], piece: dict[str, Any]) -> None:
    """Add a streamed piece of an object whose fields we do not know; `joined` gives the whole.

    Texts grow, objects merge, lists of numbered objects merge by their ``index`` and others grow; null
    says nothing.
    """
    for key, new in piece.items():
        old = into.get(key)
        if new is None and key in into:
            continue
        if isinstance(old, str | _Growing) and isinstance(new, str) and key not in _WHOLE:
            if isinstance(old, str):
                into[key] = old = _Growing(old)
            old.pieces.append(new)
        elif isinstance(old, dict) and isinstance(new, dict):
            merge(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            _merge_list(old, new)
        else:
            into[key] = new


def _merge_list(into: list[Any], pieces: list[Any]) -> None:
    for piece in pieces:
        number = piece.get("index") if isinstance(piece, dict) else None
        same = None
        if number is not None:  # the object that grows is most likely the newest
            numbered = (item for item in reversed(into) if isinstance(item, dict) and item.get("index") == number)
            same = next(numbered, None)
        if same is None:
            into.append(piece)
        else:
            merge(same, piece)


def joined(merged: dict[str, Any]) -> dict[str, Any]:
    """``merged`` itself, all of its texts whole. However deep it nests: a provider may send anything."""
    within: list[Any] = [merged]
    while within:
        one = within.pop()
        for key, value in one.items() if isinstance(one, dict) else enumerate(one):
            if isinstance(value, _Growing):
                one[key] = "".join(value.pieces)
            elif isinstance(value, dict | list):
                within.append(value)
    return merged
