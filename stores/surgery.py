"""Pure functions over lists of entries and segments, which every store and the engine call.

Nothing here reads or writes a store, and nothing changes what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

from stores.entries import Entry, entry_to_json


def entries_checksum(entries: Sequence[Entry]) -> str:
    """What tells two lists of entries apart (S3): 64 hexadecimal digits.

    The sha256 of the canonical form: the list of the entries' JSON (`entry_to_json`: fields at their default left
    out, unknown ones included), keys sorted, no white space, all but ASCII as ``\\uXXXX``. Order counts. A field
    that a later version adds changes no checksum as long as it is at its default.
    """
    rows = [entry_to_json(entry) for entry in entries]
    text = json.dumps(rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("ascii")).hexdigest()


def same_entries(first: Sequence[Entry], second: Sequence[Entry]) -> bool:
    """True when both lists hold the same entries in the same order, as `entries_checksum` sees them."""
    return entries_checksum(first) == entries_checksum(second)
