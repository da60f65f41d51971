"""What markers promise: that an output which was cut can be had again, whole, from the archive (M2).

Of an output that is damaged there, whatever shows the same result whole, the run's checkpoint or a segment that was not
trimmed, may be a copy; whether it is, the marker tells, since a run id may stand for another run by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stores.entries import Entry, ToolResultEntry
from stores.errors import StoreError
from stores.references import ResultRef, results_of
from stores.surgery import is_whole_of


def promised(run_id: str, entries: Sequence[Entry]) -> list[tuple[ResultRef, ToolResultEntry]]:
    """The results of the run with such a marker."""
    return [(reference, result) for _, reference, result in results_of(run_id, entries) if _is_promised(result)]


def _is_promised(result: ToolResultEntry) -> bool:
    return bool((result.trimmed or {}).get("archived"))


@dataclass(frozen=True, slots=True)
class Shown:
    """A tool result of a run as it stands at ``place``."""

    place: str
    reference: ResultRef
    result: ToolResultEntry


def shown(place: str, run_id: str, entries: Sequence[Entry]) -> list[Shown]:
    """All results of the run, as they stand there."""
    return [Shown(place, reference, result) for _, reference, result in results_of(run_id, entries)]


@dataclass(frozen=True, slots=True)
class Promise:
    """Where markers promise the output, and the copy that keeps it: None where it is lost."""

    places: list[str]
    copy: Shown | None

    @staticmethod
    def among(places: Iterable[Shown]) -> Promise:
        """What all the places come to that show the one result."""
        found = list(places)
        markers = [one for one in found if _is_promised(one.result)]
        wholes = (one for one in found if one.result.trimmed is None)
        fitting = (one for one in wholes if any(is_whole_of(one.result.output, marker.result) for marker in markers))
        return Promise(sorted({marker.place for marker in markers}), next(fitting, None))

    @property
    def loss(self) -> str:
        """What it means that there is no copy."""
        if not self.places:
            return "no session says that it is here"
        return f"it is lost: nothing else holds it, and what its marker in {' and '.join(self.places)} promises is void"


def untold(error: StoreError) -> str:
    """What to say where a copy may stand in what is well, and cannot be read: then nothing is lost yet."""
    return f"whether there is a copy cannot be told: {error.message}"


def in_checkpoint(run_id: str) -> str:
    return f"the checkpoint of run {run_id!r}"


def in_session(session_id: str) -> str:
    return f"session {session_id!r}"
