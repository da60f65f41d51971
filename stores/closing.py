"""What a segment's ``meta`` tells of its run: the engine writes it, a doctor writes it again from a checkpoint."""

from __future__ import annotations

from stores.entries import JSON
from stores.records import RunHead


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
