"""Pure functions over lists of entries and segments, which every store and the engine call.

Nothing here reads or writes a store, and nothing changes what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256

from stores.entries import Entry, InputEntry, ToolCallEntry, ToolResultEntry, entry_to_json, pair
from stores.errors import StoreError

NOT_RUN_TO_ITS_END = "Cancelled: this call was not run to its end. Whether it had an effect is not known."
"""The output of a `cancelled` result."""


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


def cancelled(call: ToolCallEntry) -> ToolResultEntry:
    """The result of a call that will not be run to its end any more (Z2, S6)."""
    return ToolResultEntry(
        call_id=call.id,
        output=NOT_RUN_TO_ITS_END,
        step=call.step,
        position=call.position,
        is_error=True,
        kind="cancelled",
    )


def finalise(entries: Sequence[Entry]) -> list[Entry]:
    """A new list in which every call of the run has a result: `cancelled` for those without one (S6).

    The new results stand with those of their response, in call order (Z2); what was there stays as it was. Twice
    is the same as once.
    """
    order: dict[int, int] = {}
    missing: dict[int, ToolResultEntry] = {}
    for rank, (call, found) in enumerate(pair(entries)):
        result = found or cancelled(call)
        order[id(result)] = rank
        if found is None:
            missing[id(call)] = result
    out: list[Entry] = []
    for turn in _turns(entries):
        results = [entry for entry in turn if isinstance(entry, ToolResultEntry)]
        results += [missing[id(call)] for call in turn if id(call) in missing]
        results.sort(key=lambda result: order.get(id(result), len(order)))
        out += [entry for entry in turn if not isinstance(entry, ToolResultEntry)]
        out += results
    return out


def _turns(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Cut the transcript where a response begins and around every input.

    A record without steps (an import) has step 0 everywhere, so a response also begins where anything but a
    result follows a result.
    """
    turn: list[Entry] = []
    for entry in entries:
        if turn and _cuts(turn[-1], entry):
            yield turn
            turn = []
        turn.append(entry)
    if turn:
        yield turn


def _cuts(before: Entry, entry: Entry) -> bool:
    if isinstance(before, InputEntry) or isinstance(entry, InputEntry) or before.step != entry.step:
        return True
    return isinstance(before, ToolResultEntry) and not isinstance(entry, ToolResultEntry)
