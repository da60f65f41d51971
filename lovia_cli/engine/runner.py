"""The engine's face: run an agent, end a run, stop a run. Each method loads what it needs when it is called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from lovia_cli.agent import Agent, Limits
from lovia_cli.engine.options import CheckpointOptions, RunResult, StopSwitch
from lovia_cli.engine.order import RunOrder
from lovia_cli.errors import ConflictError, ProviderError, RunNotFoundError, UserError
from lovia_cli.models.base import Delta, ModelRequest
from stores.entries import JSON
from stores.lines import Owner
from stores.protocols import Checkpointer, ResultStore, RunIndex, Session
from stores.records import Status

if TYPE_CHECKING:
    from lovia_cli.engine.events import Sink
    from lovia_cli.engine.forking import Forked
    from lovia_cli.engine.inputs import Input
    from lovia_cli.engine.patching import Patch
    from lovia_cli.engine.preview import Preview
    from lovia_cli.engine.retracing import Retrace

__all__ = ["CheckpointOptions", "RunOptions", "RunResult", "Runner", "StopSwitch"]

_CANCEL_POLL_SECONDS = 0.1


class RunOptions(TypedDict, total=False):
    """What a run may be given beside its agent and input; None is as good as leaving it out.

    With ``session`` and ``session_id`` the run starts from the session's history and becomes its next segment. With
    ``checkpoint`` every step is saved under its run id, and the same call again continues or replays it (R4);
    without a run id, an unfinished run of the session is taken up, with the input queued to it (K2). ``steer`` is new
    input for an unfinished run that is continued by its id. With ``results`` the model can ask for tool outputs that
    were archived when they were cut (M2). ``limits`` override the agent's and the saved ones by
    name (`lovia_cli.agent.Limits`; of such an object, those that are no default); ``timeout`` bounds this call, in
    seconds; ``deps`` goes to the tools and is never stored. ``variables`` and ``config`` are saved with the run (Z8).
    ``on_drift`` overrides the agent's answer to having changed since an unfinished run was saved (Z7).
    ``on_event`` is told what happens; ``learn``, before all of that, the names of the environment variables that the
    agent and the session's runs were made with, for their tools may have quoted what those hold. ``stop`` stops the run
    from outside.
    """

    session: Session | None
    session_id: str | None
    checkpoint: CheckpointOptions | None
    steer: Input | None
    results: ResultStore | None
    deps: Any
    variables: dict[str, Any] | None
    limits: Limits | dict[str, Any] | None
    timeout: float | None
    config: dict[str, JSON] | None
    on_drift: Literal["warn", "error", "ignore"] | None
    on_event: Sink | None
    learn: Callable[[Iterable[str]], None] | None
    stop: StopSwitch | None


class NoModel:
    """The model of a replay: nobody asks it."""

    id = ""

    def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        raise ProviderError(f"run {request.run_id!r} was only to be replayed")


class Runner:
    """Runs agents. All methods are static: what a run is lives in the stores."""

    @staticmethod
    async def run(agent: Agent, input: Input = "", **options: Unpack[RunOptions]) -> RunResult:
        """Run ``agent`` on ``input`` to its end and return the result; raise what stopped it before (R3).

        Raises `UserError` and its kinds for an order that cannot be, `RunLockedError` (R11), `StoreError`, and the
        error the run ended with.
        """
        return (await Runner.outcome(agent, input, **options)).raise_for_status()

    @staticmethod
    async def outcome(agent: Agent, input: Input = "", **options: Unpack[RunOptions]) -> RunResult:
        """As `run`, but the run's own end is returned, not raised: ``status``, ``stop`` and ``error`` tell.

        What refuses the order before the run goes on is raised here too.
        """
        from lovia_cli.engine.execution import Execution

        return await Execution(_order(agent, input, options)).go()

    @staticmethod
    async def resume(
        agent: Agent, run_id: str | None = None, *, checkpointer: Checkpointer, **options: Unpack[RunOptions]
    ) -> RunResult | None:
        """Go on with an unfinished run, without new input: ``run_id``, or else the one of ``session_id`` (K2, K6).

        None when nothing is left to do: the run is completed, or the session has no unfinished one. Raises as `run`
        does, and `RunNotFoundError` for a run id that is not stored.
        """
        from lovia_cli.engine.opening import unfinished_run

        if run_id is None:
            run_id = await unfinished_run(checkpointer, options.get("session_id"))
        elif (stored := await checkpointer.load(run_id)) and stored.status == Status.COMPLETED:
            run_id = None
        if run_id is None:
            return None
        given: dict[str, Any] = {**options, "checkpoint": CheckpointOptions(checkpointer, run_id, "resume_only")}
        return await Runner.run(agent, **given)

    @staticmethod
    async def preview(agent: Agent, input: Input = "", **options: Unpack[RunOptions]) -> Preview:
        """What `run` would do with the same arguments; raises what would refuse them.

        Nothing is written, no lease is taken, no model is asked, no tool runs.
        """
        from lovia_cli.engine.preview import preview

        return await preview(_order(agent, input, options))

    @staticmethod
    async def replay(
        run_id: str, input: Input = "", *, checkpointer: Checkpointer, **options: Unpack[RunOptions]
    ) -> RunResult:
        """The stored result of a completed run again (R6), without its agent, which may be gone by now.

        Raises `RunNotFoundError`, and `ConflictError` for a run that is not completed.
        """
        from lovia_cli.engine.execution import Execution

        given = _given(options)
        given["checkpoint"] = given.get("checkpoint") or CheckpointOptions(checkpointer, run_id, "resume_only")
        order = RunOrder(agent=Agent(name="replay", model=NoModel()), input=input, replay_only=True, **given)
        return await Execution(order).go()

    @staticmethod
    async def retrace(
        agent: Agent,
        run_id: str,
        *,
        checkpointer: Checkpointer,
        session: Session | None = None,
        session_id: str | None = None,
    ) -> Retrace:
        """Drive a changed agent offline along a recorded run, and report every point where it does not fit (H5).

        Nothing is written, no model is asked, no tool runs. ``session`` and ``session_id`` are for a run whose
        checkpoint is gone. Raises `RunNotFoundError`.
        """
        from lovia_cli.engine.recording import recording_of
        from lovia_cli.engine.retracing import retrace

        return retrace(agent, await recording_of(run_id, checkpointer, session, session_id))

    @staticmethod
    async def fork(
        run_id: str,
        *,
        checkpointer: Checkpointer,
        from_step: int | None = None,
        from_save: int | None = None,
        patch: Patch | None = None,
        new_id: str | None = None,
        session: Session | None = None,
    ) -> Forked:
        """Begin a new run where ``run_id`` stood: at the newest save of ``from_step``, or at ``from_save`` (H2).

        The source, which is shared and not copied, is left as it is. The new run has ``new_id``, or else
        ``RUN_ID.fork-N`` with the first N that no run, kept history or session has; it is interrupted, and goes on
        with `resume`. A run of a session needs ``session``, its store: the fork gets a session of its own, under its
        own id, which begins with what the source started from (H3). Raises `CheckpointNotFoundError`, which lists
        the steps kept, `RunNotFoundError`, `RunExistsError` for a ``new_id`` that is taken, and what a patch refuses.
        """
        from lovia_cli.engine.forking import fork_run
        from lovia_cli.engine.patching import Patch

        return await fork_run(
            run_id,
            from_step=from_step,
            from_save=from_save,
            patch=patch or Patch(),
            new_id=new_id,
            store=checkpointer,
            session=session,
        )

    @staticmethod
    async def finalize(run_id: str, *, checkpointer: Checkpointer, session: Session | None = None) -> RunResult:
        """End an unfinished run as it stands (S6): see `lovia_cli.engine.finalizing.finalize_run`."""
        from lovia_cli.engine.finalizing import finalize_run

        return await finalize_run(run_id, checkpointer, session)

    @staticmethod
    async def cancel(run_id: str, *, checkpointer: Checkpointer, wait: float = 10.0) -> bool:
        """Ask the run's owner to stop, and wait up to ``wait`` seconds until it has (Z9).

        True when it stopped, False when nobody executes the run (which is left as it is). Raises `RunNotFoundError`,
        and `ConflictError` when the owner still executes it after ``wait``.
        """
        owner = await checkpointer.request_cancel(run_id)
        if owner is None:
            if await checkpointer.load(run_id) is None:
                raise RunNotFoundError(f"no run {run_id!r}", hint="see what there is: lovia history")
            return False
        for _ in range(max(1, round(wait / _CANCEL_POLL_SECONDS))):
            if await _owner(checkpointer, run_id) != owner:
                return True
            await asyncio.sleep(_CANCEL_POLL_SECONDS)
        raise ConflictError(
            f"run {run_id!r} is still executed by process {owner.pid} on {owner.host} after {wait:g} s",
            hint="it was asked to stop; look again, or stop that process",
        )


def _order(agent: Agent, input: Input, options: RunOptions) -> RunOrder:
    return RunOrder(agent=agent, input=input, **_given(options))


def _given(options: RunOptions) -> dict[str, Any]:
    """The options that are given; of limits by name."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    limits = given.get("limits", {})
    if isinstance(limits, Limits):
        default = asdict(Limits())
        given["limits"] = {name: value for name, value in asdict(limits).items() if value != default[name]}
    elif not isinstance(limits, dict):
        raise UserError(f"limits are no {type(limits).__name__}", hint='give them by name, such as {"max_steps": 5}')
    return given


async def _owner(checkpointer: Checkpointer, run_id: str) -> Owner | None:
    """Who executes the run now. A store without an index tells it when it is asked to cancel again."""
    if isinstance(checkpointer, RunIndex):
        info = await checkpointer.info(run_id)
        return info.owner if info else None
    return await checkpointer.request_cancel(run_id)
