"""What a store's doctor reports, and what it says of a run that is lost, or that its session holds as finished (R4)."""

from __future__ import annotations

from dataclasses import dataclass

CAN_ANSWER = (
    "its session holds this run as finished: its result can be kept from there, its history of saves not; "
    "the checkpoint can be set aside"
)

STARTS_OVER = "and its id would start over"


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


def answers(run_id: str, aside: str) -> str:
    """What was done with the checkpoint of such a run."""
    return (
        f"its session holds run {run_id!r} as finished: its result was kept from there, its history of saves is gone; "
        f"the checkpoint was {aside}"
    )


def lost_run(run_id: str, aside: str = "") -> str:
    """What it comes to that no save of a run can be kept: before what is left of it was put ``aside``, or after."""
    moved = f": it was {aside}" if aside else ""
    return f"no save of run {run_id!r} can be kept{moved}, {STARTS_OVER}"
