"""Ending a run as it stands (S6)."""

from __future__ import annotations

from collections.abc import Sequence

from stores.entries import Entry, ToolCallEntry, ToolResultEntry, pair
from stores.surgery.turns import turns

NOT_RUN_TO_ITS_END = "Cancelled: this call was not run to its end. Whether it had an effect is not known."
"""The output of a `cancelled` result."""


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
    for turn in turns(entries):
        results = [entry for entry in turn if isinstance(entry, ToolResultEntry)]
        results += [missing[id(call)] for call in turn if id(call) in missing]
        results.sort(key=lambda result: order.get(id(result), len(order)))
        out += [entry for entry in turn if not isinstance(entry, ToolResultEntry)]
        out += results
    return out
