"""The one place that prints: what to stdout, what to stderr, in which form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia_cli.cli.answers import RunAnswer
from lovia_cli.render.live import Live
from lovia_cli.render.terminal import safe

if TYPE_CHECKING:
    from lovia_cli.cli.answers import Answer
    from lovia_cli.cli.secrets import Secrets
    from lovia_cli.engine.events import Event
    from lovia_cli.render.github import GithubView
    from lovia_cli.render.hiding import Hiding
    from lovia_cli.render.json import JsonView
    from lovia_cli.render.ndjson import NdjsonView
    from lovia_cli.render.streams import Streams
    from lovia_cli.settings import Settings


class View:
    """Everything that one command shows. Events come while a run runs, the answer once at the end.

    Whatever the form, no known secret is in it.
    """

    def __init__(self, streams: Streams, settings: Settings, secrets: Secrets) -> None:
        self._streams = streams
        self._settings = settings
        self._secrets = secrets
        self._hidden: Hiding | None = None
        self._live = Live(streams, settings)
        self._data = self._data_view()

    def _data_view(self) -> JsonView | NdjsonView | GithubView | None:
        if self._settings.output == "json":
            from lovia_cli.render.json import JsonView

            return JsonView(self._streams.out)
        if self._settings.output == "ndjson":
            from lovia_cli.render.ndjson import NdjsonView

            return NdjsonView(self._streams.out)
        if self._settings.output == "github":
            from lovia_cli.render.github import GithubView

            return GithubView(self._streams.out)
        return None

    def event(self, event: Event) -> None:
        """One fact about the run under way."""
        hiding = self._hiding()
        for shown in (event,) if hiding is None else hiding.events(event):
            self._live.event(shown)
            if self._data:
                self._data.event(shown)

    def _hiding(self) -> Hiding | None:
        """What takes out the secrets that are known by now; None where there are none."""
        redactor = self._secrets.redactor
        if redactor is not None and self._hidden is None:
            from lovia_cli.render.hiding import Hiding

            self._hidden = Hiding(redactor)
        elif redactor is not None and self._hidden is not None:
            self._hidden.redactor = redactor
        return self._hidden

    def note(self, text: str) -> None:
        """A line for the person at the terminal."""
        self._live.note(text)

    def finish(self, answer: Answer) -> None:
        """What came of it: the data or the text to stdout, what a person should know to stderr."""
        if (hiding := self._hiding()) is not None:
            answer = hiding.answer(answer)
        if isinstance(answer, RunAnswer):
            answer.location = self._settings.store
        if self._data:
            self._data.finish(answer)
        if isinstance(answer, RunAnswer):
            self._live.finish(answer)
            self._debug(answer.error or (answer.result.error if answer.result else None))
        elif not self._data:
            self._text(answer)
        self._streams.tell_failure()

    def _text(self, answer: Answer) -> None:
        from lovia_cli.render.text import lines

        out = self._streams.err if getattr(answer, "to_stderr", False) else self._streams.out
        for line in lines(answer, self._settings, out):
            out.text(line + "\n")

    def _debug(self, error: BaseException | None) -> None:
        if error is not None and self._settings.debug:
            from traceback import format_exception

            self._streams.err.text(safe(self._secrets.text("".join(format_exception(error)))))
