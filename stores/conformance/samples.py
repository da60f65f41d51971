"""Records that are hard to keep: every field set, awkward values, ids that a disk would mix up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from stores.entries import JSON, AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry
from stores.records import RunHead


def say(text: str, step: int = 0) -> InputEntry:
    """The shortest entry."""
    return InputEntry(text=text, step=step)


def call(position: int, step: int = 1, name: str = "weather") -> ToolCallEntry:
    """A call of step ``step``; its id is one that a model would repeat."""
    return ToolCallEntry(id="call", name=name, step=step, position=position)


def result(position: int, step: int = 1, output: str = "rain") -> ToolResultEntry:
    """The result of that call."""
    return ToolResultEntry(call_id="call", output=output, step=step, position=position)


def text(words: str, step: int = 1) -> AssistantTextEntry:
    """What a model answers."""
    return AssistantTextEntry(text=words, step=step)


def thought(words: str, step: int = 1) -> ReasoningEntry:
    """What a model thinks."""
    return ReasoningEntry(text=words, step=step)


def nested(depth: int) -> JSON:
    """Lists and objects in turn, ``depth`` deep."""
    value: JSON = "bottom"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


VALUES: dict[str, JSON] = {
    "none": None,
    "booleans": [True, False],
    "integers": [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)],
    "floats": [0.1, 1.0, -0.0, 1e300, 5e-324],
    "text": ["", " ", "é", "e\u0301", "\U0001f9d1\u200d\U0001f680", "\ufeff", "\u2028", "\x00\x1b[31m", "\r\n"],
    "empty": [[], {}, ""],
    "": "an empty key",
    "keys.with$odd/signs\u00e9": 1,
    "order": {"z": 1, "a": 2},
    "deep": nested(50),
}
"""JSON that a store must give back as it is."""

NOT_JSON: dict[str, Any] = {
    "surrogate": "\ud800",
    "large": 2**64,
    "small": -(2**63) - 1,
    "bytes": b"\x00",
    "set": {1},
    "keys": {1: "a"},
}
"""Values that JSON cannot hold; `stores.values.plain` has a stored form for each (D4)."""

TEXT = 'A "quote"\r\n\ttab, \x00 zero, \x1b[31m escape, \u2028 line, \ufeff mark, e\u0301, \U0001f9d1\u200d\U0001f680\n'
"""Text that a store must give back as it is."""

BIG = "0123456789abcdef" * 65536
"""One megabyte."""


def every_entry() -> list[Entry]:
    """Each type twice: with every field set and one of a later version, then as short as can be."""
    later: dict[str, JSON] = {"of_a_later_version": VALUES}
    return [
        InputEntry(text=TEXT, role="system", step=1, parts=[{"type": "image", "data": VALUES}], extra=dict(later)),
        AssistantTextEntry(text=TEXT, step=1, provider={"id": "m", "raw": VALUES}, extra=dict(later)),
        ReasoningEntry(text=TEXT, step=1, provider={"signature": "c2ln"}, extra=dict(later)),
        ToolCallEntry(
            id=TEXT, name=TEXT, arguments='{"not": json', step=1, position=1, provider=dict(VALUES), extra=dict(later)
        ),
        ToolResultEntry(
            call_id=TEXT,
            output=TEXT,
            step=1,
            position=1,
            is_error=True,
            kind="rejected",
            trimmed={"chars": 1000, "kept": 10, "archived": True, "of_a_later_version": VALUES},
            extra=dict(later),
        ),
        InputEntry(text=""),
        AssistantTextEntry(text=""),
        ReasoningEntry(text=""),
        ToolCallEntry(id="", name=""),
        ToolResultEntry(call_id="", output=""),
    ]


def full_head() -> dict[str, JSON]:
    """Every head field that a save may set, none at its default, and one of a later version."""
    head: dict[str, JSON] = {
        "agent": "release-bot",
        "status": "awaiting_approval",
        "session_id": "s/1",
        "history_upto": "earlier run",
        "started_at": 1700000000.125,
        "usage": {"input_tokens": 12, "output_tokens": None, "requests": 2, "unknown": 1},
        "cost_usd": 0.0123,
        "cost_unknown": 1,
        "output": {"answer": VALUES},
        "error": {"code": "provider", "message": TEXT, "hint": None, "retryable": True},
        "finish_reason": "stop",
        "model": "scripted",
        "stop": {"reason": "signal", "signal": 15, "name": "SIGTERM"},
        "last_input_tokens": 4096,
        "context": {"summary": TEXT, "upto": 3},
        "state": dict(VALUES),
        "pending_handoff": "incident",
        "queued_input": [{"type": "input", "text": TEXT}],
        "stopped_calls": ["2.1"],
        "started_calls": ["2.1", "2.2"],
        "tool_calls": 7,
        "approvals": [{"id": "approval 1", "state": "pending", "arguments": "{}"}],
        "grants": [{"tool": "deploy"}],
        "responses": {"release-bot": 3},
        "active_seconds": 12.5,
        "limits": {"max_steps": 50, "max_cost_usd": 2.0},
        "fingerprint": {"model": "scripted", "tools": {"weather": "abc"}},
        "config": {"agent_file": "/a/agent.yaml", "variables": {"env": "staging"}, "model": None},
        "parent": {"run_id": "source", "save": 4},
        "history_limit": 60,
        "of_a_later_version": VALUES,
    }
    _must_differ_from_default(head)
    return head


def _must_differ_from_default(head: dict[str, JSON]) -> None:
    """A field that is added to `RunHead` must be added to the sample too, or no test would miss it in a store."""
    for spec in fields(RunHead):
        default: Any = getattr(RunHead(), spec.name)
        if spec.name not in {"save", "steps", "updated_at", "extra"}:
            assert head.get(spec.name, default) != default, f"the sample head leaves {spec.name} at its default"


IDS = [
    "run",
    "Run",
    "RUN",
    "ru n",
    " run",
    "run ",
    "caf\u00e9",
    "cafe\u0301",
    "\ufb01le",
    "file",
    "Stra\u00dfe",
    "STRASSE",
    "a/b",
    "a\\b",
    "a:b",
    "a%2Fb",
    "a_b",
    "/a/b",
    "../../a",
    ".",
    "..",
    ".a",
    "a.",
    "a.json",
    "con",
    "CON.txt",
    "nul",
    "-rf",
    "--help",
    "~",
    "$HOME",
    "*",
    "a@3",
    "run:a",
    "\U0001f680",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "x" * 255,
    "X" * 255,
    "\U0001f680" * 255,
    "\u00e9" * 254 + "e",
    "\u00e9" * 254 + "f",
    "'; drop table runs; --",
]
"""Ids that are distinct, and that a disk, a shell or a database could take for one another or for something else."""

REFUSED_IDS = ["", " ", "\t", "\u3000", "a\x00b", "a\nb", "\x1b[31m", "a\x7f", "a\x85", "a\u2028b", "\ud800", "x" * 256]
"""Texts that are no ids."""
