"""The global options, before or after the verb: every command takes them beside its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lovia_cli.cli.parameters import Option, Parameter, parameters_of
from lovia_cli.cli.secrets import Secrets
from lovia_cli.errors import SignalReceived
from lovia_cli.settings import (
    CHECK_OUTPUTS,
    OUTPUTS,
    STORE_NAME,
    Output,
    Settings,
    StoreLocation,
    choose_output,
    locate_store,
)

if TYPE_CHECKING:
    from lovia_cli.cli.answers import Answer, RunAnswer
    from lovia_cli.cli.signals import Departure
    from lovia_cli.engine.events import Event
    from lovia_cli.render.streams import Streams
    from lovia_cli.render.view import View

EXECUTING = frozenset({"run", "resume", "replay", "fork"})
"""The verbs that execute a run: their ndjson is its events, also on failure."""


@dataclass(slots=True)
class Call:
    """One command under way: what it may look at, and whom it tells.

    ``given`` collects the global options from both sides of the verb; the later one wins. `settings` decides.
    ``run_id`` and ``session_id`` are those that the command is about, as far as it knows; ``is_dry`` is
    True for a dry run, which executes none, and ``has_begun`` once one is stored, and can be resumed. ``secrets`` are
    hidden in all that is shown.
    """

    streams: Streams
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    given: dict[str, Any] = field(default_factory=dict)
    verb: str = ""
    run_id: str | None = None
    session_id: str | None = None
    is_dry: bool = False
    has_begun: bool = False
    secrets: Secrets = field(init=False)
    _settings: Settings | None = None
    _view: View | None = None
    _is_answered: bool = False
    _departure: Departure | None = None

    def __post_init__(self) -> None:
        self.secrets = Secrets(self.environ)
        self.streams.hide = self.secrets.text

    def add(self, values: dict[str, Any]) -> None:
        """Note the global options that were given here."""
        for name, value in values.items():
            if value not in (None, False, 0):
                self.given[name] = value

    @property
    def is_settled(self) -> bool:
        """True once the options have been read and make sense."""
        return self._settings is not None

    @property
    def settings(self) -> Settings:
        """The options, decided: flag before environment before default. Raises `UserError`."""
        if self._settings is None:
            dumb = self.environ.get("TERM") == "dumb"
            self._settings = Settings(
                store=locate_store(self.given.get("store"), self.environ, Path.cwd()),
                output=choose_output(
                    self.given.get("output"),
                    "json" in self.given,
                    self.environ,
                    CHECK_OUTPUTS if self.verb == "validate" else OUTPUTS,
                ),
                quiet="quiet" in self.given,
                verbose=self.given.get("verbose", 0),
                color=not (self.given.get("no_color") or self.environ.get("NO_COLOR") or dumb),
                plain_terminal=dumb,
                debug="debug" in self.given,
            )
        return self._settings

    def view(self) -> View:
        """Where everything goes that is to be seen."""
        if self._view is None:
            from lovia_cli.render.view import View

            self._view = View(self.streams, self.settings, self.secrets)
        return self._view

    def presume(self, output: Output) -> None:
        """The options could not be read, or make no sense: the refusal is printed as ``output`` all the same."""
        if self._settings is None:
            self._settings = Settings(store=StoreLocation(Path(STORE_NAME), "default"), output=output)

    def executes(self, run_id: str | None, session_id: str | None) -> None:
        """A run is going to be executed, by these ids if any: from now on stdout is ours alone."""
        self.run_id, self.session_id = run_id, session_id
        self.streams.take()

    def watch(self, event: Event) -> None:
        """The sink for a run's events."""
        if event.type == "run.started":
            self.run_id, self.session_id, self.has_begun = event.run_id, event.data.get("session_id"), True
            self._is_answered = False
        self.view().event(event)

    def note(self, text: str) -> None:
        """Say something beside the answer."""
        self.view().note(text)

    def finish(self, answer: Answer) -> None:
        """Print what the command returned."""
        self._is_answered = True
        self.view().finish(answer)

    @property
    def departure(self) -> Departure:
        """What a second Ctrl-C leads to."""
        if self._departure is None:
            from lovia_cli.cli.signals import Departure

            self._departure = Departure(self._say_last)
        return self._departure

    def _say_last(self) -> None:
        """The answer of a command that is broken off, unless one is there, or is being printed."""
        if not self._is_answered:
            self.streams.out.drop_unless_free()
            self.finish(self.failed(KeyboardInterrupt()))

    def failed(self, error: BaseException) -> RunAnswer:
        """The answer to a command that was refused, that broke, or that was broken off."""
        from lovia_cli.cli.answers import RunAnswer

        answer = RunAnswer(
            store=str(self.settings.store) if self.is_settled else None,
            error=error,
            run_id=self.run_id,
            session_id=self.session_id,
            is_run=self.verb in EXECUTING and not self.is_dry,
        )
        if isinstance(error, KeyboardInterrupt | SignalReceived) and (self.has_begun or self.verb == "fork"):
            from lovia_cli.cli.resuming import command_for_begun
            from lovia_cli.cli.signals import ctrl_c

            answer.error = stopped = error if isinstance(error, SignalReceived) else ctrl_c()
            if self.has_begun:
                answer.go_on = command_for_begun(str(self.run_id), self.session_id, self.settings.store)
            else:
                stopped.hint = "see whether the fork is there before you make it again: lovia history --tree"
        return answer


def global_options(
    store: Annotated[
        str | None, Option("--store", metavar="PATH|URL", help="Where runs and sessions are kept. [LOVIA_STORE]")
    ] = None,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="text|json|ndjson", help="How to print. [LOVIA_OUTPUT]")
    ] = None,
    json: Annotated[bool, Option("--json", help="Short for --output json.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Only errors and the answer.")] = False,
    verbose: Annotated[
        int,
        Option("--verbose", "-v", count=True, help="Say more: saves, steps; -vv also reasoning.", show_default=False),
    ] = 0,
    no_color: Annotated[bool, Option("--no-color", help="No colour. [NO_COLOR]")] = False,
    debug: Annotated[bool, Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Declares them, as a verb declares its own; never called."""


_GLOBALS = parameters_of(global_options)


def parameters(function: Callable[..., Answer]) -> list[Parameter]:
    """What the command line of ``function`` takes: its own, and the global options."""
    return [*parameters_of(function), *_GLOBALS]


def carry_out(
    function: Callable[..., Answer], call: Call, values: Mapping[str, Any], *, is_verb: bool = True
) -> Answer:
    """``function(call, ...)`` with its own of the ``values``; the global options end up in ``call``.

    What stands before the verb decides nothing yet: the verb may say otherwise.
    """
    shared = {parameter.name for parameter in _GLOBALS}
    call.add({name: value for name, value in values.items() if name in shared})
    if is_verb:
        call.settings  # noqa: B018 - refuse wrong options before the command looks at anything
    return function(call, **{name: value for name, value in values.items() if name not in shared})
