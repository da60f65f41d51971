"""``lovia replay``: the stored result of a run again, or a changed agent driven along it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lovia_cli.cli.agents import Saved, existing
from lovia_cli.cli.answers import Answer
from lovia_cli.cli.driving import drive
from lovia_cli.cli.execute import Job
from lovia_cli.cli.execute import replay as replayed
from lovia_cli.cli.ids import run_meant, split
from lovia_cli.cli.naming import Last, RunName, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.cli.retraced import Retraced
from lovia_cli.exits import Exit
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, open_stores

if TYPE_CHECKING:
    from lovia_cli.engine.retracing import Difference, Retrace


def replay(
    call: Call,
    name: RunName = None,
    last: Last = False,
    agent: Annotated[
        str | None, Option("--agent", metavar="FILE", help="A changed agent, to be driven along the recording.")
    ] = None,
) -> Answer:
    """Print the stored result of a completed run, without model and tools.

    With --agent, drive that agent offline along any recorded run: every point is reported where its request, its
    validation of arguments, its limits or its output differ from the recording (exit code 9), and the first call
    that has no recorded result. Nothing is written, and what a model would have answered is not guessed at.
    """
    name = named(name, last)
    kind, run_id = split(name) if name is not None else ("run", None)
    if agent is not None:
        call.is_dry = True
        return drive(_retrace(call, name, agent))
    call.executes(run_id if kind != "session" else None, None)
    return drive(_replay(call, name))


COMMAND = replay


async def _replay(call: Call, name: str | None) -> Answer:
    stores = open_stores(call.settings.store)
    meant = await run_meant(stores, name)
    call.executes(meant.run_id, meant.session_id)
    return await replayed(call, stores, Job(run_id=meant.run_id, session_id=meant.session_id))


async def _retrace(call: Call, name: str | None, file: str) -> Answer:
    from lovia_cli.engine.runner import Runner
    from lovia_cli.wiring import load_agent

    stores = open_stores(call.settings.store)
    meant = await run_meant(stores, name)
    call.run_id, call.session_id = meant.run_id, meant.session_id
    call.secrets.learn_from(meant.config)
    saved = Saved.of(meant.config)
    call.streams.take()  # the tools' modules may print while they are imported
    agent = load_agent(
        existing(Path(file), "--agent", "check the path"),
        variables=saved.variables,
        model=saved.model,
        is_offline=True,
        learn=call.secrets.learn,
    )
    found = await Runner.retrace(
        agent, meant.run_id, checkpointer=stores.runs, session=stores.sessions, session_id=meant.session_id
    )
    answer = _answer(stores, found)
    for note in answer.data["notes"]:
        call.note(note)
    return answer


def _answer(stores: Stores, found: Retrace) -> Retraced:
    code = Exit.DIFFERS if found.differences else Exit.OK
    without = found.without_result
    data: dict[str, Any] = {
        "store": str(stores.location),
        "run_id": found.run_id,
        "session_id": found.session_id,
        "agent": found.agent,
        "status": found.status,
        "steps": found.steps,
        "diverged_at": found.diverged_at,
        "without_result": {"step": without.step, "position": without.position, "id": without.id, "name": without.name}
        if without
        else None,
        "notes": list(_notes(found)),
    }
    return Retraced(
        summary=_summary(found), findings=[_finding(one) for one in found.differences], data=data, exit_code=code
    )


def _finding(one: Difference) -> dict[str, Any]:
    steps = f"step {one.step}" if one.until == one.step else f"steps {one.step}-{one.until}"
    return {"where": f"{steps}, {one.part}", **asdict(one)}


def _notes(found: Retrace) -> list[str]:
    notes = []
    if found.recorded_agent != found.agent:
        notes.append(f"the run is one of agent {found.recorded_agent!r}, not of {found.agent!r}")
    if found.model is not None:
        notes.append(f"the model was {found.model[0]} and is {found.model[1]}; the recorded responses are played")
    if not found.has_fingerprint:
        notes.append("nothing is recorded of the requests, so only calls and output are compared")
    if found.status != "completed":
        notes.append(f"the recording ends after step {found.steps}: the run is {found.status}")
    return notes


def _summary(found: Retrace) -> str:
    count = len(found.differences)
    steps = counted(found.steps, "step")
    if not count:
        return f"{steps} retraced: nothing differs"
    told = f"{counted(count, 'difference')} in {steps}, the first at step {found.diverged_at}"
    if (call := found.without_result) is not None:
        told += f"; the first call without a recorded result is {call.step}.{call.position} {call.name}"
    return told
