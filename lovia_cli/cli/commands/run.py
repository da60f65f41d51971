"""``lovia run``: an agent on an input, saved at every step."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from lovia_cli.cli.agents import find_agent, is_agent_file, past_of, saved_for_run
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
    is_answered,
    limits_given,
    model_given,
    parts_given,
    replay,
    timeout_given,
    variables_given,
)
from lovia_cli.cli.foresee import foresee
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.errors import RunNotFoundError, UserError
from lovia_cli.wiring import Stores, open_stores
from stores.ids import check_id

if TYPE_CHECKING:
    from lovia_cli.engine.options import IfRunExists

Then = Callable[[Call, Stores, Job, Path], Awaitable[Answer]]
"""What is done with a job that is complete."""

_ANY_INPUT = "any input"
"""Stands for a conversation's first message, to see what it would do."""
_GIVE_INPUT = 'give one: lovia run AGENT.yaml "what to do"'
_POLICIES = ("resume", "restart", "fail", "resume-only")


def run(
    call: Call,
    first: Annotated[str | None, Argument(metavar="[AGENT.yaml]", help="The agent file.")] = None,
    second: Annotated[str | None, Argument(metavar="[INPUT|-]", help="What to do; - reads stdin.")] = None,
    session: Annotated[
        str | None, Option("--session", "-s", metavar="ID", help="The conversation this belongs to.")
    ] = None,
    run_id: Annotated[
        str | None, Option("--run-id", metavar="ID", help="The run's id; the same again goes on or replays.")
    ] = None,
    if_run_exists: Annotated[
        str | None, Option("--if-run-exists", metavar="|".join(_POLICIES), help="What --run-id means then.")
    ] = None,
    var: Variables = None,
    model: Models = None,
    max_steps: MaxSteps = None,
    max_cost: MaxCost = None,
    limit: Limits = None,
    timeout: Timeout = None,
    attach: Attach = None,
    on_drift: OnDrift = None,
    delete_on_success: DeleteOnSuccess = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check everything, say what would happen, and write nothing.")
    ] = False,
) -> Answer:
    """Run an agent; in a session, go on with what is unfinished there.

    An argument that ends in .yaml is the agent file, the other one the input. Without an agent file: $LOVIA_AGENT,
    else the file the session last ran with, else agent.yaml. Without an input: what is piped in; at a terminal, a
    conversation, one run a message, until Ctrl-D.
    """
    call.executes(run_id, session)
    call.is_dry = dry_run
    agent_file, text = _arguments(first, second)
    talk = text is None and _is_talk_possible(call)
    job = Job(
        session_id=session if session is None else check_id(session, "session id"),
        run_id=run_id if run_id is None else check_id(run_id, "run id"),
        if_run_exists=_policy(if_run_exists, run_id),
        variables=variables_given(var),
        model=model_given(model),
        limits=limits_given(max_steps, max_cost, limit),
        timeout=timeout_given(timeout),
        parts=parts_given(attach),
        on_drift=drift_given(on_drift),
        delete_on_success=delete_on_success,
        input="" if talk else _input(text),
    )
    if talk:
        return _talk(call, job, agent_file, dry_run=dry_run)
    return drive(_go(call, job, agent_file, foresee if dry_run else carry_out))


COMMAND = run


def _talk(call: Call, job: Job, agent_file: str | None, *, dry_run: bool) -> Answer:
    """A conversation; what is wrong with the agent is said before it begins."""
    from lovia_cli.cli.conversation import Conversation, refuse_run_id

    refuse_run_id(job.run_id)
    beforehand = drive(_go(call, replace(job, input=_ANY_INPUT), agent_file, partial(foresee, talk=True)))
    if dry_run:
        return beforehand
    return Conversation(call, job, lambda message: _go(call, message, agent_file, carry_out)).hold()


async def _go(call: Call, job: Job, agent_file: str | None, then: Then) -> Answer:
    """Complete the job with what the run, or its session, was started with (Z8)."""
    stores = open_stores(call.settings.store)
    if not stores.location.exists:
        _refuse_where_nothing_is(job)
    if await is_answered(stores, job):
        return await (replay(call, stores, job) if then is carry_out else foresee(call, stores, job, None))
    run_id = None if job.if_run_exists == "restart" else job.run_id
    past = await past_of(stores, run_id, job.session_id)
    call.secrets.learn_from(*past.configs())
    own, last = saved_for_run(past, run_id)
    file = find_agent(agent_file, last, stores, call.environ)
    earlier = own if own.agent_file or str(file) != last.agent_file else last
    job = replace(job, variables={**earlier.variables, **job.variables}, model=job.model or own.model)
    return await then(call, stores, job, file)


def _refuse_where_nothing_is(job: Job) -> None:
    """What the engine would refuse in an empty store; refused before one is made."""
    if job.if_run_exists == "resume_only":
        raise RunNotFoundError(f"no run {job.run_id!r}", hint="see what there is: lovia history")
    if not job.input and not job.parts:
        raise UserError("no input given, and nothing to go on with", hint=_GIVE_INPUT)


def _is_talk_possible(call: Call) -> bool:
    """True where there is somebody to talk to: stdin and stderr are terminals, and text is wanted."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and call.streams.err.is_terminal
    return at_terminal and call.settings.output == "text"


def _arguments(first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """Which of the two is the agent file, and which the input."""
    if first is not None and is_agent_file(first):
        return first, second
    if second is not None and is_agent_file(second):
        return second, first
    if second is not None:
        raise UserError(
            f"two inputs given, and neither is an agent file: {first!r}, {second!r}",
            hint="put the input in quotes; an agent file ends in .yaml or .yml",
        )
    return None, first


def _policy(given: str | None, run_id: str | None) -> IfRunExists:
    if given is None:
        return "resume"
    if given not in _POLICIES:
        raise UserError(f"unknown --if-run-exists {given!r}", hint="use one of: " + ", ".join(_POLICIES))
    if run_id is None:
        raise UserError("--if-run-exists needs a run id", hint="name the run: --run-id ID")
    return cast("IfRunExists", given.replace("-", "_"))


def _input(given: str | None) -> str:
    """The input given, or what stdin holds: for ``-``, and where none is given and stdin is no terminal."""
    if given is not None and given != "-":
        return given if given.strip() else ""
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        raise UserError("no input given", hint=_GIVE_INPUT)
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"stdin is not valid UTF-8, from byte {error.start}", hint="pass UTF-8 text") from error
    except OSError as error:
        raise UserError(f"stdin cannot be read: {error.strerror}", hint="give the input as an argument") from error
    text = text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")
    return text if text.strip() else ""
