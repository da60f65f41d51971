"""A recorded run as the script of a scripted model, which plays it again offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lovia_cli.models.playing import said_by, usual_finish
from stores.entries import (
    JSON,
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entry_to_json,
)
from stores.errors import ConflictError
from stores.exchange import RunRecord
from stores.fields import changed
from stores.lines import SaveInfo
from stores.records import RunSnapshot

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def script_of(run: RunSnapshot, saves: Sequence[SaveInfo] = ()) -> dict[str, JSON]:
    """The script that gives the run's responses again: the same entries, ids and blocks of unknown kinds included.

    What each response used and why it ended is in ``saves``, the run's history; without them it is unknown. A fork
    with another transcript has steps without any response: they are those of its source, and no turns.
    """
    told, said = _told(run, saves), _said(run.entries)
    steps = range(1, run.head.steps + 1)
    answered = [step for step in steps if step in said or step in told or run.head.parent is None]
    turns = [_turn(said.get(step, [AssistantTextEntry(text="")]), step, told.get(step, {})) for step in answered]
    if not turns:
        raise ConflictError(f"run {run.run_id!r} has no response yet, so there is nothing to play")
    return {"turns": turns}


def given_later(run: RunSnapshot) -> list[int]:
    """The steps after which the run was sent more input: a script cannot send it, so it has to be sent again."""
    steps = [entry.step for entry in run.entries if isinstance(entry, InputEntry) and "repair" not in entry.extra]
    return sorted({step for step in steps if step})


def _said(entries: Sequence[Entry]) -> dict[int, list[Entry]]:
    """What the model said in each step, as it came: without step and position."""
    said: dict[int, list[Entry]] = {}
    for entry in entries:
        if isinstance(entry, InputEntry | ToolResultEntry):
            continue
        plain = changed(entry, step=0, position=0) if isinstance(entry, ToolCallEntry) else changed(entry, step=0)
        said.setdefault(entry.step, []).append(plain)
    return said


def _told(run: RunSnapshot, saves: Sequence[SaveInfo]) -> dict[int, dict[str, Any]]:
    """What is known of each response that stands in the transcript, by its step.

    Where a fork has rewritten the transcript, that is known of the entries which it has kept, and of none behind them.
    """
    keeps = {save.number: save.keep for save in run.saves} if isinstance(run, RunRecord) else {}
    told: dict[int, SaveInfo] = {}
    for save in sorted(saves, key=lambda one: one.number):
        if save.event == "response":
            told[save.step] = save
        elif save.event == "forked" and "messages" in save.info.get("patched", ()):
            keep = keeps.get(save.number, 0)
            told = {step: one for step, one in told.items() if keep is None or one.entries <= keep}
    return {step: save.info for step, save in told.items()}


def _turn(said: list[Entry], step: int, told: dict[str, Any]) -> dict[str, JSON]:
    turn = _plain_turn(said)
    if not _says(turn, said, step):
        turn = {"entries": [entry_to_json(entry) for entry in said]}
    usage = told.get("usage") or {}
    if counts := {name: usage[name] for name in _COUNTS if usage.get(name) is not None}:
        turn["usage"] = counts
    finish = told.get("finish_reason")
    if finish and finish != usual_finish(said):
        turn["finish_reason"] = finish
    return turn


def _plain_turn(said: list[Entry]) -> dict[str, JSON]:
    """The turn as people write it. It may not say all: a response can have more than a turn has words for."""
    turn: dict[str, JSON] = {}
    for entry in said:
        if isinstance(entry, ReasoningEntry):
            turn["reasoning"] = (entry.provider or {}).get("block", entry.text)
        elif isinstance(entry, AssistantTextEntry):
            turn["text"] = entry.text
        elif isinstance(entry, ToolCallEntry):
            call = {"id": entry.id, "name": entry.name, "arguments": _arguments(entry.arguments)}
            turn.setdefault("tool_calls", []).append(call)
    return turn


def _arguments(text: str) -> JSON:
    """A mapping where it is written back to the very text, else the text."""
    try:
        value = json.loads(text)
        same = json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text
    except (ValueError, RecursionError):
        return text
    return value if same and isinstance(value, dict) else text


def _says(turn: dict[str, JSON], said: list[Entry], step: int) -> bool:
    """True when a scripted model that plays ``turn`` says exactly that."""
    from pydantic import ValidationError

    from lovia_cli.models.script import Turn

    try:
        return said_by(Turn.model_validate(turn), step) == said
    except ValidationError:
        return False
