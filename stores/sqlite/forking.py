"""A run that begins where another stood: a log that goes on from the other's, in one transaction (H2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stores.errors import RunExistsError, RunNotFoundError
from stores.records import Save, head_to_json
from stores.sqlite.logs import new_log, pieces
from stores.sqlite.moments import first_kept, head_at
from stores.sqlite.rows import RunRow, read_row, update_line
from stores.sqlite.saves import save_at

if TYPE_CHECKING:
    from sqlite3 import Connection


def begin_fork(connection: Connection, run_id: str, source_id: str, forked: Save, *, where: str) -> RunRow:
    """The row of the new run as it stands before ``forked``, and a log for that save."""
    number = forked.number - 1
    if read_row(connection, run_id, where=where) is not None:
        raise RunExistsError(f"run {run_id!r} exists already", hint="use a new run id")
    source = read_row(connection, source_id, where=where)
    if source is None or not first_kept(connection, source, where=where) <= number <= source.save:
        raise RunNotFoundError(f"save {number} of run {source_id!r} is not kept", hint="see what is: lovia history RUN")
    saved, record = save_at(connection, source, number, where=where)
    head = head_at(connection, source, number, where=where)
    shared = pieces(connection, source_id, source.log, where=where)
    base = next(piece.log for piece in shared if piece.first <= number <= piece.last)
    row = RunRow(
        run_id=run_id,
        log=new_log(connection, run_id, base=base, upto=number),
        session_id=head.session_id,
        status=saved.status,
        save=number,
        step=record["step"],
        updated_at=float(record["at"]),
        entries=saved.entries,
        last=saved.sum,
    )
    row.insert(connection)
    update_line(connection, run_id, head_to_json(head), where=where)
    return row
