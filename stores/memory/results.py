"""Archived tool outputs in memory."""

from __future__ import annotations

from stores.references import ResultRef


class InMemoryResultStore:
    """A `ResultStore`."""

    def __init__(self) -> None:
        self._outputs: dict[ResultRef, str] = {}

    async def put(self, reference: ResultRef, output: str) -> bool:
        return self._outputs.setdefault(reference, output) == output

    async def get(self, reference: ResultRef) -> str | None:
        return self._outputs.get(reference)

    async def drop(self, run_id: str) -> None:
        for reference in [reference for reference in self._outputs if reference.run_id == run_id]:
            del self._outputs[reference]
