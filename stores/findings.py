"""What a store's doctor reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the doctor noticed: the file, what is the matter, and whether a repair can help.

    ``is_leftover``: harmless, what a crash left behind and nobody reads. ``is_lost``: a repair only moves what is left
    of it aside, and the record is gone from the store.
    """

    file: str
    what: str
    repairable: bool
    is_leftover: bool = False
    is_lost: bool = False
