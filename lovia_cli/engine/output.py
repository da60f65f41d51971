"""From the final text to the run's output: parse it, ask once more for one that does not parse, store it (R10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lovia_cli.agent import Agent
from lovia_cli.errors import InvalidOutputError, OutputNotStoredError
from stores.entries import JSON, Entry, InputEntry
from stores.values import ValueNotStorable, clean_text, message_of, plain

REPAIR = "repair"
"""The field that marks an input which the engine sent, not the caller."""


def parse(agent: Agent, text: str) -> Any:
    """The output that ``text`` is. Raises `InvalidOutputError` when the agent's ``parse_output`` refuses it."""
    if agent.parse_output is None:
        return text
    try:
        return agent.parse_output(text)
    except ValueError as error:
        said = message_of(error) or type(error).__name__
        raise InvalidOutputError(f"the answer is not the output asked for: {said}") from error


def repair_message(error: InvalidOutputError, step: int) -> InputEntry:
    """What the model is told of an answer that is no output."""
    text = f"{clean_text(error.message)}\nAnswer again, with nothing but the output itself."
    return InputEntry(text=text, step=step, extra={REPAIR: True})


def is_repair(entry: Entry) -> bool:
    """True for a message of `repair_message`."""
    return isinstance(entry, InputEntry) and bool(entry.extra.get(REPAIR))


def was_repaired(entries: Sequence[Entry]) -> bool:
    """True when the last input is a repair message: the one round is used up."""
    last = next((entry for entry in reversed(entries) if isinstance(entry, InputEntry)), None)
    return last is not None and is_repair(last)


def storable(output: Any) -> tuple[JSON, dict[str, JSON] | None]:
    """The output's stored form; for one that has none, None and the error that a replay of it is (R10)."""
    try:
        return plain(output), None
    except ValueNotStorable as error:
        message = f"the run is completed, but its output could not be stored: {error.message}"
        return None, OutputNotStoredError(message, hint="run it again under a new run id").as_json()
