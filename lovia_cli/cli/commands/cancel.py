"""``lovia cancel``: ask the process that executes a run to stop."""

from __future__ import annotations

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.driving import drive
from lovia_cli.cli.ids import run_meant
from lovia_cli.cli.naming import Last, RunName, named
from lovia_cli.cli.options import Call
from lovia_cli.wiring import open_stores


def cancel(
    call: Call,
    name: RunName = None,
    last: Last = False,
) -> Answer:
    """Stop a run that is being executed, wherever; it is saved and can be resumed.

    Waits for it. A run that nobody executes is left as it is.
    """
    return drive(_go(call, named(name, last)))


COMMAND = cancel


async def _go(call: Call, name: str | None) -> Answer:
    from lovia_cli.engine.runner import Runner

    stores = open_stores(call.settings.store)
    meant = await run_meant(stores, name)
    call.run_id, call.session_id = meant.run_id, meant.session_id
    stopped = await Runner.cancel(meant.run_id, checkpointer=stores.runs)
    info = await stores.runs.info(meant.run_id)
    message = f"run {meant.run_id} was stopped" if stopped else f"run {meant.run_id} is not being executed"
    data = {"run_id": meant.run_id, "session_id": meant.session_id, "stopped": stopped}
    return Told(message=message, data={**data, "status": info.status if info else None}, to_stderr=True)
