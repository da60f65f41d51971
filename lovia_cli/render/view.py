"""The one place that prints: what to stdout, what to stderr, in which form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia_cli.cli.answers import RunAnswer
from lovia_cli.render.live import Live
from lovia_cli.render.terminal import safe

if TYPE_CHECKING:
    from lovia_cli.cli.answers import Answer
    from lovia_cli.engine.events import Event
    from lovia_cli.render.github import GithubView
    from lovia_cli.render.json import JsonView
    from lovia_cli.render.ndjson import NdjsonView
    from lovia_cli.render.streams import Streams
    from lovia_cli.settings import Settings


class View:
    """Everything that one command shows. Events come while a run runs, the answer once at the end."""

    def __init__(self, streams: Streams, settings: Settings) -> None:
        self._streams = streams
        self._settings = settings
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
        self._live.event(event)
        if self._data:
            self._data.event(event)

    def note(self, text: str) -> None:
        """A line for the person at the terminal."""
        self._live.note(text)

    def finish(self, answer: Answer) -> None:
        """What came of it: the data or the text to stdout, what a person should know to stderr."""
        if self._data:
            self._data.finish(answer)
        if isinstance(answer, RunAnswer):
            self._live.finish(answer)
            self._debug(answer.error or (answer.result.error if answer.result else None))
        elif not self._data:
            self._text(answer)
        if failure := self._streams.out.failure:
            self._streams.err.text(f"error: cannot write to stdout: {failure.strerror}\n")

    def _text(self, answer: Answer) -> None:
        from lovia_cli.render.text import lines

        out = self._streams.err if getattr(answer, "to_stderr", False) else self._streams.out
        for line in lines(answer, self._settings, out):
            out.text(line + "\n")

    def _debug(self, error: BaseException | None) -> None:
        if error is not None and self._settings.debug:
            from traceback import format_exception

            from lovia_cli.cli.secrets import hidden

            self._streams.err.text(safe(hidden("".join(format_exception(error)))))
