"""``lovia resume``: an unfinished run goes on where it stands; a completed one is replayed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from lovia_cli.cli.agents import Saved, agent_of_run
from lovia_cli.cli.answers import Answer
from lovia_cli.cli.driving import drive
from lovia_cli.cli.execute import (
    Attach,
    DeleteOnSuccess,
    Job,
    Limits,
    MaxCost,
    MaxSteps,
    Models,
    OnDrift,
    Timeout,
    Variables,
    carry_out,
    drift_given,
    limits_given,
    model_given,
    parts_given,
    replay,
    timeout_given,
    variables_given,
)
from lovia_cli.cli.ids import run_meant, split
from lovia_cli.cli.naming import Last, RunName, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.errors import UserError
from lovia_cli.wiring import open_stores
from stores.ids import as_words


def resume(
    call: Call,
    name: RunName = None,
    last: Last = False,
    input: Annotated[
        str | None, Option("--input", "-i", metavar="TEXT", help="Say something to the run before it goes on.")
    ] = None,
    agent: Annotated[str | None, Option("--agent", metavar="FILE", help="The agent file, where it has moved.")] = None,
    var: Variables = None,
    model: Models = None,
    max_steps: MaxSteps = None,
    max_cost: MaxCost = None,
    limit: Limits = None,
    timeout: Timeout = None,
    attach: Attach = None,
    on_drift: OnDrift = None,
    delete_on_success: DeleteOnSuccess = False,
) -> Answer:
    """Go on with a run that was stopped, with the agent, variables and model it was started with.

    Recorded results and responses are kept: no tool that has answered runs again, and no response is paid twice.
    Never reads stdin.
    """
    name = named(name, last)
    kind, run_id = split(name) if name is not None else ("run", None)
    call.executes(run_id if kind != "session" else None, None)
    if attach and not (input and input.strip()):
        raise UserError("--attach goes with --input", hint='say what the files are for: --input "..." --attach FILE')
    job = Job(
        steer=input if input and input.strip() else None,
        variables=variables_given(var),
        model=model_given(model),
        limits=limits_given(max_steps, max_cost, limit),
        timeout=timeout_given(timeout),
        parts=parts_given(attach),
        on_drift=drift_given(on_drift),
        delete_on_success=delete_on_success,
    )
    return drive(_go(call, job, name, agent))


COMMAND = resume


async def _go(call: Call, job: Job, name: str | None, agent: str | None) -> Answer:
    stores = open_stores(call.settings.store)
    meant = await run_meant(stores, name)
    call.executes(meant.run_id, meant.session_id)
    if job.delete_on_success and meant.session_id is None:
        raise UserError(
            f"--delete-on-success needs a session, and run {meant.run_id!r} belongs to none",
            hint="leave it out; what came out would be gone with the run",
        )
    if meant.is_completed and job.steer is None:
        return await replay(call, stores, replace(job, run_id=meant.run_id, session_id=meant.session_id))
    call.secrets.learn_from(meant.config)
    saved = Saved.of(meant.config)
    file = agent_of_run(agent, saved, meant.run_id, f"lovia resume --agent FILE {as_words(name or meant.run_id)}")
    job.run_id, job.session_id, job.if_run_exists = meant.run_id, meant.session_id, "resume_only"
    job.variables = {**saved.variables, **job.variables}
    job.model = job.model or saved.model
    return await carry_out(call, stores, job, file)
