"""Events and answers without secrets, for whatever form they are printed in. What is stored stays as it is.

Texts of models, tools and people are gone through, and so are the keys of values that they made. What the format itself
says stays: its own keys, ids, names of agents and tools, and words such as a status, be a secret that word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from lovia_cli.cli.answers import Answer, Document, RunAnswer, Told
from lovia_cli.cli.redacting import FREE
from lovia_cli.environment import KEY
from stores.fields import changed, field_names, is_record

if TYPE_CHECKING:
    from lovia_cli.cli.redacting import Redactor
    from lovia_cli.engine.events import Event

_KEPT = frozenset(
    {
        *("v", "kind", "type", "role", "status", "event", "code", "level", "reason", "limit", "finish_reason", "part"),
        *("run_id", "session_id", "id", "call_id", "call", "source", "patched"),
        *("name", "tool", "tool_order", "agent", "final_agent", "model", "fallback", "host"),
        *("store", "file", "agent_file", "html", "where", KEY),
    }
)
"""Where texts are ids, names, places, or one of a few words."""

_OWN = frozenset(
    {
        *("data", "error", "stop", "tool_calls", "changes", "usage", "info", "trimmed", "parts"),
        *("meta", "run", "timing", "config", "parent", "forked_from", "patch", "findings", "without_result"),
    }
)
"""Which objects have keys of the format; all others are somebody's values."""

_FREE = FREE | {"a", "b"}
"""Where numbers are somebody's values, too: ``a`` and ``b`` are what differs between two runs."""

_UNSEEN = ("config", "entries")
"""What records have that no view shows."""

_NUMBERS = (int, float, bool)

_PIECES = ("text.delta", "reasoning.delta")


class Hiding:
    """Takes secrets out of all that a command shows."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._held: Event | None = None

    def answer(self, answer: Answer) -> Answer:
        """A twin to be printed. Documents have been redacted where they are made, and what is told is our own words."""
        if isinstance(answer, Told | Document):
            return answer
        if not isinstance(answer, RunAnswer):
            twin: Answer = self.shown(answer)
            return twin
        answer = replace(answer, hide=self.redactor.text)
        if (result := answer.result) is not None:
            warnings = [self.redactor.text(warning) for warning in result.warnings]
            output, approvals = self.redactor.json(result.output), self.redactor.json(result.approvals, is_free=False)
            answer.result = replace(result, output=output, approvals=approvals, warnings=warnings)
        return answer

    def events(self, event: Event) -> Iterator[Event]:
        """The event to be shown, if any: of text that comes in pieces, the beginning of a value waits for its end."""
        if event.type in _PIECES:
            yield from self._pieces(event)
            return
        if event.type == "model.retry":  # the pieces since the model was asked are void
            self._held = None
        else:
            yield from self._rest()
        yield replace(event, data=self.shown(event.data, "data"))

    def _pieces(self, event: Event) -> Iterator[Event]:
        if self._held is not None and self._held.type != event.type:
            yield from self._rest()
        text = (self._held.data["text"] if self._held else "") + event.data["text"]
        cut = self.redactor.whole(text)
        self._held = _with(event, text[cut:]) if cut < len(text) else None
        if cut:
            yield _with(event, self.redactor.text(text[:cut]))

    def _rest(self) -> Iterator[Event]:
        """What has waited for more that has not come."""
        if self._held is not None:
            yield _with(self._held, self.redactor.text(self._held.data["text"]))
            self._held = None

    def shown(self, value: Any, name: str = "") -> Any:
        """A twin of what stands under ``name``; what has nothing to hide is itself."""
        if isinstance(value, str):
            return value if name in _KEPT else self.redactor.text(value)
        if isinstance(value, _NUMBERS):
            return self.redactor.json(value) if name in _FREE else value
        if isinstance(value, dict):
            if name not in _OWN:
                return self.redactor.json(value, is_free=name in _FREE)
            return {key: self.shown(item, key) for key, item in value.items()}
        if isinstance(value, list | tuple):
            kind: Any = type(value)
            if names := getattr(value, "_fields", ()):  # a NamedTuple
                return kind(*map(self.shown, value, names))
            return kind(self.shown(item, name) for item in value)
        return self._record(value) if is_record(value) else value

    def _record(self, record: Any) -> Any:
        new = {}
        for name in _seen(record.__class__):
            was = getattr(record, name)
            if was and (name in _FREE or type(was) not in _NUMBERS) and not (name in _KEPT and isinstance(was, str)):
                now = self.shown(was, name)
                if now is not was and now != was:
                    new[name] = now
        return changed(record, **new) if new else record


@cache
def _seen(kind: type) -> list[str]:
    """The fields of a record to look at: a listing has many of a kind."""
    return [name for name in field_names(kind) if name not in _UNSEEN]


def _with(event: Event, text: str) -> Event:
    return replace(event, data={**event.data, "text": text})
