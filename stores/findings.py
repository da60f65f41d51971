"""What a store's doctor reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the doctor noticed: the file, what is the matter, and whether a repair can help.

    ``is_leftover``: harmless, what a crash left behind and nobody reads.
    """

    file: str
    what: str
    repairable: bool
    is_leftover: bool = False
