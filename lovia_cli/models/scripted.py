"""A model that says what a script tells it to: offline, deterministic, for demos, tests and CI.

The turn is chosen by the number of the response alone, so a run that is killed and resumed goes on in the
script where its transcript stands.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lovia_cli.errors import CredentialsError, ProviderError, ScriptError

if TYPE_CHECKING:
    from lovia_cli.models.base import Delta, ModelRequest
    from lovia_cli.models.script import Failure, Script, Turn

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
        from asyncio import sleep  # who only checks a script has no event loop, and nothing is said

        from lovia_cli.models.playing import pieces_of, response_of

        if self._on_request:
            self._on_request(request)
        self._witness(request)
        place, turn = self._choose(request)
        pieces = pieces_of(turn)
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
        yield response_of(turn, request.number, self._id)

    def _witness(self, request: ModelRequest) -> None:
        """Log the request: one append of one line, so that lines of several processes never mix."""
        if self._log is None:
            return
        from json import dumps

        line = dumps({"run_id": request.run_id, "agent": request.agent, "n": request.number}) + "\n"
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
        from lovia_cli.models.playing import unanswered
        from lovia_cli.models.script import Cases

        turns = self._script.turns
        index = request.number - 1
        if self._script.loop:
            index %= len(turns)
        if index >= len(turns):
            message = f"the script ends after turn {len(turns)}: this is response {request.number} of {request.agent}"
            raise ScriptError(message, where=self._id, hint="add a turn, or 'loop: true' to start over")
        turn = turns[index]
        if not isinstance(turn, Cases):
            return (index, 0), turn
        said = unanswered(request.entries)
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
