"""``lovia import``: take in a run or a session that was exported."""

from __future__ import annotations

import os
import stat
import sys
from typing import Annotated, BinaryIO

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Argument, Option
from lovia_cli.cli.resuming import command_for
from lovia_cli.errors import UserError
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, open_stores
from stores.ids import check_id
from stores.records import RunSnapshot, Status


def import_(
    call: Call,
    file: Annotated[str, Argument(metavar="FILE|-", help="What lovia export wrote; - is stdin.")],
    new_id: Annotated[
        str | None, Option("--new-id", metavar="ID", help="Another id; a run then leaves its session.")
    ] = None,
) -> Answer:
    """Take in a run or a session, as jsonl or json. It is stored whole or not at all, and never over another.

    A run comes with its history, so that it can be forked; approvals do not follow it.
    """
    if new_id is not None:
        check_id(new_id, "new id")
    return drive_stores(_import(call, file, new_id))


COMMAND = import_


async def _import(call: Call, file: str, new_id: str | None) -> Answer:
    from lovia_cli.engine.transfer import import_run, import_session, missing_history, missing_outputs
    from stores.exchange import read_export

    record = read_export(_read(file), "stdin" if file == "-" else file)
    stores = open_stores(call.settings.store)
    if isinstance(record, RunSnapshot):
        run = await import_run(record, checkpointer=stores.runs, session=stores.sessions, new_id=new_id)
        answer = _of_run(stores, run, await missing_history(run, stores.sessions))
        record = run
    else:
        name = await import_session(record, checkpointer=stores.runs, session=stores.sessions, new_id=new_id)
        answer = _of_session(stores, name, len(record.segments))
    answer.data["notes"] += _not_here(await missing_outputs(record, stores.archive))
    for note in answer.data["notes"]:
        call.note(note)
    return answer


def _of_session(stores: Stores, name: str, count: int) -> Told:
    message = f"imported session {name}: {counted(count, 'finished run')}"
    data = {"store": str(stores.location), "kind": "session", "run_id": None, "session_id": name, "segments": count}
    return Told(message=message, data={**data, "notes": []})


def _not_here(outputs: int) -> list[str]:
    """What to say of archived outputs that did not come along."""
    are, them = ("is", "it") if outputs == 1 else ("are", "them")
    said = f"{counted(outputs, 'archived output')} {are} not in this store: recall_tool_result cannot give {them} back"
    return [said] if outputs else []


def _of_run(stores: Stores, run: RunSnapshot, missing: str | None) -> Told:
    """``missing`` is the run with which the history ends that this one began with, and that is not here."""
    head, notes = run.head, []
    message = f"imported run {run.run_id}: {head.status}, {counted(head.steps, 'step')}"
    if missing is not None:
        session = f"session {head.session_id}"
        began = f"the run began with the history up to run {missing} of {session}, which this store has not got"
        notes.append(f"{began}; import that session, before the run goes on without")
    elif head.status != Status.COMPLETED:
        message += f"\ngo on with: {command_for('resume', run.run_id, stores)}"
    data = {"store": str(stores.location), "kind": "run", "run_id": run.run_id, "session_id": head.session_id}
    return Told(message=message, data={**data, "status": head.status, "steps": head.steps, "notes": notes})


def _read(file: str) -> bytes:
    """The bytes of the file, no more of it than could be an export."""
    if file == "-" and sys.stdin is None:
        raise UserError("cannot read -: stdin is closed", hint="name a file, or pipe an export in")
    try:
        if file == "-":
            return _limited(sys.stdin.buffer, file)
        with open(file, "rb") as source:
            return _limited(source, file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"cannot read {file}: {reason}", hint="name a file that lovia export wrote") from error


def _limited(source: BinaryIO, name: str) -> bytes:
    from stores.exchange import MAX_BYTES
    from stores.shapes import refuse

    found = os.fstat(source.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_size <= MAX_BYTES:
        data = source.read(MAX_BYTES + 1)
        if len(data) <= MAX_BYTES:
            return data
    raise refuse(f"it is larger than {MAX_BYTES // 1024**2} MB", name)
