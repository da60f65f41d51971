"""Has the agent changed since the run was saved? The fingerprint, part by part, and what differs (Z7)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from lovia_cli.agent import Agent
from lovia_cli.errors import AgentDriftError, ResumeToolMissingError
from stores.entries import JSON, ToolCallEntry
from stores.ids import as_words

Changes = dict[str, Any]
"""What differs, and only that: ``model`` [old, new]; ``tools_added``, ``tools_removed`` and ``tools_changed``, names;
``instructions`` True. Empty when nothing does.
"""


def fingerprint(agent: Agent, variables: dict[str, Any]) -> dict[str, JSON]:
    """Model id, a hash of each tool's schema by name, and a hash of the instructions with the variables filled in.

    Code, settings and sub-agents' inner tools are not part of it. What else a request had, and the agent's own limits,
    is noted beside it under ``also``: for a replay with another agent (H5); it is no drift.
    """
    return {
        "model": agent.model.id,
        "tools": {tool.spec.name: _hash(json.dumps(tool.spec.parameters, sort_keys=True)) for tool in agent.tools},
        "instructions": _hash(agent.render_instructions(variables)),
        "also": {
            "descriptions": {tool.spec.name: _hash(tool.spec.description) for tool in agent.tools},
            "output_schema": _hash(json.dumps(agent.output_schema, sort_keys=True)) if agent.output_schema else None,
            "limits": asdict(agent.limits),
        },
    }


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def changes(saved: dict[str, JSON] | None, now: dict[str, JSON]) -> Changes:
    """What differs between two fingerprints; nothing when the saved run has none (D2)."""
    if not saved:
        return {}
    old, new = saved.get("tools") or {}, now["tools"]
    found: Changes = {
        "model": [saved.get("model"), now["model"]] if saved.get("model") != now["model"] else None,
        "tools_added": sorted(new.keys() - old.keys()),
        "tools_removed": sorted(old.keys() - new.keys()),
        "tools_changed": sorted(name for name in old.keys() & new.keys() if old[name] != new[name]),
        "instructions": saved.get("instructions") != now["instructions"],
    }
    return {name: value for name, value in found.items() if value}


def describe(found: Changes) -> str:
    """The changes in one line for a person."""
    parts = []
    if "model" in found:
        parts.append(f"model {found['model'][0]} is now {found['model'][1]}")
    for name, word in (("tools_added", "added"), ("tools_removed", "removed"), ("tools_changed", "changed")):
        if name in found:
            parts.append(f"tools {word}: {', '.join(found[name])}")
    if "instructions" in found:
        parts.append("instructions changed")
    return "; ".join(parts)


def refuse_drift(run_id: str, found: Changes) -> None:
    """What ``on_drift: error`` does; the checkpoint stays as it was."""
    raise AgentDriftError(
        f"the agent has changed since run {run_id!r} was saved: {describe(found)}",
        hint="put the agent back, or accept the change: --on-drift warn",
    )


def refuse_missing_tool(
    run_id: str, saved: dict[str, JSON] | None, agent: Agent, pending: Iterable[ToolCallEntry]
) -> None:
    """A pending call whose tool the agent had and has no longer is always an error; the checkpoint stays as it was.

    A name that it never had gets the ordinary unknown-tool result.
    """
    had = (saved or {}).get("tools") or {}
    has = {tool.spec.name for tool in agent.tools}
    for call in pending:
        if call.name in had and call.name not in has:
            end = f"lovia runs finalize {as_words(run_id)}"
            raise ResumeToolMissingError(
                f"call {call.step}.{call.position} is pending, and the agent no longer has its tool {call.name!r}",
                hint=f"put the tool {call.name!r} back and resume, or end the run: {end}",
            )
