"""What is changed in a fork before it goes on: the four patches, in their order (H2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lovia_cli.engine.inputs import Input, new_inputs
from lovia_cli.engine.transcripts import Message, difference, transcript_of
from lovia_cli.errors import CallNotFoundError, UserError
from stores.entries import JSON, Entry, ToolCallEntry, ToolResultEntry, entry_to_json, pair
from stores.fields import changed
from stores.records import RunHead
from stores.values import plain, to_text

_PLACE = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")


@dataclass(slots=True, frozen=True, kw_only=True)
class Patch:
    """What a fork has other than its source, applied in this order (H2).

    ``messages`` rewrites the run's own entries, or is a function from those it has to those it shall have. ``state``
    replaces the user state. ``tool_results`` replaces the results of calls, or records missing ones: by call id, or by
    ``"STEP.POSITION"``, what the tool is to have returned. ``append_input`` is queued behind calls without a result.
    """

    messages: Iterable[Message] | Callable[[list[Entry]], Iterable[Message]] | None = None
    state: dict[str, Any] | None = None
    tool_results: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()
    append_input: Input = ""

    @property
    def reads_entries(self) -> bool:
        """True when the transcript is needed to apply it."""
        return self.messages is not None or bool(self.tool_results)

    def is_within(self, step: int) -> bool:
        """True when it changes results of that step only, named by their places: then that step says it all."""
        return self.messages is None and all(_step_of(name) == step for name, _ in self.results())

    def results(self) -> list[tuple[str, Any]]:
        """``tool_results`` as pairs, in their order."""
        given = self.tool_results
        return list(given.items() if isinstance(given, Mapping) else given)


def _step_of(name: str) -> int | None:
    place = _PLACE.fullmatch(name)
    return int(place[1]) if place else None


@dataclass(slots=True)
class Patched:
    """A patch applied: the transcript's first ``keep`` entries stay (None: all), ``entries`` stand behind them."""

    step: int
    keep: int | None = None
    entries: list[Entry] = field(default_factory=list)
    head: dict[str, JSON] = field(default_factory=dict)
    what: list[str] = field(default_factory=list)


def apply_patch(patch: Patch, head: RunHead, entries: list[Entry]) -> Patched:
    """The patch, made on a run that stood at ``head``. Nothing given is changed; raises `UserError` and its kinds."""
    done, after, started = Patched(head.steps), entries, list(head.started_calls)
    if patch.messages is not None:
        given = patch.messages(list(entries)) if callable(patch.messages) else patch.messages
        after = transcript_of(given, head.steps)
        done.step = max(head.steps, *(entry.step for entry in after))
        started = _carried(started, entries, after)
        if not any(isinstance(entry, ToolCallEntry) and entry.step == done.step for entry in after):
            done.head["finish_reason"] = "stop"  # what its last response says, which is no longer the source's
        done.what.append("messages")
    if patch.state is not None:
        done.head["state"] = _state(patch.state)
        done.what.append("state")
    for name, value in patch.results():
        call, result = find_call(after, name)
        after = _with_result(after, call, result, to_text(value))
        place = _place(call)
        started = [one for one in started if one != place]
        done.what.append(f"tool_result {place}")
    if inputs := new_inputs(patch.append_input, ()):
        done.head["queued_input"] = [*head.queued_input, *(entry_to_json(entry) for entry in inputs)]
        done.what.append("input")
    if started != head.started_calls:
        done.head["started_calls"] = started
    done.keep, done.entries = difference(entries, after)
    return done


def _carried(started: list[str], before: list[Entry], after: list[Entry]) -> list[str]:
    """The marks of the calls that may have run, at the places where these calls stand now without a result.

    A call is told by its id and name. One that stands where it stood keeps its mark, before others of its id get any.
    """
    marked = [call for call, _ in pair(before) if _place(call) in started]
    missing = [call for call, result in pair(after) if result is None]
    carried: list[str] = []
    for is_moved in (False, True):
        for call in (call for call in missing if _place(call) not in carried):
            same = [one for one in marked if (one.id, one.name) == (call.id, call.name)]
            found = next((one for one in same if is_moved or _place(one) == _place(call)), None)
            if found is not None:
                marked.remove(found)
                carried.append(_place(call))
    return carried


def _place(call: ToolCallEntry) -> str:
    return f"{call.step}.{call.position}"


def _state(state: Any) -> dict[str, JSON]:
    stored = plain(state)
    if not isinstance(stored, dict):
        raise UserError(f"the state is no JSON object: {stored!r:.200}", hint='give one, such as {"budget": 100}')
    return stored


def find_call(entries: Iterable[Entry], name: str) -> tuple[ToolCallEntry, ToolResultEntry | None]:
    """The call of that id, or at that ``STEP.POSITION``, with its result.

    An id that names several calls is a `UserError` that lists them; one that names none a `CallNotFoundError`.
    """
    pairs = pair(entries)
    place = _PLACE.fullmatch(name)
    at = (int(place[1]), int(place[2])) if place else None
    found = [(call, result) for call, result in pairs if call.id == name or (call.step, call.position) == at]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(
            f"{name!r} names {len(found)} calls: {listed(call for call, _ in found)}",
            hint=f"name one by its place: {found[0][0].step}.{found[0][0].position}",
        )
    there = listed(call for call, _ in pairs[-10:])
    raise CallNotFoundError(f"there is no call {name!r}", hint=f"there are: {there}" if there else "there is none")


def listed(calls: Iterable[ToolCallEntry]) -> str:
    """Calls as an error names them: place, tool and id."""
    return ", ".join(f"{call.step}.{call.position} {call.name} ({call.id!r})" for call in calls)


def _with_result(entries: list[Entry], call: ToolCallEntry, result: ToolResultEntry | None, output: str) -> list[Entry]:
    """The entries with that result of the call: in the place of the one it had, or as its first."""
    if result is None:
        new = ToolResultEntry(call_id=call.id, output=output, step=call.step, position=call.position)
        return [*entries, new]
    new = changed(result, output=output, is_error=False, kind="ok", trimmed=None)
    return [new if entry is result else entry for entry in entries]
