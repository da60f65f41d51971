"""Taking in what was exported: a run as its one save, a session with its finished runs."""

from __future__ import annotations

import time
from dataclasses import replace

from lovia_cli.errors import ConflictError, RunExistsError, UserError
from stores.exchange import SessionRecord
from stores.ids import as_words, check_id
from stores.protocols import Checkpointer, KeptHistories, RunIndex, Session, SessionImport
from stores.records import RunHead, RunSnapshot, Save, Status, head_to_json

_OF_THE_SAVE = frozenset({"save", "steps", "updated_at"})


async def import_run(
    run: RunSnapshot, *, checkpointer: Checkpointer, session: Session | None = None, new_id: str | None = None
) -> RunSnapshot:
    """Store ``run`` under its own id, or ``new_id``, in one save, and return it as it is stored.

    Entries and head are those that were exported, but for what follows no import: approvals and grants (A5), so that
    a run that waited for one is interrupted, and the saves before. Under a new id it leaves its session.
    Raises `RunExistsError` when a run or a kept history has the id, and `ConflictError` when ``session`` has another
    conversation under the run's session id.
    """
    run_id = check_id(new_id or run.run_id, "run id")
    head = _following(run.head, renamed=run_id != run.run_id)
    async with checkpointer.lease(run_id) as lease:
        if await lease.load() is not None or await _has_history(checkpointer, run_id):
            raise RunExistsError(
                f"run {run_id!r} exists already", hint="take it in under another id: lovia import FILE --new-id ID"
            )
        await _refuse_other_conversation(run_id, head, session)
        at = time.time() if head.updated_at is None else head.updated_at
        default = head_to_json(RunHead())
        fields = {name: value for name, value in head_to_json(head).items() if name not in _OF_THE_SAVE}
        changed = {name: value for name, value in fields.items() if name not in default or value != default[name]}
        await lease.save(
            Save(number=1, step=head.steps, at=at, event="imported", entries=list(run.entries), head=changed)
        )
        stored = await lease.load()
    assert stored is not None
    if head.session_id is not None and isinstance(checkpointer, RunIndex) and await _in_session(run_id, head, session):
        await checkpointer.settle(run_id)
    return stored


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


def _following(head: RunHead, *, renamed: bool) -> RunHead:
    """The head without what follows no import."""
    waits = head.status in (Status.AWAITING_APPROVAL, Status.RUNNING)
    head = replace(head, approvals=[], grants=[], status=Status.INTERRUPTED if waits else head.status)
    return replace(head, session_id=None, history_upto=None) if renamed else head


async def _has_history(checkpointer: Checkpointer, run_id: str) -> bool:
    kept = await checkpointer.kept_histories() if isinstance(checkpointer, KeptHistories) else []
    return any(run.run_id == run_id for run in kept)


async def _in_session(run_id: str, head: RunHead, session: Session | None) -> bool:
    stored = await session.segments(head.session_id) if session and head.session_id is not None else []
    return any(segment.run_id == run_id for segment in stored)


async def _refuse_other_conversation(run_id: str, head: RunHead, session: Session | None) -> None:
    """A session of the run's session id must be the one it came from: it has the run, or what the run began with."""
    if head.session_id is None or session is None:
        return
    here = {segment.run_id for segment in await session.segments(head.session_id)}
    if here and run_id not in here and head.history_upto not in here:
        raise ConflictError(
            f"session {head.session_id!r} here is another conversation than that of run {run_id!r}",
            where=f"lovia history {as_words(f'session:{head.session_id}')}",
            hint="take the run in without its session, under an id of its own: lovia import FILE --new-id ID",
        )
