"""What `run` and `resume` have in common: the job they make of their options, and carrying it out."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from lovia_cli.agent import Limits as AgentLimits
from lovia_cli.cli.answers import RunAnswer
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.errors import UserError
from lovia_cli.wiring import Stores
from stores.entries import InputEntry
from stores.records import Status

if TYPE_CHECKING:
    from lovia_cli.engine.options import IfRunExists

DRIFT = ("warn", "error", "ignore")

Variables = Annotated[
    list[str] | None, Option("--var", "-p", metavar="K=V", help="A value for a parameter of the agent file.")
]
Models = Annotated[
    list[str] | None, Option("--model", "-m", metavar="MODEL", help="Another model, such as scripted:FILE.")
]
MaxSteps = Annotated[int | None, Option("--max-steps", metavar="N", help="At most so many steps, all in all.")]
Limits = Annotated[
    list[str] | None,
    Option("--limit", metavar="NAME=N", help="Another limit of the agent file, such as max_tool_calls=80."),
]
MaxCost = Annotated[float | None, Option("--max-cost", metavar="USD", help="At most so many US dollars, all in all.")]
Attach = Annotated[
    list[str] | None, Option("--attach", "-a", metavar="FILE", help="An image, PDF or text beside the input.")
]
OnDrift = Annotated[
    str | None,
    Option("--on-drift", metavar="|".join(DRIFT), help="What a changed agent means for an unfinished run."),
]
DeleteOnSuccess = Annotated[
    bool, Option("--delete-on-success", help="Drop the run's checkpoint once it is in its session.")
]
Timeout = Annotated[
    float | None, Option("--timeout", metavar="S", help="Stop after so many seconds; the run can be resumed.")
]


@dataclass(slots=True, kw_only=True)
class Job:
    """One run to execute. ``variables`` and ``model`` are what holds for it: given now, else saved with it."""

    input: str = ""
    steer: str | None = None
    parts: list[dict[str, Any]] = field(default_factory=list)
    session_id: str | None = None
    run_id: str | None = None
    if_run_exists: IfRunExists = "resume"
    variables: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    on_drift: Literal["warn", "error", "ignore"] | None = None
    delete_on_success: bool = False

    def said(self, text: str | None) -> str | list[InputEntry]:
        """``text`` with the attachments beside it."""
        return [InputEntry(text=text or "", parts=self.parts)] if self.parts else text or ""


async def carry_out(call: Call, stores: Stores, job: Job, agent_file: Path) -> RunAnswer:
    """Execute the job with the agent of ``agent_file``, under our signal handlers."""
    from lovia_cli.cli.resuming import command_after, command_that_goes_on
    from lovia_cli.cli.signals import signals_stop
    from lovia_cli.engine.options import StopSwitch
    from lovia_cli.engine.runner import Runner
    from lovia_cli.wiring import load_agent

    agent = load_agent(agent_file, variables=job.variables, model=job.model, learn=call.secrets.learn)
    stop = StopSwitch()
    with signals_stop(stop, call.departure):
        order = order_of(job, stores, agent_file)
        result = await Runner.outcome(agent, **order, on_event=call.watch, learn=call.secrets.learn, stop=stop)
    return RunAnswer(
        store=str(stores.location),
        result=result,
        agent=agent.name,
        go_on=await command_that_goes_on(result, stores),
        next=await command_after(result, stores),
    )


async def is_answered(stores: Stores, job: Job) -> bool:
    """True when the job's run is completed, and asking for it again means its stored answer (R4)."""
    if job.run_id is None or job.if_run_exists not in ("resume", "resume_only"):
        return False
    info = await stores.runs.info(job.run_id)
    if info is None and job.session_id is not None:
        return await stores.sessions.has_segment(job.session_id, job.run_id)
    return info is not None and info.status == Status.COMPLETED


async def replay(call: Call, stores: Stores, job: Job) -> RunAnswer:
    """The stored answer of a completed run, without its agent: that may have changed, or be gone (R6, Z6)."""
    from lovia_cli.cli.resuming import command_after
    from lovia_cli.engine.options import CheckpointOptions
    from lovia_cli.engine.runner import Runner

    assert job.run_id is not None
    result = await Runner.replay(
        job.run_id,
        job.said(job.input),
        checkpointer=stores.runs,
        checkpoint=CheckpointOptions(stores.runs, job.run_id, delete_on_success=job.delete_on_success),
        session=stores.sessions,
        session_id=job.session_id,
        on_event=call.watch,
        learn=call.secrets.learn,
    )
    return RunAnswer(
        store=str(stores.location), result=result, agent=result.final_agent, next=await command_after(result, stores)
    )


def order_of(job: Job, stores: Stores, agent_file: Path) -> dict[str, Any]:
    """The job as the arguments of a `Runner`."""
    from lovia_cli.engine.options import CheckpointOptions

    return {
        "input": job.said(job.input) if job.steer is None else job.input,
        "session": stores.sessions if (job.session_id or job.run_id) is not None else None,
        "session_id": job.session_id,
        "checkpoint": CheckpointOptions(
            stores.runs,
            run_id=job.run_id,
            if_run_exists=job.if_run_exists,
            delete_on_success=job.delete_on_success,
        ),
        "steer": job.said(job.steer) if job.steer is not None else None,
        "results": stores.archive if job.session_id is not None else None,
        "on_drift": job.on_drift,
        "variables": job.variables,
        "limits": job.limits,
        "timeout": job.timeout,
        "config": {"agent_file": str(agent_file), "model": job.model},
    }


def variables_given(pairs: list[str] | None) -> dict[str, Any]:
    """``K=V`` as a mapping; the value is text, which the agent file's parameter types."""
    return dict(_pair(pair, "--var") for pair in pairs or ())


def limits_given(max_steps: int | None, max_cost: float | None, pairs: list[str] | None) -> dict[str, Any]:
    """The limits that are overridden now, by name."""
    limits = dict(_limit(*_pair(pair, "--limit")) for pair in pairs or ())
    for option, name, value in (("--max-steps", "max_steps", max_steps), ("--max-cost", "max_cost_usd", max_cost)):
        if value is not None:
            limits.update([_limit(name, str(value), f"{option} 100")])
    return limits


def drift_given(policy: str | None) -> Literal["warn", "error", "ignore"] | None:
    """``--on-drift``, checked."""
    if policy is not None and policy not in DRIFT:
        raise UserError(f"unknown --on-drift {policy!r}", hint="use one of: " + ", ".join(DRIFT))
    return cast('Literal["warn", "error", "ignore"] | None', policy)


def parts_given(files: list[str] | None) -> list[dict[str, Any]]:
    """``--attach``: the files as parts of the input."""
    if not files:
        return []
    from lovia_cli.cli.attachments import attachments

    return attachments(files)


def _limit(name: str, text: str, example: str = "") -> tuple[str, Any]:
    """One limit, checked: a known name, and a number above 0. ``example`` is how its option is written."""
    known = [field.name for field in fields(AgentLimits)]
    hint = "write: " + (example or f"--limit {name}=100")
    if name not in known:
        raise UserError(f"unknown limit {name!r}", where="--limit", hint="known limits: " + ", ".join(known))
    try:
        number = float(text) if name in ("max_seconds", "max_cost_usd") else int(text)
    except ValueError:
        raise UserError(f"the limit {name} is no number: {text!r}", hint=hint) from None
    if not 0 < number < float("inf"):
        raise UserError(f"the limit {name} must be a number above 0, not {text}", hint=hint)
    return name, number


def timeout_given(seconds: float | None) -> float | None:
    """``--timeout``, checked."""
    if seconds is not None and not 0 < seconds < float("inf"):
        raise UserError("--timeout must be a number of seconds above 0", hint="write: --timeout 60")
    return seconds


def model_given(models: list[str] | None) -> str | None:
    """``--model``; the last one wins. A script named from here means the same from anywhere later."""
    from lovia_cli.wiring import absolute_model

    return absolute_model(models[-1], Path.cwd()) if models else None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"{option} wants NAME=VALUE, not {text!r}", hint=f"write: {option} NAME=VALUE")
    return name, value
