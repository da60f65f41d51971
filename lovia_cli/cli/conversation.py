"""``lovia run`` without an input at a terminal: a conversation in a session, one run a message, until Ctrl-D.

Ctrl-C stops the run under way; it is saved, and the conversation goes on: the next message goes to that run (K2), an
empty line just lets it go on. At the prompt Ctrl-C drops the line, and twice in a row it ends the conversation, as
SIGTERM and SIGHUP do at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from lovia_cli.cli.advice import store_option
from lovia_cli.cli.answers import Answer, RunAnswer, Told
from lovia_cli.cli.driving import drive
from lovia_cli.cli.execute import Job
from lovia_cli.cli.ids import session_named
from lovia_cli.cli.options import Call
from lovia_cli.cli.prompt import Prompt
from lovia_cli.cli.resuming import session_option
from lovia_cli.cli.signals import given_back
from lovia_cli.errors import LoviaError, SignalReceived, Stopped, UserError
from lovia_cli.exits import Exit
from lovia_cli.render.words import counted
from lovia_cli.wiring import open_stores
from stores.ids import new_id
from stores.lines import RunInfo
from stores.records import Status

PROMPT = "you> "

Go = Callable[[Job], Coroutine[Any, Any, Answer]]
"""What carries out one message."""


@dataclass(slots=True)
class Conversation:
    """One conversation under way. ``job`` is the next message's, all but its text."""

    call: Call
    job: Job
    go: Go

    def hold(self) -> Answer:
        """Talk until the end. Each run's failure is said, and is not the end."""
        if self.job.session_id is None:
            self.job = replace(self.job, session_id=new_id())
        self.call.session_id = self.job.session_id
        self._greet()
        prompt = Prompt(self.call.streams.err)
        given_up = False
        while True:
            try:
                message = prompt.read(PROMPT)
            except KeyboardInterrupt:
                self.call.streams.err.text("\n")
                if given_up:
                    return self._end(Exit.INT)
                given_up = True
                self._note("Ctrl-D ends the conversation, and so does Ctrl-C again")
                continue
            except SignalReceived as signalled:
                self.call.streams.err.text("\n")
                return self._end(128 + signalled.number)
            except UnicodeError:
                self._note("that was not valid text in this locale")
                continue
            if message is None:
                return self._end(Exit.OK)
            given_up = False
            if (code := self._say(message)) is not None:
                return self._end(code)

    def _greet(self) -> None:
        finished, unfinished = drive(self._standing())
        count = counted(finished, "finished run")
        self._note(f"session {self.job.session_id} ({count}); Ctrl-C stops a run, Ctrl-D ends the conversation")
        for run in unfinished[:1]:
            self._note(f"run {run.run_id} is {run.status} after step {run.steps}: {_GO_ON}")

    async def _standing(self) -> tuple[int, list[RunInfo]]:
        """How many runs the session has finished, and which it has not but can go on with."""
        stores = open_stores(self.call.settings.store)
        session = await session_named(stores, self.job.session_id or "")
        if session is None:
            return 0, []
        whole = [run for run in session.unfinished if run.damage is None]
        return len(session.segments), [run for run in whole if run.status != Status.COMPLETED]

    def _say(self, message: str) -> int | None:
        """Carry out one message, and print what comes of it; the exit code when that ends the conversation."""
        with given_back(signal.SIGINT):
            return self._carry_out(message)

    def _carry_out(self, message: str) -> int | None:
        if not message.strip():
            if not drive(self._standing())[1]:
                return None
            message = ""
        answer = self._answer(replace(self.job, input=message))
        if not isinstance(answer, RunAnswer):
            return None
        result = answer.result
        stop = (result.stop if result else None) or {}
        is_signal = stop.get("reason") == "signal"
        if is_signal and (stop.get("signal") != signal.SIGINT or self.call.departure.is_near):
            self.call.finish(answer)
            return answer.exit_code
        if result is not None:
            self.job.parts = []
        is_limit = stop.get("reason") == "limit"
        says_how = result is not None and result.status != Status.COMPLETED and not is_limit
        if result is not None and says_how and isinstance(result.error, Stopped):
            result.error.hint = _GO_ON
            says_how = False
        self.call.finish(replace(answer, next=None, go_on=answer.go_on if is_limit else None))
        if says_how:
            self._note(_GO_ON)
        return None

    def _answer(self, job: Job) -> Answer:
        try:
            return drive(self.go(job))
        except (Exception, KeyboardInterrupt) as error:
            store = str(self.call.settings.store)
            return RunAnswer(store=store, error=error, session_id=job.session_id)

    def _end(self, code: int) -> Answer:
        """The command that takes the conversation up again, if there is one to take up."""
        try:
            finished, unfinished = drive(self._standing())
        except LoviaError:
            return Told(message="", exit_code=Exit(code))
        command = ["lovia run", *store_option(self.call.settings.store), session_option(self.job.session_id or "")]
        message = "go on with: " + " ".join(command) if finished or unfinished else ""
        return Told(message=message, to_stderr=True, exit_code=Exit(code))

    def _note(self, line: str) -> None:
        self.call.note(line)


_GO_ON = "say something to it, or press Enter to let it go on as it is"


def refuse_run_id(run_id: str | None) -> None:
    """A conversation is many runs."""
    if run_id is not None:
        raise UserError(
            "no input given, and a conversation is many runs, not the one of --run-id",
            hint='give one: lovia run AGENT.yaml "what to do" --run-id ID, or go on: lovia resume ID',
        )
