"""Finding the run that an order means: a new one, one that goes on, or one to replay (R4, K1 to K6).

All of it happens under the run's lease and, where a session has a say, under the session's lock, and a new
run's first save is written there too: choice and creation are one.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Literal

from lovia_cli.engine import decisions
from lovia_cli.engine.conversation import Conversation
from lovia_cli.engine.decisions import Notice
from lovia_cli.engine.drift import fingerprint
from lovia_cli.engine.inputs import new_inputs
from lovia_cli.engine.journal import Journal
from lovia_cli.engine.limits import limits_in_force, refuse_unpriced
from lovia_cli.engine.options import CheckpointOptions
from lovia_cli.engine.order import RunOrder
from lovia_cli.environment import with_names
from lovia_cli.errors import RunLockedError, UserError
from stores.closing import snapshot_of_segment
from stores.entries import InputEntry
from stores.errors import StoreError
from stores.ids import new_id
from stores.lines import RunInfo
from stores.protocols import Checkpointer, History, RunIndex, RunLease
from stores.records import RunSnapshot, Status, head_to_json


@dataclass(slots=True, kw_only=True)
class Opened:
    """The run that an order means. ``inputs`` are new ones for a run that goes on."""

    mode: Literal["fresh", "resume", "replay"]
    journal: Journal
    lease: RunLease | None
    conversation: Conversation
    inputs: list[InputEntry] = field(default_factory=list)
    input_ignored: bool = False
    notices: list[Notice] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Heal:
    """These completed runs may not be in their session yet: append them, then open again."""

    run_ids: list[str]


@dataclass(slots=True, frozen=True)
class Finalise:
    """This run of the session is to be ended first (K2); then open again."""

    run_id: str


Found = Opened | Heal | Finalise


async def open_run(order: RunOrder, held: AsyncExitStack) -> Found:
    """The run that ``order`` means, its lease put into ``held``; or what has to be done before it can be said."""
    checkpoint = order.checkpoint
    if checkpoint is None:
        return await _create(order, new_id(), None, order.session_id)
    if order.run_id is not None:
        return await _by_run_id(order, checkpoint, order.run_id, held)
    if order.session_id is not None and isinstance(checkpoint.store, RunIndex):
        return await _by_session(order, checkpoint.store, checkpoint.store, order.session_id, held)
    return await _beside(order, checkpoint.store, new_id(), held, order.session_id)


async def _by_run_id(order: RunOrder, checkpoint: CheckpointOptions, run_id: str, held: AsyncExitStack) -> Found:
    try:
        lease = await held.enter_async_context(checkpoint.store.lease(run_id))
        stored = await lease.load()
    except (StoreError, RunLockedError) as error:
        if order.replay_only:
            return await _to_replay(order, checkpoint, run_id, is_executed=isinstance(error, RunLockedError))
        raise
    session_id = decisions.session_of(order, run_id, checkpoint.resume_from or stored)
    conversation = Conversation(order.session, session_id)
    await _begin_fork(order, checkpoint.store, session_id)
    segment = await conversation.segment(run_id)
    decisions.refuse_truncated(run_id, session_id, segment)
    decisions.refuse_lost_restart(run_id, segment, checkpoint.if_run_exists)
    if checkpoint.resume_from is not None:
        stored = await _rehydrate(run_id, checkpoint.resume_from, stored, lease, checkpoint)
        await conversation.load()
        return _go_on(order, stored, lease, conversation)
    if stored is None and segment is not None and session_id is not None:
        stored = snapshot_of_segment(segment, session_id)
    policy = "resume_only" if order.replay_only else checkpoint.if_run_exists
    if not decisions.exists(run_id, stored, policy) or stored is None:
        replaces = stored is None and await _has_history(checkpoint.store, run_id)
        found = await _beside(order, checkpoint.store, run_id, held, session_id, lease)
        if replaces and isinstance(found, Opened):
            found.notices.append(decisions.HISTORY_REPLACED)
        return found
    await conversation.load()
    return _go_on(order, stored, lease, conversation)


async def _has_history(store: Checkpointer, run_id: str) -> bool:
    """True when a deleted run of that id has left its history; one that cannot be read keeps no run from beginning."""
    with suppress(StoreError):
        return isinstance(store, History) and bool(await store.history(run_id, limit=1))
    return False


async def _to_replay(order: RunOrder, checkpoint: CheckpointOptions, run_id: str, *, is_executed: bool) -> Opened:
    """A run that can be read though its lease is not to be had: the store takes no write, or another has it (R6).

    With the lease, what a crash left half done is put right on the way.
    """
    stored = await checkpoint.store.load(run_id)
    session_id = decisions.session_of(order, run_id, stored)
    conversation = Conversation(order.session, session_id)
    segment = await conversation.segment(run_id)
    decisions.refuse_truncated(run_id, session_id, segment)
    if stored is None and segment is not None and session_id is not None:
        stored = snapshot_of_segment(segment, session_id)
    decisions.exists(run_id, stored, "resume_only")
    assert stored is not None
    if is_executed and stored.status != Status.COMPLETED:
        decisions.refuse_replay(stored, is_executed=True)
    await conversation.load()
    return _go_on(order, stored, None, conversation)


async def _rehydrate(
    run_id: str, given: RunSnapshot, stored: RunSnapshot | None, lease: RunLease, checkpoint: CheckpointOptions
) -> RunSnapshot:
    """Save the caller's snapshot first, whole, as save 1 of the run (R8). Approvals and grants do not follow (A5)."""
    if stored is not None and checkpoint.if_run_exists != "restart":
        decisions.refuse_stored_run(run_id)
    if not given.entries:
        raise UserError("the snapshot to resume from has no entries", hint="take one that a store has loaded")
    left_out = {"save", "steps", "updated_at", "approvals", "grants"}
    head = {name: value for name, value in head_to_json(given.head).items() if name not in left_out}
    journal = Journal(run_id, lease, None)
    await journal.record("imported", *given.entries, step=given.head.steps, **head)
    return journal.snapshot()


def _go_on(order: RunOrder, stored: RunSnapshot, lease: RunLease | None, conversation: Conversation) -> Opened:
    """Continue or replay under a run id: the input is ignored (R5), a steering one is queued (K2)."""
    decisions.refuse_delete_without_session(order, conversation)
    done = stored.status == Status.COMPLETED
    if order.replay_only and not done:
        decisions.refuse_replay(stored, is_executed=False)
    if order.steer and done:
        decisions.refuse_input_when_completed(stored)
    said = new_inputs(order.steer, ())
    inputs = decisions.steering(said, stored)
    return Opened(
        mode="replay" if done else "resume",
        journal=Journal(stored.run_id, lease, stored),
        lease=lease,
        conversation=conversation,
        inputs=inputs,
        notices=[decisions.REPEATED] if said and not inputs else [],
        input_ignored=decisions.ignored(order, stored, conversation),
    )


async def _by_session(
    order: RunOrder, store: Checkpointer, index: RunIndex, session_id: str, held: AsyncExitStack
) -> Found:
    await _begin_fork(order, store, session_id)
    async with index.open_runs(session_id) as runs:
        if done := to_heal(runs):
            return Heal(done)
        chosen = decisions.choose(runs)
        if chosen is None:
            run_id = new_id()
            opened = await _create(order, run_id, await held.enter_async_context(store.lease(run_id)), session_id)
            opened.notices += decisions.beside(runs, run_id)
            return opened
        lease = await held.enter_async_context(store.lease(chosen.run_id))
        stored = await lease.load()
        if stored is None or stored.status == Status.COMPLETED:
            return Heal([chosen.run_id])
        found = await _take_up(order, stored, lease)
        if isinstance(found, Opened):
            found.notices.append(("continues", f"continues run {chosen.run_id} ({chosen.status})"))
            found.notices += decisions.beside(runs, chosen.run_id)
        return found


async def _take_up(order: RunOrder, stored: RunSnapshot, lease: RunLease) -> Opened | Finalise:
    """The session's unfinished run goes on, with new input queued unless it is a retry (K2)."""
    decisions.refuse_other_agent(order, stored)
    conversation = Conversation(order.session, order.session_id)
    await conversation.load()
    given = new_inputs(order.input, [*conversation.entries(), *stored.entries])
    inputs = decisions.steering(given, stored)
    if inputs and decisions.used_up(order, stored.head):
        return Finalise(stored.run_id)
    repeated = [decisions.REPEATED] if given and not inputs else []
    return Opened(
        mode="resume",
        journal=Journal(stored.run_id, lease, stored),
        lease=lease,
        conversation=conversation,
        inputs=inputs,
        notices=repeated,
    )


async def unfinished_run(store: Checkpointer, session_id: str | None) -> str | None:
    """The session's unfinished run, of several the one updated last (K6); None when there is none."""
    if session_id is None:
        raise UserError("nothing says which run is to go on", hint="name the run, or its session: session_id=")
    if not isinstance(store, RunIndex):
        raise UserError("this store does not list its runs, so it cannot find a session's", hint="name the run itself")
    async with store.open_runs(session_id) as runs:
        chosen = decisions.choose([run for run in runs if run.status != Status.COMPLETED])
    return chosen.run_id if chosen else None


async def _begin_fork(order: RunOrder, store: Checkpointer, session_id: str | None) -> None:
    """Let a fork's own session begin, where a crash came in between: it has the id of its run (H3)."""
    if session_id is not None and isinstance(store, RunIndex) and (run := await store.info(session_id)):
        await Conversation(order.session, run.session_id).begin_fork(session_id, run.parent)


def to_heal(runs: list[RunInfo]) -> list[str]:
    """Completed runs that nobody executes and whose segment may be missing, in the order in which they were said."""
    done = [run for run in runs if run.status == Status.COMPLETED and run.owner is None and run.damage is None]
    return [run.run_id for run in sorted(done, key=lambda run: run.updated_at or 0.0)]


async def _beside(
    order: RunOrder,
    store: Checkpointer,
    run_id: str,
    held: AsyncExitStack,
    session_id: str | None,
    lease: RunLease | None = None,
) -> Found:
    """A new run; in a session, begun under the session's lock, beside whatever is unfinished there (K6)."""
    if session_id is None or not isinstance(store, RunIndex):
        return await _create(order, run_id, lease or await held.enter_async_context(store.lease(run_id)), session_id)
    await _begin_fork(order, store, session_id)
    async with store.open_runs(session_id) as runs:
        if done := [other for other in to_heal(runs) if other != run_id]:
            return Heal(done)
        lease = lease or await held.enter_async_context(store.lease(run_id))
        opened = await _create(order, run_id, lease, session_id)
        opened.notices += decisions.beside(runs, run_id)
        return opened


async def _create(order: RunOrder, run_id: str, lease: RunLease | None, session_id: str | None) -> Opened:
    """Write save 1 of a new run: its input, before its id is told to anybody (R1)."""
    conversation = Conversation(order.session, session_id)
    await conversation.load()
    decisions.refuse_delete_without_session(order, conversation)
    inputs, notices = decisions.fresh_inputs(order, conversation)
    limits = limits_in_force(order.agent.limits, {}, order.limits)
    refuse_unpriced(order.agent.model, limits)
    journal = Journal(run_id, lease, None)
    await journal.record(
        "started",
        *inputs,
        agent=order.agent.name,
        status=Status.RUNNING,
        session_id=conversation.session_id,
        history_upto=conversation.last_run,
        started_at=time.time(),
        limits=limits,
        config=with_names(
            {"variables": order.variables, **order.config}, [*order.agent.environment, *conversation.environment()]
        ),
        fingerprint=fingerprint(order.agent, order.variables),
        history_limit=order.agent.history_limit,
    )
    return Opened(mode="fresh", journal=journal, lease=lease, conversation=conversation, notices=notices)
