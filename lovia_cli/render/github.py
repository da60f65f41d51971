"""``-o github``: what `lovia validate` found as a workflow's commands, which GitHub shows at the lines of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia_cli.cli.answers import Checked
from lovia_cli.render.terminal import safe

if TYPE_CHECKING:
    from lovia_cli.cli.answers import Answer
    from lovia_cli.engine.events import Event
    from lovia_cli.render.streams import Out


class GithubView:
    """One ``::error`` a finding. Everything else about the command is on stderr, as in every form of data."""

    def __init__(self, out: Out) -> None:
        self._out = out

    def event(self, event: Event) -> None:
        """No run, no events."""

    def finish(self, answer: Answer) -> None:
        if isinstance(answer, Checked):
            for finding in answer.findings:
                self._out.text(annotation(finding) + "\n")
            if answer.summary:
                self._out.text(safe(answer.summary, lines=False) + "\n")


def annotation(finding: dict[str, Any]) -> str:
    """``::error file=F,line=L,col=C::message``; a place that is not known is left out."""
    places = (("file", finding.get("file")), ("line", finding.get("line")), ("col", finding.get("column")))
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in places if value is not None)
    hint = f" ({finding['hint']})" if finding.get("hint") else ""
    return f"::error {properties}::{_data(str(finding['message']) + hint)}"


def _data(text: str) -> str:
    """A command is one line: percent signs and line ends are escaped, as the runner reads them back."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return safe(escaped, lines=False)


def _property(text: str) -> str:
    """In a property a colon or a comma would end it."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
