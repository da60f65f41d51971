"""Verbs about runs as records."""

from __future__ import annotations

from lovia_cli.cli.answers import Answer, RunAnswer
from lovia_cli.cli.driving import drive
from lovia_cli.cli.ids import run_meant
from lovia_cli.cli.naming import Last, RunName, named
from lovia_cli.cli.options import Call
from lovia_cli.wiring import open_stores


def finalize(
    call: Call,
    name: RunName = None,
    last: Last = False,
) -> Answer:
    """End an unfinished run as it stands: it becomes part of its session and cannot be resumed any more.

    Calls without a result are recorded as cancelled. Prints the run's last text. Twice is fine.
    """
    return drive(_finalize(call, named(name, last)))


COMMANDS = {"finalize": finalize}


async def _finalize(call: Call, name: str | None) -> Answer:
    from lovia_cli.engine.runner import Runner

    stores = open_stores(call.settings.store)
    meant = await run_meant(stores, name)
    call.run_id, call.session_id = meant.run_id, meant.session_id
    call.secrets.learn_from(meant.config)
    result = await Runner.finalize(meant.run_id, checkpointer=stores.runs, session=stores.sessions)
    return RunAnswer(store=str(stores.location), result=result, is_run=False)
