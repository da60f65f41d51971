"""``lovia compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lovia_cli.cli.answers import Answer
from lovia_cli.cli.compared import Compared
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.naming import named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.cli.sides import sides_meant
from lovia_cli.comparing import Comparison, compare_trajectories
from lovia_cli.exits import Exit
from lovia_cli.wiring import Stores, open_stores

_SIDE = "A run, a session (then its unfinished or last run), or an exported file; with @STEP up to that step."


def compare(
    call: Call,
    a: Annotated[str | None, Argument(metavar="A[@STEP]", help=_SIDE, show_default=False)] = None,
    b: Annotated[
        str | None,
        Argument(
            metavar="[B[@STEP]]",
            help="The same. Without it A must be a fork, and is compared with its source.",
            show_default=False,
        ),
    ] = None,
    last: Annotated[bool, Option("--last", help="The run with the newest save, in place of the last id.")] = False,
    exit_code: Annotated[bool, Option("--exit-code", help="Exit with 9 when they differ.")] = False,
    html: Annotated[str | None, Option("--html", metavar="FILE", help="Write a page of it, too.")] = None,
) -> Answer:
    """Compare two runs step by step: where they part, what differs, and how tools, arguments, steps and end drift.

    A fork alone is compared with the run that it was forked from.
    """
    if not last:
        named(a, last)
    elif b is not None:
        named(b, last)
    first, second = (a, b) if b is not None or last else (None, a)
    stores = open_stores(call.settings.store)
    comparison = drive_stores(_compared(stores, first, second))
    call.secrets.learn_from(*(side.config for side in comparison.sides))
    return Compared(
        store=str(stores.location),
        comparison=comparison,
        html=_written(call, comparison, html) if html is not None else None,
        exit_code=Exit.DIFFERS if exit_code and not comparison.same else Exit.OK,
    )


COMMAND = compare


async def _compared(stores: Stores, a: str | None, b: str | None) -> Comparison:
    """``a`` None is the source of ``b``, and ``b`` None the run with the newest save."""
    return compare_trajectories(*await sides_meant(stores, a, b))


def _written(call: Call, comparison: Comparison, html: str) -> str:
    """Where the page is that was written, without the values of secrets in the environment."""
    from lovia_cli.cli.placing import place
    from lovia_cli.render.comparison_page import comparison_page
    from lovia_cli.render.hiding import Hiding

    redactor = call.secrets.redactor
    shown = Hiding(redactor).shown(comparison) if redactor else comparison
    path = place(Path(html), comparison_page(shown).encode("utf-8"), "--html")
    call.note(f"wrote {path}")
    return str(path)
