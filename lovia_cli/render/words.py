"""Words that go with a number."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str = "") -> str:
    """``1 step``, ``1,200 steps``; ``nouns`` is a plural that takes more than an s at its end."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
