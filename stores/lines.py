"""What every store shows of its records in one line of a listing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from stores.entries import JSON
from stores.records import RunInfo, SessionInfo

Info = TypeVar("Info", RunInfo, SessionInfo)


def newest_first(infos: Iterable[Info]) -> list[Info]:
    """The lines as listings have them: what changed last stands first, what tells no time last."""
    return sorted(infos, key=lambda info: info.updated_at or 0.0, reverse=True)


def open_approvals(approvals: Iterable[dict[str, JSON]]) -> list[str]:
    """The ids of those that wait for a decision, in order. ``approvals`` is the head's field."""
    return [approval["id"] for approval in approvals if approval.get("state", "pending") == "pending"]
