"""Verbs about runs as records."""

from __future__ import annotations

from typing import Annotated

import typer

from lovia_cli.cli.answers import Answer, RunAnswer
from lovia_cli.cli.driving import drive
from lovia_cli.cli.ids import run_meant
from lovia_cli.cli.options import Call
from lovia_cli.wiring import open_stores


def finalize(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run, or a session: then its unfinished run.")],
) -> Answer:
    """End an unfinished run as it stands: it becomes part of its session and cannot be resumed any more.

    Calls without a result are recorded as cancelled. Prints the run's last text. Twice is fine.
    """
    return drive(_finalize(call, name))


COMMANDS = {"finalize": finalize}


async def _finalize(call: Call, name: str) -> Answer:
    from lovia_cli.engine.runner import Runner

    stores = open_stores(call.settings.store)
    meant = await run_meant(stores, name)
    call.run_id, call.session_id = meant.run_id, meant.session_id
    result = await Runner.finalize(meant.run_id, checkpointer=stores.runs, session=stores.sessions)
    return RunAnswer(store=str(stores.location), result=result, is_run=False)
