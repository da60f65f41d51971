"""The limits of a run, as totals over all its processes (Z1)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lovia_cli.agent import Limits
from lovia_cli.engine.journal import Journal
from lovia_cli.errors import LimitReached, UserError
from lovia_cli.models.base import Model
from lovia_cli.models.prices import unpriced
from stores.records import RunHead, Usage


def limits_in_force(agent: Limits, saved: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The agent's limits, under those saved with the run, under those given now (Z8); None is no limit."""
    known = asdict(agent)
    if unknown := sorted(set(given) - set(known)):
        raise UserError(f"unknown limit {unknown[0]!r}", hint=f"known limits: {', '.join(known)}")
    Limits(**given)  # refuses what is no limit
    return {**known, **{name: value for name, value in saved.items() if name in known}, **given}


def refuse_unpriced(model: Model, limits: dict[str, Any]) -> None:
    """A cost limit that cannot be kept, because a model's price is not known, is refused before the first call."""
    if limits.get("max_cost_usd") is not None and (errors := unpriced(model)):
        raise errors[0]


def used(head: RunHead, active_seconds: float) -> dict[str, float]:
    """What the run has used of each limit so far."""
    return {
        "max_steps": head.steps,
        "max_tool_calls": head.tool_calls,
        "max_total_tokens": Usage.from_json(head.usage).total_tokens,
        "max_cost_usd": head.cost_usd or 0.0,
        "max_seconds": active_seconds,
    }


def reached(limits: dict[str, Any], used_up: dict[str, float], *, but: str) -> LimitReached | None:
    """The first limit that is used up, or None. ``but`` is the one that does not bind the next act."""
    for name, value in limits.items():
        if name != but and value is not None and used_up.get(name, 0) >= value:
            return LimitReached(name, value, used_up[name])
    return None


def before_model(journal: Journal) -> LimitReached | None:
    """The limit that forbids another model call: tool calls do not count here."""
    return reached(journal.head.limits, used(journal.head, journal.active_seconds()), but="max_tool_calls")


def before_tool(journal: Journal, running: int) -> LimitReached | None:
    """The limit that forbids another tool call while ``running`` are under way: steps do not count here."""
    spent = used(journal.head, journal.active_seconds())
    spent["max_tool_calls"] += running
    return reached(journal.head.limits, spent, but="max_steps")
