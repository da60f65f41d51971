"""From stored entries to one conversation that every provider accepts (Z4).

What is stored is exact, faults included: equal ids, arguments that are no JSON, half characters. What
goes on the wire is mended here, in copies and in one place, so that each provider's mapper can send what
it gets. All is decided from front to back and by what stands before alone: the same transcript gives the
same conversation each time, and a longer one begins with it, which is what prompt caches need.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from lovia_cli.tools.arguments import clean_json, parse_arguments
from lovia_cli.tools.base import ToolArgumentsError
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry, pair
from stores.fields import changed
from stores.values import clean_text

MAX_NAME = 64
"""The longest id or tool name that all providers take."""

RAW_ARGUMENTS = "_raw"
"""The key under which arguments that are no JSON object are sent back to the model."""

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")

Turn = AssistantTextEntry | ReasoningEntry | ToolCallEntry


class WireTranscript:
    """A conversation that grows; ``entries`` is what has been added, as `ModelRequest.entries` promises it.

    A group is one session segment, or a whole step of the run itself: steps restart at 1 in each segment, and
    calls and results are paired within the group. Results stand directly after the turn of their calls, in call
    order, and inputs recorded between them after. A call without a result is left out, with what it leaves empty;
    so is a result without a call. Arguments are the text of a JSON object (see `wire_arguments`), call ids
    and tool names are legal, ids unique, all text is clean Unicode. Nothing that is added is changed, and what
    stands in ``entries`` stays as it is, so that a step costs the same however long the conversation.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._ids = WireIds()

    def add(self, group: Sequence[Entry]) -> None:
        """Add one group at the end."""
        _add_group(group, self._ids, self.entries)


def wire_arguments(text: str) -> str:
    """The text of a valid JSON object: ``text`` itself where it is one, byte for byte.

    No text is ``{}``. What cannot be read is kept in an object of its own, ``{"_raw": text}``.
    """
    try:
        value = parse_arguments(text)
    except ToolArgumentsError:
        return json.dumps({RAW_ARGUMENTS: clean_text(text)}, ensure_ascii=False)
    if not value:
        return "{}"
    if text.isascii() and "\\u" not in text:
        return text
    # Half a character may stand in the text or in an escape; where the parser mended one, write what it read.
    untouched = clean_text(text) == text and json.loads(text) == value
    return text if untouched else json.dumps(value, ensure_ascii=False)


class WireIds:
    """Gives each call an id that is legal and has not been given before, the same way every time."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._counts: dict[str, int] = {}

    def give(self, stored: str) -> str:
        """The wire id for a call stored under ``stored``: that id itself, when it is legal and new."""
        base = wire_name(stored, "call")
        name, number = base, self._counts.get(base, 1)
        while name in self._given:
            number += 1
            ending = f"_{number}"
            name = base[: MAX_NAME - len(ending)] + ending
        self._counts[base] = number
        self._given.add(name)
        return name


def wire_name(name: str, fallback: str) -> str:
    """``name`` in the characters and the length that providers take."""
    return _ILLEGAL.sub("_", name)[:MAX_NAME] or fallback


def _add_group(group: Sequence[Entry], ids: WireIds, out: list[Entry]) -> None:
    results = {id(call): result for call, result in pair(group)}
    turn: list[Turn] = []
    for entry in group:
        if isinstance(entry, Turn):
            if turn and turn[-1].step != entry.step:
                _add_turn(turn, results, ids, out)
            turn.append(entry)
            continue
        _add_turn(turn, results, ids, out)
        if isinstance(entry, InputEntry):
            out.append(changed(entry, text=clean_text(entry.text), parts=clean_json(entry.parts)))
    _add_turn(turn, results, ids, out)


def _add_turn(turn: list[Turn], results: dict[int, ToolResultEntry | None], ids: WireIds, out: list[Entry]) -> None:
    """One response and the results of its calls, right behind it; empties ``turn``."""
    kept = [entry for entry in turn if not isinstance(entry, ToolCallEntry) or results[id(entry)] is not None]
    cut = len(kept) < len(turn)
    turn.clear()
    if cut and all(_says_nothing(entry) for entry in kept):
        return
    answers: list[ToolResultEntry] = []
    for entry in kept:
        result = results[id(entry)] if isinstance(entry, ToolCallEntry) else None
        if isinstance(entry, ToolCallEntry) and result is not None:
            wire_id = ids.give(entry.id)
            answers.append(changed(result, call_id=wire_id, output=clean_text(result.output)))
            out.append(_wire_call(entry, wire_id))
        elif isinstance(entry, AssistantTextEntry | ReasoningEntry):
            out.append(changed(entry, text=clean_text(entry.text), provider=clean_json(entry.provider)))
    out.extend(answers)


def _wire_call(call: ToolCallEntry, wire_id: str) -> ToolCallEntry:
    return changed(
        call,
        id=wire_id,
        name=wire_name(call.name, "unnamed"),
        arguments=wire_arguments(call.arguments),
        provider=clean_json(call.provider),
    )


def _says_nothing(entry: Turn) -> bool:
    return isinstance(entry, ReasoningEntry) or (isinstance(entry, AssistantTextEntry) and not entry.text.strip())
