"""Whether JSON that comes from outside has the shape of our records, before a word of it is believed.

What a store wrote is guarded by its checksum; an imported file may have been written, edited or made up by anybody.
Fields that this version does not know are let through (D1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stores.entries import Entry, InputEntry, ToolCallEntry, ToolResultEntry, entry_from_json, pair
from stores.errors import StoreDamagedError, StoreError
from stores.records import RunHead, Save, Status, Usage
from stores.values import MAX_DEPTH

_ROOM = 10
"""Levels that a record has around a value of `MAX_DEPTH`."""

Test = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(item is None or _number(item) for item in value.values())


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(_whole(item) for item in value.values())


def _usage(value: Any) -> bool:
    known = Usage().as_json()
    return isinstance(value, dict) and all(value.get(name) is None or _whole(value[name]) for name in known)


def _maybe(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _one_of(*words: str) -> Test:
    return lambda value: value in words


_ANY: Test = lambda _: True  # noqa: E731 - one of a table of tests

_PROVIDER = {"provider": _maybe(_object)}
_ENTRIES: dict[str, dict[str, Test]] = {
    "input": {"text": _text, "role": _one_of("user", "system"), "parts": _objects},
    "assistant_text": {"text": _text, **_PROVIDER},
    "reasoning": {"text": _text, **_PROVIDER},
    "tool_call": {"id": _text, "name": _text, "arguments": _text, "position": _whole, **_PROVIDER},
    "tool_result": {
        "call_id": _text,
        "output": _text,
        "position": _whole,
        "is_error": _truth,
        "kind": _one_of("ok", "error", "cancelled", "rejected"),
        "trimmed": _maybe(_object),
    },
}
HEAD: dict[str, Test] = {
    **dict.fromkeys(("agent",), _text),
    "status": _one_of(*Status),
    **dict.fromkeys(("session_id", "history_upto", "finish_reason", "model", "pending_handoff"), _maybe(_text)),
    **dict.fromkeys(("started_at", "updated_at", "cost_usd"), _maybe(_number)),
    **dict.fromkeys(("steps", "save", "cost_unknown", "tool_calls"), _whole),
    **dict.fromkeys(("last_input_tokens", "history_limit"), _maybe(_whole)),
    "active_seconds": _number,
    "usage": _usage,
    "responses": _counts,
    "limits": _numbers,
    **dict.fromkeys(("context", "state", "config"), _object),
    **dict.fromkeys(("error", "stop", "fingerprint", "parent"), _maybe(_object)),
    **dict.fromkeys(("queued_input", "approvals", "grants"), _objects),
    **dict.fromkeys(("stopped_calls", "started_calls"), _texts),
    "output": _ANY,
}


_SAVE: dict[str, Test] = {
    **dict.fromkeys(("save", "step"), _whole),
    "at": _number,
    "event": _text,
    **dict.fromkeys(("head", "info"), _object),
    "keep": _maybe(_whole),
    "entries": lambda value: isinstance(value, list) and all(_whole(one) or _object(one) for one in value),
}


def refuse(what: str, where: str) -> StoreDamagedError:
    """The error for a file that cannot be taken in; nothing of it was."""
    return StoreDamagedError(what, where=where, hint="nothing was stored; export it again, or mend the file")


def check_depth(value: Any, where: str) -> None:
    """Raise for what nests deeper than any record does. Without recursion: it may be deeper than the stack."""
    level = [value]
    for _ in range(MAX_DEPTH + _ROOM):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    raise refuse(f"it nests deeper than {MAX_DEPTH} levels", where)


def check_fields(row: dict[str, Any], tests: dict[str, Test], what: str, where: str) -> None:
    """Raise for a field of ``row`` that fails its test; one that is not there is for the reader to miss."""
    for name, test in tests.items():
        if name in row and not test(row[name]):
            raise refuse(f"{what} has a wrong {name}: {_shown(row[name])}", where)


def entry_of(row: Any, where: str) -> Entry:
    """The entry of one JSON object."""
    if not isinstance(row, dict):
        raise refuse(f"an entry is no object but {_shown(row)}", where)
    kind = row.get("type")
    tests = _ENTRIES.get(kind) if isinstance(kind, str) else None
    if tests is not None:
        check_fields(row, {"step": _whole, **tests}, f"a {kind} entry", where)
    try:
        return entry_from_json(row)
    except StoreError as error:
        if tests is None:
            error.where = where
            raise
        raise refuse(error.message, where) from error


def head_of(fields: Any, where: str) -> RunHead:
    """The head of one JSON object; what we do not know of it goes to ``extra``."""
    if not isinstance(fields, dict):
        raise refuse(f"the run's head is no object but {_shown(fields)}", where)
    check_fields(fields, HEAD, "the run's head", where)
    for row in fields.get("queued_input", ()):
        if not isinstance(entry_of(dict(row), where), InputEntry):
            raise refuse("the run's head has a queued input that is none", where)
    head = RunHead()
    for name, value in fields.items():
        if name in HEAD:
            setattr(head, name, value)
        else:
            head.extra[name] = value
    return head


def save_of(row: Any, number: int, entries: Sequence[Entry], where: str) -> Save:
    """Save ``number`` of a run with these entries, which the row names by their places."""
    if not isinstance(row, dict):
        raise refuse(f"a save is no object but {_shown(row)}", where)
    if missing := [name for name in _SAVE if name not in row and name not in ("info", "keep", "head")]:
        raise refuse(f"a save has no {missing[0]}", where)
    check_fields(row, _SAVE, "a save", where)
    if row["save"] != number:
        raise refuse(f"save {number} is missing here", where)
    check_fields(row.get("head", {}), HEAD, "the head of a save", where)
    new = [
        entries[one] if isinstance(one, int) and one < len(entries) else entry_of(one, where) for one in row["entries"]
    ]
    return Save(
        number=number,
        step=row["step"],
        at=row["at"],
        event=row["event"],
        entries=new,
        head=row.get("head", {}),
        info=row.get("info", {}),
        keep=row.get("keep"),
        extra={name: value for name, value in row.items() if name not in _SAVE},
    )


def check_transcript(entries: Sequence[Entry], where: str) -> None:
    """Raise unless each result belongs to a call, no two to one, and steps follow each other (Z2)."""
    answered = [result for _, result in pair(entries) if result is not None]
    known = {id(result) for result in answered}
    for entry in entries:
        if isinstance(entry, ToolResultEntry) and id(entry) not in known:
            raise refuse(f"the result {entry.step}.{entry.position} of {entry.call_id!r} belongs to no call", where)
    places = [(entry.step, entry.position) for entry in entries if isinstance(entry, ToolCallEntry) and entry.position]
    if len(places) != len(set(places)):
        raise refuse("two calls have one place", where)
    steps = [entry.step for entry in entries]
    if steps != sorted(steps):
        raise refuse("its steps are not in order", where)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
