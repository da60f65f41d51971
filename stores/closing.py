"""What a segment's ``meta`` tells of its run: the engine writes it, a doctor writes it again from a checkpoint.

And the other way, read in one place: a run whose checkpoint is gone is what its segment tells of it, and a doctor
makes a checkpoint of that.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from stores.entries import JSON, AssistantTextEntry, Entry
from stores.records import RunHead, RunSnapshot, Save, Segment, Status, fold
from stores.shapes import HEAD


def segment_meta(head: RunHead, finished_at: float | None) -> dict[str, JSON]:
    """The run's times (S7), and what a replay needs without a checkpoint (R4)."""
    meta: dict[str, JSON] = {
        "timing": {"started_at": head.started_at, "finished_at": finished_at},
        "run": {
            "agent": head.agent,
            "steps": head.steps,
            "tool_calls": head.tool_calls,
            "usage": head.usage,
            "cost_usd": None if head.cost_unknown else head.cost_usd,
            "finish_reason": head.finish_reason,
            "config": head.config,
        },
    }
    if head.finish_reason == "finalized":
        meta["finalized"] = True
    return meta


def save_of_segment(segment: Segment, session_id: str, known: dict[str, JSON] | None = None) -> Save:
    """All that the segment of a completed run tells of it, as a checkpoint of one save: what a replay needs (R4).

    ``known`` are head fields that others tell: the run with whose segment its history ended, its parent.
    """
    told = {name: value for name, value in segment.told.items() if name in HEAD and HEAD[name](value)}
    steps = max((entry.step for entry in segment.entries), default=0)
    head = {name: told[name] for name in _KEPT if told.get(name) is not None}
    head |= {"status": Status.COMPLETED.value, "session_id": session_id, "started_at": segment.started_at}
    head["output"] = last_text(segment.entries)
    head |= {name: value for name, value in (known or {}).items() if value is not None}
    at = segment.finished_at
    return Save(
        number=1,
        step=told.get("steps", steps),
        at=time.time() if at is None else at,
        event="imported",
        entries=list(segment.entries),
        head=head,
    )


def snapshot_of_segment(segment: Segment, session_id: str) -> RunSnapshot:
    """A completed run whose checkpoint is gone (R4): what a doctor would write of it, of which no save is stored."""
    run = fold(segment.run_id, [save_of_segment(segment, session_id)])
    assert run is not None
    run.head.save, run.head.updated_at = 0, segment.finished_at
    return run


def last_text(entries: Sequence[Entry]) -> str:
    """The text of the last step that has any: what a run answered."""
    texts = [entry for entry in entries if isinstance(entry, AssistantTextEntry)]
    return "".join(entry.text for entry in texts if entry.step == texts[-1].step)


_KEPT = ("agent", "tool_calls", "usage", "cost_usd", "finish_reason", "config")
