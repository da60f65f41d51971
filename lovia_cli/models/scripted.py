"""A model that says what a script tells it to: offline, deterministic, for demos, tests and CI.

The turn is chosen by the number of the response alone, so a run that is killed and resumed goes on in the
script where its transcript stands.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lovia_cli.errors import CredentialsError, ProviderError, ScriptError
from lovia_cli.models.base import Delta, ModelRequest, ModelResponse, ReasoningDelta, TextDelta
from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entries_from_json,
)
from stores.records import Usage

if TYPE_CHECKING:
    from lovia_cli.models.script import Failure, Script, TokenCounts, Turn

_RETRYABLE = frozenset({408, 429})
_REFUSED = frozenset({401, 403})

_Place = tuple[int, int]
"""A turn of the script: its index, and the index of its case or 0. What happens once a process is counted by it."""


class ScriptedModel:
    """Plays ``turns``, which are mappings as in a script file, or texts that are said as they are.

    ``log`` is a file that gets one JSON line a request. ``on_request`` sees each request, for tests that look at
    what the model was sent. Failures and cuts are counted by instance.
    """

    def __init__(
        self,
        turns: Sequence[Mapping[str, Any] | str],
        *,
        loop: bool = False,
        log: str | Path | None = None,
        id: str = "scripted",
        on_request: Callable[[ModelRequest], object] | None = None,
    ) -> None:
        from lovia_cli.models.script import script_from

        self._set(script_from(list(turns), loop=loop, log=str(log) if log else None), Path(), id, on_request)

    @classmethod
    def from_file(cls, path: str | Path, *, base_dir: Path | None = None) -> ScriptedModel:
        """The model of a script file; a relative ``path`` starts at ``base_dir``, else here.

        Raises `lovia_cli.errors.AgentFileError` with file, line and column.
        """
        from lovia_cli.models.script import load_script

        place = (base_dir or Path()) / path
        model = cls.__new__(cls)
        model._set(load_script(place), place.parent, f"scripted:{path}")
        return model

    def _set(
        self, script: Script, folder: Path, id: str, on_request: Callable[[ModelRequest], object] | None = None
    ) -> None:
        self._script, self._id, self._on_request = script, id, on_request
        self._log = folder / script.log if script.log else None
        self._failures: Counter[_Place] = Counter()
        self._cut: set[_Place] = set()

    @property
    def id(self) -> str:
        return self._id

    async def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Play the turn of response ``request.number``."""
        from asyncio import sleep  # who only checks a script has no event loop

        if self._on_request:
            self._on_request(request)
        self._witness(request)
        place, turn = self._choose(request)
        pieces = _pieces(turn)
        for done, piece in enumerate(pieces):
            if done == 0:
                await sleep(turn.delay / len(pieces))
                self._fail(place, turn.fail)
            elif turn.delay:
                await sleep(turn.delay / len(pieces))
            self._break_off(place, turn, done)
            for delta in piece:
                yield delta
        self._break_off(place, turn, len(pieces))
        yield self._response(request, turn)

    def _witness(self, request: ModelRequest) -> None:
        """Log the request: one append of one line, so that lines of several processes never mix."""
        if self._log is None:
            return
        line = json.dumps({"run_id": request.run_id, "agent": request.agent, "n": request.number}) + "\n"
        try:
            log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                os.write(log, line.encode())
            finally:
                os.close(log)
        except OSError as error:
            message = f"the script's log cannot be written: {error.strerror}"
            raise ScriptError(message, where=str(self._log), hint="change or remove 'log' in the script") from error

    def _choose(self, request: ModelRequest) -> tuple[_Place, Turn]:
        from lovia_cli.models.script import Cases

        turns = self._script.turns
        index = request.number - 1
        if self._script.loop:
            index %= len(turns)
        if index >= len(turns):
            message = f"the script has {len(turns)} turns, and this is response {request.number} of {request.agent}"
            raise ScriptError(message, where=self._id, hint="add a turn, or 'loop: true' to start over")
        turn = turns[index]
        if not isinstance(turn, Cases):
            return (index, 0), turn
        said = _since_last_response(request.entries)
        for number, case in enumerate(turn.cases):
            if case.when is None or case.when.search(said):
                return (index, number), case
        message = f"no case of turn {index + 1} matches the messages since the last response"
        raise ScriptError(message, where=self._id, hint="add a case without 'when' as the last one")

    def _fail(self, place: _Place, fail: Failure | None) -> None:
        if fail is not None and self._failures[place] < fail.times:
            self._failures[place] += 1
            raise _provider_error(self._id, fail)

    def _break_off(self, place: _Place, turn: Turn, done: int) -> None:
        if turn.cut_after == done and place not in self._cut:
            self._cut.add(place)
            message = f"{self._id}: the stream broke off after {done} of {turn.chunks} pieces"
            raise ProviderError(message, retryable=True, hint="resume the run")

    def _response(self, request: ModelRequest, turn: Turn) -> ModelResponse:
        entries = said_by(turn, request.number)
        finish_reason = turn.finish_reason or usual_finish(entries)
        return ModelResponse(entries=entries, finish_reason=finish_reason, usage=_usage(turn.usage), model=self._id)


def said_by(turn: Turn, number: int) -> list[AssistantTextEntry | ReasoningEntry | ToolCallEntry]:
    """The entries of a turn that answers response ``number``."""
    if turn.entries:
        return cast("list[Any]", entries_from_json(deepcopy(turn.entries)))
    entries: list[AssistantTextEntry | ReasoningEntry | ToolCallEntry] = []
    if isinstance(turn.reasoning, dict):
        provider = {"name": "scripted", "block": turn.reasoning}
        entries.append(ReasoningEntry(text=turn.reasoning.get("text", ""), provider=provider))
    elif turn.reasoning is not None:
        entries.append(ReasoningEntry(text=turn.reasoning, provider={"name": "scripted"}))
    if turn.text is not None:
        entries.append(AssistantTextEntry(text=turn.text))
    for position, call in enumerate(turn.tool_calls, 1):
        call_id = f"call_{number}_{position}" if call.id is None else call.id
        entries.append(ToolCallEntry(id=call_id, name=call.name, arguments=call.arguments))
    return entries


def usual_finish(entries: Sequence[Entry]) -> str:
    """The finish reason of a turn that states none."""
    return "tool_calls" if any(isinstance(entry, ToolCallEntry) for entry in entries) else "stop"


def _since_last_response(entries: Sequence[Entry]) -> str:
    """Inputs and results that the model has not answered yet, a line break between them."""
    texts: list[str] = []
    for entry in reversed(entries):
        if isinstance(entry, InputEntry):
            texts.append(entry.text)
        elif isinstance(entry, ToolResultEntry):
            texts.append(entry.output)
        else:
            break
    return "\n".join(reversed(texts))


def _pieces(turn: Turn) -> list[list[Delta]]:
    """Reasoning and text cut into ``chunks`` pieces of nearly the same size; a short text leaves some empty."""
    entries = said_by(turn, 1)
    reasoning = "".join(entry.text for entry in entries if isinstance(entry, ReasoningEntry))
    whole = reasoning + "".join(entry.text for entry in entries if isinstance(entry, AssistantTextEntry))
    edges = [len(whole) * number // turn.chunks for number in range(turn.chunks + 1)]
    return [list(_deltas(whole, len(reasoning), start, end)) for start, end in pairwise(edges)]


def _deltas(whole: str, border: int, start: int, end: int) -> Iterator[Delta]:
    """The piece from ``start`` to ``end``; what stands before ``border`` is reasoning."""
    if thought := whole[start : min(end, border)]:
        yield ReasoningDelta(thought)
    if said := whole[max(start, border) : end]:
        yield TextDelta(said)


def _usage(counts: TokenCounts | None) -> Usage:
    """One request; unknown unless both directions were counted, so that no sum looks more exact than it is."""
    if counts is None:
        return Usage(requests=1, unknown=1)
    known = counts.input_tokens is not None and counts.output_tokens is not None
    return Usage(**counts.model_dump(), requests=1, unknown=0 if known else 1)


def _provider_error(model: str, fail: Failure) -> ProviderError:
    if not isinstance(fail.status, int):
        what = {"timeout": "no answer in time", "disconnect": "the connection was lost"}[fail.status]
        return ProviderError(f"{model}: {fail.message or what}", retryable=True, hint="resume the run")
    code = f" ({fail.code})" if fail.code else ""
    message = f"{model}: status {fail.status}{code}" + (f": {fail.message}" if fail.message else "")
    if fail.status in _REFUSED:
        return CredentialsError(message, status=fail.status, hint="the script says so; remove its 'fail'")
    retryable = fail.status in _RETRYABLE or fail.status >= 500
    hint = "resume the run" if retryable else "mend what was refused, and resume the run"
    return ProviderError(message, retryable=retryable, status=fail.status, hint=hint)
