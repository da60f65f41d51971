"""Runs and sessions handed from one store to another: a run with its history, a session with its finished runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from lovia_cli.errors import ConflictError, RunExistsError, RunNotFoundError, UserError
from stores.archiving import missing_in
from stores.entries import JSON, ToolResultEntry
from stores.exchange import Exported, RunRecord, SessionRecord, run_record
from stores.ids import as_words, check_id
from stores.lookup import kept_info
from stores.promises import promised
from stores.protocols import Checkpointer, ResultStore, RunIndex, RunLog, Session, SessionImport, SessionIndex
from stores.records import RunHead, RunSnapshot, Save, Segment, Status, head_to_json
from stores.references import ResultRef

_OF_THE_SAVE = frozenset({"save", "steps", "updated_at"})


async def export_run(run_id: str, *, checkpointer: Checkpointer) -> RunSnapshot:
    """The run as `stores.exchange.write_export` writes it: with its history, where the store keeps a log.

    Raises `RunNotFoundError`.
    """
    saves = await checkpointer.read_log(run_id) if isinstance(checkpointer, RunLog) else []
    found = run_record(run_id, saves) if saves else await checkpointer.load(run_id)
    if found is None:
        raise RunNotFoundError(f"no run {run_id!r}", hint="see what there is: lovia history")
    return found


async def import_run(
    run: RunSnapshot, *, checkpointer: Checkpointer, session: Session | None = None, new_id: str | None = None
) -> RunSnapshot:
    """Store ``run`` under its own id, or ``new_id``, in one atomic step, and return it as it is stored.

    Entries, head and history are those that were exported; without history it has one save. Approvals and grants
    follow no import (A5): a run that waited for one is interrupted. Under a new id it leaves its session.
    Raises `RunExistsError` when a run or a kept history has the id, and `ConflictError` when ``session`` has another
    conversation under the run's session id.
    """
    run_id = check_id(new_id or run.run_id, "run id")
    saves = _following(run, renamed=run_id != run.run_id)
    async with checkpointer.lease(run_id) as lease:
        if await lease.load() is not None or await kept_info(checkpointer, run_id):
            raise RunExistsError(
                f"run {run_id!r} exists already", hint="take it in under another id: lovia import FILE --new-id ID"
            )
        session_id = None if run_id != run.run_id else run.head.session_id
        await _refuse_other_conversation(run_id, session_id, run.head.history_upto, session)
        if isinstance(checkpointer, RunLog):
            await checkpointer.import_log(lease, saves)
        else:
            await lease.save(_one_save(run_record(run_id, saves)))
        stored = await lease.load()
    assert stored is not None
    if session_id is not None and isinstance(checkpointer, RunIndex) and await _in_session(run_id, session_id, session):
        await checkpointer.settle(run_id)
    return stored


async def missing_history(run: RunSnapshot, session: Session) -> str | None:
    """The run up to which an imported run's conversation had come, where its session here has not got that."""
    upto, session_id = run.head.history_upto, run.head.session_id
    if session_id is None or upto is None or await _in_session(upto, session_id, session):
        return None
    return upto


async def import_session(
    record: SessionRecord, *, checkpointer: Checkpointer, session: Session, new_id: str | None = None
) -> str:
    """Store the session under its own id, or ``new_id``, in one step, and return the id.

    Raises `ConflictError` when there is a session of that id, or an unfinished run of another conversation.
    """
    session_id = check_id(new_id or record.session_id, "session id")
    if not isinstance(session, SessionImport):
        raise UserError("this store takes in no sessions", hint="import it into a file store")
    known = {segment.run_id for segment in record.segments}
    for info in await checkpointer.runs() if isinstance(checkpointer, RunIndex) else ():
        if info.session_id == session_id and info.run_id not in known:
            run = await checkpointer.load(info.run_id)
            if run is None or run.head.history_upto not in known:
                raise ConflictError(
                    f"run {info.run_id!r} here belongs to a session {session_id!r} of its own",
                    hint="take the session in under another id: lovia import FILE --new-id ID",
                )
    await session.import_segments(session_id, record.segments)
    return session_id


async def missing_outputs(record: Exported, archive: ResultStore | None) -> int:
    """How many of the outputs that its markers promise the archive does not have: no export takes them along (M2)."""
    return await missing_in(archive, outputs_promised(record))


def outputs_promised(record: Exported) -> list[tuple[ResultRef, ToolResultEntry]]:
    """The results of the run or the session that were cut, and that the archive is said to have whole."""
    runs: Sequence[RunSnapshot | Segment] = record.segments if isinstance(record, SessionRecord) else [record]
    return [found for run in runs for found in promised(run.run_id, run.entries)]


def _following(run: RunSnapshot, *, renamed: bool) -> list[Save]:
    """The run's saves, without what follows no import."""
    saves = run.saves if isinstance(run, RunRecord) else [_one_save(run)]
    left_out = {"approvals", "grants", *(("session_id", "history_upto") if renamed else ())}
    return [replace(save, head=_without(save.head, left_out)) for save in saves]


def _without(head: dict[str, JSON], left_out: set[str]) -> dict[str, JSON]:
    kept = {name: value for name, value in head.items() if name not in left_out}
    waits = kept.get("status") == Status.AWAITING_APPROVAL
    return {**kept, "status": Status.INTERRUPTED.value} if waits else kept


def _one_save(run: RunSnapshot) -> Save:
    """All that the run is in a save."""
    default = head_to_json(RunHead())
    fields = {name: value for name, value in head_to_json(run.head).items() if name not in _OF_THE_SAVE}
    changed = {name: value for name, value in fields.items() if name not in default or value != default[name]}
    at = time.time() if run.head.updated_at is None else run.head.updated_at
    return Save(
        number=1, step=run.head.steps, at=at, event="imported", entries=list(run.entries), head=deepcopy(changed)
    )


async def _in_session(run_id: str, session_id: str, session: Session | None) -> bool:
    if session is None:
        return False
    if isinstance(session, SessionIndex):
        return await session.has_segment(session_id, run_id)
    return any(segment.run_id == run_id for segment in await session.segments(session_id))


async def _refuse_other_conversation(
    run_id: str, session_id: str | None, upto: str | None, session: Session | None
) -> None:
    """A session of the run's session id must be the one it came from: it has the run, or what the run began with."""
    if session_id is None or session is None:
        return
    for known in filter(None, (run_id, upto)):
        if await _in_session(known, session_id, session):
            return
    if await session.segments(session_id):
        raise ConflictError(
            f"session {session_id!r} here is another conversation than that of run {run_id!r}",
            where=f"lovia history {as_words(f'session:{session_id}')}",
            hint="take the run in without its session, under an id of its own: lovia import FILE --new-id ID",
        )
