"""Ending a run without executing it: finalize (S6), and healing what a crash left between two stores (R7)."""

from __future__ import annotations

from lovia_cli.engine.conversation import Conversation
from lovia_cli.engine.journal import Journal
from lovia_cli.engine.options import RunResult
from lovia_cli.engine.results import result_of
from lovia_cli.errors import RunLockedError, RunNotFoundError, SegmentDiffersError, UserError
from stores.closing import last_text
from stores.protocols import Checkpointer, RunIndex, Session
from stores.records import RunSnapshot, Status
from stores.surgery import cancelled


async def finalize_run(run_id: str, store: Checkpointer, session: Session | None) -> RunResult:
    """Record ``cancelled`` for every call without a result, append the segment, complete the run (S6).

    Its output is its last text, its finish reason ``finalized``. A completed run is left as it is, its segment
    appended if it is missing: twice is fine. A run being executed is refused with `RunLockedError`.
    """
    async with store.lease(run_id) as lease:
        stored = await lease.load()
        if stored is None:
            raise RunNotFoundError(f"no run {run_id!r}", hint="see what there is: lovia history")
        conversation = _conversation(stored, session)
        await conversation.begin_fork(run_id, stored.head.parent)
        await conversation.load()
        journal = Journal(run_id, lease, stored)
        if stored.status != Status.COMPLETED:
            await _complete(journal)
        await settle(journal.snapshot(), conversation, store)
        result = result_of(journal.snapshot(), conversation.entries(), "")
        result.replayed = stored.status == Status.COMPLETED
        return result


async def _complete(journal: Journal) -> None:
    results = [cancelled(call) for call in journal.pending()]
    await journal.record(
        "finalized",
        *results,
        *journal.placed(journal.queued()),
        queued_input=[],
        status=Status.COMPLETED,
        output=last_text(journal.entries),
        finish_reason="finalized",
        stop=None,
        error=None,
        stopped_calls=[],
        started_calls=[],
    )


async def heal(run_id: str, store: Checkpointer, session: Session | None) -> list[str]:
    """Append a completed run whose segment may be missing, and let the store forget the open end (R7).

    Returns what there is to say of it. A run that somebody executes is left to its owner.
    """
    try:
        async with store.lease(run_id) as lease:
            stored = await lease.load()
            if stored is None or stored.status == Status.COMPLETED:
                await _heal(run_id, stored, store, session)
    except RunLockedError:
        return []
    except SegmentDiffersError as error:
        await _forget(run_id, store)
        return [error.message]
    return []


async def _heal(run_id: str, stored: RunSnapshot | None, store: Checkpointer, session: Session | None) -> None:
    if stored is not None:
        await settle(stored, _conversation(stored, session), store)
    else:
        await _forget(run_id, store)


async def settle(run: RunSnapshot, conversation: Conversation, store: Checkpointer) -> None:
    """The second and third step of completing a run: the segment, then the store's open end (R7)."""
    await conversation.append(run)
    if run.head.session_id is not None:
        await _forget(run.run_id, store)


async def _forget(run_id: str, store: Checkpointer) -> None:
    if isinstance(store, RunIndex):
        await store.settle(run_id)


def _conversation(run: RunSnapshot, session: Session | None) -> Conversation:
    if run.head.session_id is not None and session is None:
        raise UserError(
            f"run {run.run_id!r} belongs to session {run.head.session_id!r}",
            hint="pass session=, the store of its session",
        )
    return Conversation(session, run.head.session_id)
