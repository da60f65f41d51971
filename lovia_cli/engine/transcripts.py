"""A transcript that somebody has written: checked, and numbered as a run numbers its own (H2, ``messages``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lovia_cli.errors import UserError
from stores.entries import AssistantTextEntry, Entry, InputEntry, ToolCallEntry, ToolResultEntry, entry_to_json
from stores.errors import StoreDamagedError, StoreError
from stores.fields import changed
from stores.shapes import entry_of
from stores.values import clean_text, plain

Message = Entry | dict[str, Any]
"""An entry, its JSON as ``lovia show --raw`` prints it, or a message with ``role`` and ``content``."""

_SHOWN = ("n", "run_id")
"""What a listing adds to an entry's JSON."""

_HOW = 'write {"role": "user", "content": TEXT}, or an entry as show --raw'


def transcript_of(messages: Iterable[Message], steps: int) -> list[Entry]:
    """The entries of a whole run that is in step ``steps``, or a later one where the transcript has more.

    The run keeps its steps: the last response is in its last one, and those before it in the steps before. Raises
    `UserError` for what no provider would take: a result without its call, an input between a call and its result, a
    call without a result before the last step, a transcript that does not begin with an input.
    """
    walk = _Walk()
    for number, message in enumerate(messages, 1):
        try:
            walk.add(_entry(message))
        except (UserError, StoreError) as error:
            raise UserError(f"message {number}: {error.message}", hint=error.hint) from error
    if not walk.entries:
        raise UserError("the transcript is empty", hint="begin it with an input: what the run is to do")
    behind = max(steps - walk.step, 0)
    return [changed(entry, step=entry.step + behind) if entry.step else entry for entry in walk.entries]


@dataclass(slots=True)
class _Walk:
    """The transcript so far: its last step, and what is still open in it."""

    entries: list[Entry] = field(default_factory=list)
    step: int = 0
    calls: list[ToolCallEntry] = field(default_factory=list)
    open: list[ToolCallEntry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        if isinstance(entry, ToolResultEntry):
            self._add_result(entry)
        elif isinstance(entry, InputEntry):
            self._refuse_open("an input")
            if entry.role == "system" and self.step:
                raise UserError("a system message stands behind a response", hint="put it first")
            self.entries.append(changed(entry, step=self.step))
        else:
            self._add_response(entry)

    def _add_response(self, entry: Entry) -> None:
        last = self.entries[-1] if self.entries else None
        if not any(isinstance(one, InputEntry) and one.role == "user" for one in self.entries):
            raise UserError("a response stands before any input", hint="begin with an input: what the run is to do")
        if isinstance(last, InputEntry | ToolResultEntry):
            self._refuse_open("the next response")
            self.step += 1
            self.calls = []
        if isinstance(entry, ToolCallEntry):
            entry = changed(entry, step=self.step, position=len(self.calls) + 1)
            self.calls.append(entry)
            self.open.append(entry)
        self.entries.append(changed(entry, step=self.step))

    def _add_result(self, result: ToolResultEntry) -> None:
        named = [call for call in self.open if call.id == result.call_id]
        placed = [call for call in named if call.position == result.position]
        if not named:
            raise UserError(
                f"the result of {result.call_id!r} belongs to no call that is open in its step",
                hint="put each result behind the response that asked for it, once",
            )
        call = (placed or named)[0]
        self.open.remove(call)
        self.entries.append(changed(result, step=self.step, position=call.position))

    def _refuse_open(self, what: str) -> None:
        if self.open:
            names = ", ".join(repr(call.id) for call in self.open)
            raise UserError(
                f"{what} stands before the result of {names}", hint="only calls of the last step may have no result"
            )


def _entry(message: Any) -> Entry:
    """The entry that is meant, as a store would give it back: clean text, and fields of the kinds that a run reads."""
    if isinstance(message, Entry):
        return _checked(entry_to_json(message))
    if isinstance(message, dict):
        if "type" in message:
            return _checked({name: value for name, value in message.items() if name not in _SHOWN})
        if "role" in message and (others := sorted(map(str, message.keys() - {"role", "content"}))):
            raise UserError(f"a message has a role and content, and no {others[0]!r}", hint=_HOW)
        role, text = message.get("role"), message.get("content")
        if isinstance(text, str) and role in ("user", "system"):
            return InputEntry(text=clean_text(text), role=role)
        if isinstance(text, str) and role == "assistant":
            return AssistantTextEntry(text=clean_text(text))
    raise UserError(f"this is no message: {message!r:.200}", hint=_HOW)


def _checked(row: dict[str, Any]) -> Entry:
    try:
        return entry_of(plain(row), "the transcript")
    except StoreDamagedError as error:
        raise UserError(error.message, hint=_HOW) from error


def difference(before: Sequence[Entry], after: Sequence[Entry]) -> tuple[int | None, list[Entry]]:
    """How many entries of ``before`` stay (None: all), and what stands behind them in ``after``."""
    same = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        same += 1
    return None if same == len(before) else same, list(after[same:])
