"""What names one tool result for good: its run, its step and its position, never the call's id, which repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stores.entries import Entry, ToolResultEntry

_REFERENCE = r"(.+)/([0-9]{1,9})\.([1-9][0-9]{0,8})"


@dataclass(slots=True, frozen=True, order=True)
class ResultRef:
    """``RUN/STEP.POSITION``, as its text is written (M2)."""

    run_id: str
    step: int
    position: int

    def __str__(self) -> str:
        return f"{self.run_id}/{self.step}.{self.position}"

    @staticmethod
    def parse(text: str) -> ResultRef | None:
        """The reference that ``text`` is; None when it is none. A run id may itself hold slashes and dots."""
        found = re.fullmatch(_REFERENCE, text, re.DOTALL)
        return ResultRef(found[1], int(found[2]), int(found[3])) if found else None


def results_of(run_id: str, entries: Sequence[Entry]) -> Iterator[tuple[int, ResultRef, ToolResultEntry]]:
    """Every tool result of one run, with its index in ``entries`` and its reference.

    A result without a position (an import, another writer) gets the next one of its step that no other has.
    """
    results = [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, ToolResultEntry)]
    taken = {(result.step, result.position) for _, result in results if result.position}
    for index, result in results:
        position = result.position
        if not position:
            position = next(n for n in range(1, len(results) + 1) if (result.step, n) not in taken)
            taken.add((result.step, position))
        yield index, ResultRef(run_id, result.step, position), result
