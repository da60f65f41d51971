"""``lovia fork``: a new run that begins where another stood, with something changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from lovia_cli.cli.agents import Saved, agent_of_run
from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.driving import drive
from lovia_cli.cli.execute import Job, carry_out
from lovia_cli.cli.ids import kept_history, run_meant, split
from lovia_cli.cli.naming import Last, RunName, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.cli.patches import patch_given
from lovia_cli.cli.resuming import command_for
from lovia_cli.errors import RunNotFoundError, UserError
from lovia_cli.wiring import Stores, open_stores
from stores.ids import as_words, check_id

if TYPE_CHECKING:
    from lovia_cli.engine.forking import Forked
    from lovia_cli.engine.patching import Patch


def fork(
    call: Call,
    name: RunName = None,
    last: Last = False,
    from_step: Annotated[
        int | None, Option("--from-step", metavar="N", help="The step to begin at; 0 is the input.")
    ] = None,
    from_save: Annotated[
        int | None, Option("--from-save", metavar="N", help="One save of the step, not its newest.")
    ] = None,
    tool_result: Annotated[
        list[str] | None,
        Option("--tool-result", metavar="CALL=JSON|@FILE", help="What a call has returned, by id or STEP.POSITION."),
    ] = None,
    state: Annotated[str | None, Option("--state", metavar="JSON|@FILE", help="Another user state.")] = None,
    messages: Annotated[str | None, Option("--messages", metavar="@FILE", help="Another transcript.")] = None,
    append_input: Annotated[
        str | None, Option("--append-input", metavar="TEXT", help="Say something to the run before it goes on.")
    ] = None,
    new_id: Annotated[str | None, Option("--new-id", metavar="ID", help="Its id. [RUN.fork-N]")] = None,
    run: Annotated[bool, Option("--run", help="Go on with it at once.")] = False,
) -> Answer:
    """Begin a new run at a step of another one, with a changed tool result, state, transcript or a further input.

    The run it comes from stays as it is, and what both have is shared. Results that are recorded are not run again.
    Prints the new run's id; go on with it with --run, or with: lovia resume.
    """
    call.is_dry = not run
    name = named(name, last)
    if from_step is None and from_save is None:
        raise UserError("no step to begin at was given", hint="name one: --from-step N; see: lovia history RUN")
    if new_id is not None:
        check_id(new_id, "run id")
    patch = patch_given(messages, state, tool_result, append_input)
    if run:
        call.executes(None, None)
    return drive(_fork(call, name, from_step, from_save, patch, new_id, run))


COMMAND = fork


async def _fork(
    call: Call,
    name: str | None,
    from_step: int | None,
    from_save: int | None,
    patch: Patch,
    new_id: str | None,
    run: bool,
) -> Answer:
    from lovia_cli.engine.runner import Runner

    stores = open_stores(call.settings.store)
    source = call.run_id = await _source(stores, name)
    forked = await Runner.fork(
        source,
        from_step=from_step,
        from_save=from_save,
        patch=patch,
        new_id=new_id,
        checkpointer=stores.runs,
        session=stores.sessions,
    )
    changed = f", with other {', '.join(forked.patched)}" if forked.patched else ""
    call.note(f"forked run {source} at step {forked.step} (save {forked.save}){changed}")
    if run:
        return await _go_on(call, stores, forked)
    call.note(f"go on with: {command_for('resume', forked.run_id, stores)}")
    return _told(stores, forked)


async def _source(stores: Stores, name: str | None) -> str:
    """The run that is meant; one that is gone but for its history is a run, too."""
    try:
        return (await run_meant(stores, name)).run_id
    except RunNotFoundError:
        kept = await kept_history(stores, split(name)[1]) if name is not None else None
        if kept is None:
            raise
        return kept.run_id


async def _go_on(call: Call, stores: Stores, forked: Forked) -> Answer:
    """As `lovia resume` does."""
    run_id = forked.run_id
    call.executes(run_id, forked.session_id)
    call.has_begun = True
    info = await stores.runs.info(run_id)
    config = info.config if info else None
    call.secrets.learn_from(config)
    saved = Saved.of(config)
    file = agent_of_run(None, saved, run_id, f"lovia resume --agent FILE {as_words(run_id)}")
    job = Job(run_id=run_id, session_id=forked.session_id, if_run_exists="resume_only")
    job.variables, job.model = saved.variables, saved.model
    return await carry_out(call, stores, job, file)


def _told(stores: Stores, forked: Forked) -> Told:
    return Told(
        message=forked.run_id,
        data={
            "store": str(stores.location),
            "run_id": forked.run_id,
            "session_id": forked.session_id,
            "status": "interrupted",
            "steps": forked.step,
            "forked_from": {"run_id": forked.source, "save": forked.save, "step": forked.step},
            "patched": forked.patched,
        },
    )
