"""The transcript's entries, and THE rule that pairs calls with results.

An entry belongs to a step, numbered from 1 within its run; an input that stands before the first
response has step 0. A call has a position within its step, from 1; its result carries the same two
numbers, so that ids, which models repeat, never decide what belongs together. Only where a record
has no position (an import, another writer) does the n-th result of an id in a step belong to the
n-th call of that id (Z4).

On disk an entry is a JSON object with its ``type``; fields at their default are left out, and
fields that this version does not know are kept in ``extra`` and written back (D1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import NODEFAULT, Meta, Struct, field

from stores.errors import StoreError

JSON = Any
"""A value that JSON can hold: None, bool, int, float, str, list, or dict with text keys."""

ResultKind = Literal["ok", "error", "cancelled", "rejected"]


class UnknownEntryError(StoreError):
    """An entry type that this version does not know (D1)."""

    code = "unknown_entry"


Extra = Annotated[dict[str, JSON], Meta(min_length=1 << 62)]
"""What this version does not know of an entry. A field of that name is such a one too: no object is large enough."""


class _Record(Struct, kw_only=True, tag_field="type", forbid_unknown_fields=True, gc=False):
    """An entry as msgspec makes it while it parses, so that a transcript loads in little more time than its JSON.

    The collector does not look at entries: what they hold is JSON, which has no cycles.
    """


class InputEntry(_Record, tag="input"):
    """What the caller sent. ``parts`` are attachments, typed and beside the text."""

    type: ClassVar[str] = "input"
    text: str
    role: Literal["user", "system"] = "user"
    step: int = 0
    parts: list[dict[str, JSON]] = field(default_factory=list)
    extra: Extra = field(default_factory=dict)


class AssistantTextEntry(_Record, tag="assistant_text"):
    """Text the model answered. ``provider`` is what only its provider understands, verbatim."""

    type: ClassVar[str] = "assistant_text"
    text: str
    step: int = 0
    provider: dict[str, JSON] | None = None
    extra: Extra = field(default_factory=dict)


class ReasoningEntry(_Record, tag="reasoning"):
    """The model's reasoning, or a block of a kind we do not know, kept verbatim in ``provider``."""

    type: ClassVar[str] = "reasoning"
    text: str
    step: int = 0
    provider: dict[str, JSON] | None = None
    extra: Extra = field(default_factory=dict)


class ToolCallEntry(_Record, tag="tool_call"):
    """A call the model asked for. ``arguments`` is the text as it came, valid JSON or not."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    arguments: str = "{}"
    step: int = 0
    position: int = 0
    provider: dict[str, JSON] | None = None
    extra: Extra = field(default_factory=dict)


class ToolResultEntry(_Record, tag="tool_result"):
    """The one result of a call. ``kind`` says how it came about; all but ``ok`` have ``is_error``.

    ``trimmed`` is there when maintenance has cut the output (M1): ``{"chars": N, "kept": N, "archived": bool}``, the
    length of the whole, how much of it the output begins with, and whether a result store has the whole; then there
    is its checksum too, ``"sum"``.
    """

    type: ClassVar[str] = "tool_result"
    call_id: str
    output: str
    step: int = 0
    position: int = 0
    is_error: bool = False
    kind: ResultKind = "ok"
    trimmed: dict[str, JSON] | None = None
    extra: Extra = field(default_factory=dict)


Entry = InputEntry | AssistantTextEntry | ReasoningEntry | ToolCallEntry | ToolResultEntry

_TYPES: dict[str, type[Any]] = {
    cls.type: cls for cls in (InputEntry, AssistantTextEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry)
}
_MUST_WRITE = {"text", "id", "name", "arguments", "call_id", "output"}


def _defaults(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    """Each field in order, with the default that lets it be left out of the JSON."""
    rows = []
    for spec in msgspec.structs.fields(cls):
        if spec.name == "extra":
            continue
        default = spec.default_factory() if spec.default_factory is not NODEFAULT else spec.default
        rows.append((spec.name, NODEFAULT if spec.name in _MUST_WRITE else default))
    return tuple(rows)


_FIELDS = {kind: _defaults(cls) for kind, cls in _TYPES.items()}
_NAMES = {kind: frozenset(name for name, _ in rows) for kind, rows in _FIELDS.items()}
_REQUIRED = {
    kind: frozenset(spec.name for spec in msgspec.structs.fields(cls) if spec.required) for kind, cls in _TYPES.items()
}


def entry_to_json(entry: Entry) -> dict[str, JSON]:
    """One entry as a JSON object; unknown fields it was read with are written back."""
    out: dict[str, JSON] = {"type": entry.type}
    for name, default in _FIELDS[entry.type]:
        value = getattr(entry, name)
        if value != default:
            out[name] = value
    if entry.extra:
        out.update(entry.extra)
    return out


def entry_from_json(data: dict[str, JSON]) -> Entry:
    """The entry that `entry_to_json` wrote. Raises `UnknownEntryError` for a type we do not know.

    Fields we do not know become its ``extra``; null counts as left out.
    """
    try:
        cls = _TYPES[data["type"]]
    except (KeyError, TypeError):
        message = f"unknown entry type {data.get('type')!r}"
        raise UnknownEntryError(message, hint="upgrade lovia, or remove the entry") from None
    known = _NAMES[cls.type]
    given = {name: value for name, value in data.items() if name in known and value is not None}
    if lacking := _REQUIRED[cls.type] - given.keys():
        raise StoreError(f"a {cls.type} entry lacks a field: {min(lacking)!r}")
    extra = {name: value for name, value in data.items() if name not in known and name != "type"}
    entry: Entry = cls(**given, extra=extra)
    return entry


def entries_from_json(rows: Iterable[dict[str, JSON]]) -> list[Entry]:
    """`entry_from_json` for many, of which most are just what this version writes."""
    rows = list(rows)
    try:
        return msgspec.convert(rows, list[Entry])
    except msgspec.ValidationError:
        return [entry_from_json(row) for row in rows]


def in_call_order(entries: Iterable[Entry]) -> list[Entry]:
    """The transcript view: results stand in the order of their calls (Z2), all else as recorded.

    Results of concurrent calls are recorded as they finish. Within a run of neighbouring results of
    one step the sort is stable, so records without a position keep their order.
    """
    entries = list(entries)
    if not any(kind is after is ToolResultEntry for kind, after in pairwise(map(type, entries))):
        return entries  # most are such, and it takes a third of the time to see it
    out: list[Entry] = []
    batch: list[ToolResultEntry] = []
    for entry in entries:
        if isinstance(entry, ToolResultEntry):
            if batch and batch[-1].step != entry.step:
                _flush(batch, out)
            batch.append(entry)
            continue
        if batch:
            _flush(batch, out)
        out.append(entry)
    _flush(batch, out)
    return out


def _flush(batch: list[ToolResultEntry], out: list[Entry]) -> None:
    if len(batch) > 1 and all(result.position for result in batch):
        batch.sort(key=lambda result: result.position)
    out.extend(batch)
    batch.clear()


def pair(entries: Iterable[Entry]) -> list[tuple[ToolCallEntry, ToolResultEntry | None]]:
    """Every call of one run in order, each with its result or None. THE pairing rule (Z4)."""
    by_place: dict[tuple[int, int], ToolResultEntry] = {}
    by_turn: dict[tuple[int, str], list[ToolResultEntry]] = {}
    calls: list[ToolCallEntry] = []
    for entry in entries:
        if isinstance(entry, ToolCallEntry):
            calls.append(entry)
        elif isinstance(entry, ToolResultEntry):
            if entry.position:
                by_place[entry.step, entry.position] = entry
            else:
                by_turn.setdefault((entry.step, entry.call_id), []).append(entry)
    pairs = []
    for call in calls:
        result = by_place.get((call.step, call.position)) if call.position else None
        if result is None and (queue := by_turn.get((call.step, call.id))):
            result = queue.pop(0)
        pairs.append((call, result))
    return pairs


def pending_calls(entries: Iterable[Entry]) -> list[ToolCallEntry]:
    """The calls without a result, in call order."""
    return [call for call, result in pair(entries) if result is None]


def drop_dangling_tool_calls(entries: Sequence[Entry]) -> list[Entry]:
    """A copy without the calls that have no result, for callers who keep partials themselves (S6)."""
    dangling = {id(call) for call in pending_calls(entries)}
    return [entry for entry in entries if id(entry) not in dangling]
