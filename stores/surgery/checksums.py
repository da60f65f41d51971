"""What tells two lists of entries apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

from stores.entries import Entry, entry_to_json
from stores.errors import StoreError


def entries_checksum(entries: Sequence[Entry]) -> str:
    """What tells two lists of entries apart (S3): 64 hexadecimal digits.

    The sha256 of the canonical form: the list of the entries' JSON (`entry_to_json`: fields at their default left
    out, unknown ones included), keys sorted, no white space, all but ASCII as ``\\uXXXX``. Order counts. A field
    that a later version adds changes no checksum as long as it is at its default. What JSON cannot hold is a
    `StoreError`.
    """
    rows = [entry_to_json(entry) for entry in entries]
    try:
        text = json.dumps(rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"an entry cannot be stored as JSON: {error}", hint="pass it through stores.values.plain first"
        ) from error
    return sha256(text.encode("ascii")).hexdigest()


def same_entries(first: Sequence[Entry], second: Sequence[Entry]) -> bool:
    """True when both hold the same entries in the same order, as `entries_checksum` sees them."""
    return entries_checksum(first) == entries_checksum(second)
