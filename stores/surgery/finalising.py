"""Calls that will not be run to their end any more."""

from __future__ import annotations

from stores.entries import ToolCallEntry, ToolResultEntry

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
