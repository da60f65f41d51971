"""``lovia run --dry-run``: which case an order is, with nothing written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lovia_cli import exits
from lovia_cli.cli.answers import Answer, RunAnswer, Told
from lovia_cli.cli.execute import Job, order_of
from lovia_cli.cli.options import Call
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, check_model, check_writable, load_agent

if TYPE_CHECKING:
    from lovia_cli.agent import Agent
    from lovia_cli.engine.preview import Preview


@dataclass(slots=True, frozen=True)
class _Trial:
    """One dry run: what was asked, and what it would come to."""

    job: Job
    agent: Agent
    agent_file: Path | None
    stores: Stores
    found: Preview
    talk: bool = False
    """True for a conversation: then ``found`` is what its first message would do."""
    lines: list[str] = field(default_factory=list)


async def foresee(call: Call, stores: Stores, job: Job, agent_file: Path | None, *, talk: bool = False) -> Answer:
    """Check agent, variables, model and store, and say which case the job is. Raises what would refuse it.

    Without an ``agent_file`` the run is one to be replayed, which takes no agent.
    """
    from lovia_cli.agent import Agent
    from lovia_cli.engine.runner import NoModel, Runner

    replayed = Agent(name="replay", model=NoModel())
    options: dict[str, Any] = {"variables": job.variables, "model": job.model, "learn": call.secrets.learn}
    agent = load_agent(agent_file, **options) if agent_file else replayed
    found = await Runner.preview(agent, **order_of(job, stores, agent_file or Path()))
    call.run_id, call.session_id = found.run_id, found.session_id
    if found.case != "replay":  # which a store that takes no write does as well
        check_writable(stores.location)
        found.warnings.extend(await check_model(agent.model))
    trial = _Trial(job, agent, agent_file, stores, found, talk)
    return await _stopped(trial) if found.limit else _told(trial)


async def _stopped(trial: _Trial) -> Answer:
    """A run whose limit is used up would stop at once."""
    from lovia_cli.cli.resuming import command_that_goes_on
    from lovia_cli.engine.results import result_of

    found = trial.found
    assert found.stored is not None
    result = result_of(found.stored, [], trial.agent.model.id)
    return RunAnswer(
        store=str(trial.stores.location),
        error=found.limit,
        run_id=found.run_id,
        session_id=found.session_id,
        agent=trial.agent.name,
        go_on=await command_that_goes_on(result, trial.stores),
        is_run=False,
    )


def _told(trial: _Trial) -> Told:
    found, location = trial.found, trial.stores.location
    agent, model = trial.agent.name if trial.agent_file else "", trial.agent.model.id
    lines = [
        _sentence(trial),
        *(f"would end run {run_id} first, as it stands" for run_id in found.finalised),
        *(f"warning: {text}" for text in found.warnings),
        *([f"agent {agent} ({trial.agent_file}), model {model}"] if trial.agent_file else []),
        f"store {location}" + ("" if location.exists else ", which would be made"),
    ]
    head = found.stored.head if found.stored else None
    data = {
        "dry_run": True,
        "case": found.case,
        "run_id": found.run_id,
        "session_id": found.session_id,
        "status": head.status if head else None,
        "steps": head.steps if head else 0,
        "input": found.input,
        "open_calls": found.open_calls,
        "history": found.history,
        "discards": found.discards,
        "finalizes": found.finalised,
        "warnings": found.warnings,
        "agent": agent or None,
        "agent_file": str(trial.agent_file) if trial.agent_file else None,
        "model": model or None,
        "store": str(location),
        "store_exists": location.exists,
    }
    return Told(message="\n".join(lines), data=data, exit_code=exits.Exit.OK)


def _sentence(trial: _Trial) -> str:
    """The case in words."""
    found = trial.found
    would = "would begin a conversation; its first message would" if trial.talk else "would"
    where = f" in session {found.session_id}" if found.session_id is not None else ""
    if found.case == "start":
        over = ", and discard the stored one" if found.discards else ""
        which = f"run {found.run_id}" if found.run_id else "a new run"
        after = f", after {counted(found.history, 'finished run')}" if found.session_id is not None else ""
        return f"{would} start {which}{where}{after}{over}"
    assert found.stored is not None
    head = found.stored.head
    if found.case == "replay":
        ignored = "; the input would be ignored: the run has its own" if found.input == "ignored" else ""
        return f"{would} replay run {found.run_id}{where}, completed in {counted(head.steps, 'step')}{ignored}"
    calls = f", {counted(found.open_calls, 'open call')} first" if found.open_calls else ""
    said = {
        "queued": "; the input would be said to it",
        "repeated": "; it knows the input already",
        "ignored": "; the input would be ignored: the run has its own",
    }.get(found.input, "")
    status = "interrupted" if head.status == "running" else head.status
    return f"{would} continue run {found.run_id}{where}, {status} after step {head.steps}{calls}{said}"
