"""Archived tool outputs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from stores.references import ResultRef


@runtime_checkable
class ResultStore(Protocol):
    """Whole tool outputs by reference, kept apart from the transcripts they were cut from (M2)."""

    async def put(self, reference: ResultRef, output: str) -> bool:
        """Store the output durably; True when it is there, now or from before.

        False when another text is there under that reference: it stays, and nothing of ``output`` is stored.
        """
        ...

    async def get(self, reference: ResultRef) -> str | None:
        """The output; None when there is none."""
        ...

    async def drop(self, run_id: str) -> None:
        """Remove every output of that run. Unknown: nothing happens."""
        ...
