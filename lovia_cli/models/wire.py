"""What the mappers of all providers share: the two protocols they fill, and the small rules both need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from lovia_cli.errors import AgentFileError
from lovia_cli.models.base import Delta, ModelRequest, ModelResponse
from lovia_cli.tools.arguments import parse_arguments
from lovia_cli.tools.base import ToolArgumentsError
from stores.entries import JSON, AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry
from stores.errors import LoviaError
from stores.records import Usage
from stores.values import clean_text

Turn = AssistantTextEntry | ReasoningEntry | ToolCallEntry
"""What a response is made of."""

NO_OUTPUT = "(no output)"
"""What the model reads for a tool that printed nothing; some providers refuse a blank result."""

EMPTY_INPUT = "(empty message)"
"""What the model reads for a blank input, which providers refuse."""


class BadAnswer(LoviaError):  # noqa: N818 - the provider's error, named when `ProviderError` is made of it
    """What came is no answer. The model names the provider and makes a `ProviderError` of it."""

    def __init__(self, message: str, *, retryable: bool = True, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self._retryable = retryable

    @property
    def retryable(self) -> bool:
        return self._retryable


class ErrorBody(Exception):  # noqa: N818 - a message between reader and model, never seen outside
    """An error object that came where an answer should have been, with status 200 or inside a stream."""

    def __init__(self, body: Any) -> None:
        super().__init__("the body is an error")
        self.body = body


class Reader(Protocol):
    """Reads one answer. A whole answer is a stream of one event."""

    def feed(self, event: Any) -> Iterator[Delta]:
        """Take one event; yield what it shows. Raises `BadAnswer` or `ErrorBody`."""
        ...

    def response(self) -> ModelResponse:
        """The turn, once all events are in. Raises `BadAnswer` when it is not complete."""
        ...


class Wire(Protocol):
    """One provider's language, both ways; knows nothing of HTTP."""

    @property
    def path(self) -> str:
        """Where to send it, below the base URL."""
        ...

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, JSON]:
        """The JSON to send."""
        ...

    def reader(self) -> Reader:
        """A new reader for one answer."""
        ...


class Halves:
    """Joins characters that a stream cut in two, so that what is shown is clean text."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        text = self._half + piece
        cut = len(text) - 1 if "\ud800" <= text[-1:] <= "\udbff" else len(text)
        self._half = text[cut:]
        return clean_text(text[:cut])


def system_text(request: ModelRequest) -> str:
    """The system prompt and the system inputs as one text: providers take it once, at the front."""
    inputs = [entry.text for entry in request.entries if isinstance(entry, InputEntry) and entry.role == "system"]
    return "\n\n".join(text for text in (request.system or "", *inputs) if text.strip())


def checked_settings(settings: dict[str, JSON], reserved: frozenset[str]) -> dict[str, JSON]:
    """The settings to send: all that have a value. Raises `AgentFileError` for one that is lovia's to decide."""
    for name in settings:
        if name in reserved:
            raise AgentFileError(
                f"model_settings cannot set {name!r}: lovia does that itself", hint="remove it from model_settings"
            )
    return {name: value for name, value in settings.items() if value is not None}


def own_part(entry: Entry, provider: str) -> dict[str, JSON]:
    """What ``entry`` holds for this provider alone; empty when it has nothing or is another's."""
    part: dict[str, JSON] | None = getattr(entry, "provider", None)
    return part if part and part.get("name") == provider else {}


def schema_request(schema: dict[str, JSON]) -> str:
    """Asks in words for an answer of that schema, where the provider has no field for it."""
    import json

    text = json.dumps(schema, ensure_ascii=False)
    return f"Your final answer must be one JSON value that this JSON Schema accepts, and nothing else:\n{text}"


def count(data: Any, *path: str) -> int | None:
    """A token count at ``path`` in ``data``; None where it is missing, null or no count."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    if isinstance(data, float) and data.is_integer():
        data = int(data)
    return data if isinstance(data, int) and not isinstance(data, bool) and data >= 0 else None


def usage_of(
    input_tokens: int | None, output_tokens: int | None, cache_read: int | None = None, cache_write: int | None = None
) -> Usage:
    """The usage of one response; it counts as unknown unless both input and output are known."""
    known = input_tokens is not None and output_tokens is not None
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        requests=1,
        unknown=0 if known else 1,
    )


_REFUSALS = {
    "refusal": "the model refused to answer",
    "content_filter": "a filter of the provider's held the answer back",
    "pause_turn": "the model paused for a tool of the provider's, and lovia uses none",
}
"""Why an answer ended that is none, and what that means; the refusal's own text follows."""


def check_answer(
    finish: str | None, entries: Sequence[Turn], *, refusal: str = "", last_call_shows: bool = True
) -> None:
    """Raise `BadAnswer` for an answer that is not what its ``finish`` says, that was cut, or that was refused.

    ``refusal`` is what a provider says of that apart from the answer. A last call that is cut is known by its
    arguments, unless they do not show it (``last_call_shows``).
    """
    calls = [entry for entry in entries if isinstance(entry, ToolCallEntry)]
    said = "\n".join(entry.text for entry in entries if isinstance(entry, AssistantTextEntry)).strip()
    if finish == "error":
        raise BadAnswer("the provider broke the answer off with an error")
    if finish in _REFUSALS or refusal:
        raise _refused(finish if finish in _REFUSALS else "refusal", refusal or said)
    if finish == "tool_calls" and not calls and not said:
        raise BadAnswer("the answer says that it calls tools, but holds no call")
    if finish == "length":
        _check_cut(entries, calls, said, last_call_shows)


def _refused(reason: str | None, text: str) -> BadAnswer:
    message = f"{_REFUSALS[reason or '']} ({reason})" + (f": {text}" if text else "")
    return BadAnswer(message, retryable=False, hint="change the input, or ask another model: --model")


def _check_cut(entries: Sequence[Turn], calls: Sequence[ToolCallEntry], said: str, last_call_shows: bool) -> None:
    """Raise `BadAnswer` unless the tokens ran out behind a whole call, which can be run as it is."""
    if not calls:
        cut = "was cut at the limit of tokens" if said else "ran out of tokens before it said anything"
    elif entries[-1] is calls[-1] and not (last_call_shows and whole_arguments(calls[-1].arguments)):
        cut = f"ran out of tokens within its call of {calls[-1].name!r}"
    else:
        return
    hint = "raise max_tokens (max_completion_tokens) in model_settings; where the context is full, trim the session"
    raise BadAnswer(f"the answer {cut}", retryable=False, hint=hint)


def whole_arguments(text: str) -> bool:
    """True when ``text`` is one JSON object to its last brace; no text is not."""
    try:
        parse_arguments(text)
    except ToolArgumentsError:
        return False
    return bool(text.strip())
