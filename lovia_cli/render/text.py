"""The lines of every answer but a run's, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lovia_cli.cli.answers import Answer, Checked, Document, Told
from lovia_cli.render.terminal import Paint, safe

if TYPE_CHECKING:
    from lovia_cli.render.streams import Out
    from lovia_cli.settings import Settings


def lines(answer: Answer, settings: Settings, out: Out) -> Iterator[str]:
    """The lines of any answer but a run's."""
    paint = Paint(settings.color and out.is_terminal)
    if isinstance(answer, Checked):
        yield from _checked(answer, paint)
    elif isinstance(answer, Document):
        yield safe(answer.text)
    elif isinstance(answer, Told):
        if answer.message and not (settings.quiet and answer.to_stderr):
            yield safe(answer.message)
    else:
        yield from _read(answer, paint, settings.verbose, out.columns)


def _read(answer: Answer, paint: Paint, verbose: int, columns: int | None) -> Iterator[str]:
    """The lines of what was read from a store. A command that reads none loads nothing of this."""
    from lovia_cli.cli.compared import Compared
    from lovia_cli.cli.listed import Transcript

    if isinstance(answer, Transcript):
        from lovia_cli.render.transcript import transcript

        yield from transcript(answer, paint, verbose, columns)
    elif isinstance(answer, Compared):
        from lovia_cli.render.comparison import comparison

        yield from comparison(answer, paint, verbose, columns)
    else:
        from lovia_cli.render.listings import Listing, listing

        if isinstance(answer, Listing):
            yield from listing(answer, paint, columns)


def _checked(answer: Checked, paint: Paint) -> Iterator[str]:
    for finding in answer.findings:
        where, message = str(finding.get("where") or ""), str(finding.get("message") or "")
        yield f"{safe(where, lines=False)}: {safe(message, lines=False)}" if where else safe(message, lines=False)
        if hint := finding.get("hint"):
            yield f"  hint: {safe(str(hint), lines=False)}"
        if done := finding.get("done"):
            yield f"  {paint.green('done:')} {safe(str(done), lines=False)}"
    if answer.summary:
        yield safe(answer.summary, lines=False)
