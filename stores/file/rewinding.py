"""Rewinding a session: its end goes in one atomic step, and what it cost does not depend on its length (M3).

The order of writes, each a prefix that reads whole:

    dead files go          what an earlier rewind that was cut off has left, so that nothing of it can come to life
    the truncated segment  in the epoch to come, which nobody reads yet
    session.json           the new epoch, and how many segments of older ones still count = COMMIT
    dead files go          and the marks of the runs that went
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stores.file.disk import Folder
from stores.file.markers import marker_folder
from stores.file.names import name_of, parse_segment_name, segment_name
from stores.file.places import Place, read_segment
from stores.file.readers import read_by_forks
from stores.file.root import Root
from stores.file.segments import Log, encode_again, read_log, roll_forward, segment_of
from stores.file.session_writing import SessionWriter, writing
from stores.records import Segment
from stores.surgery import RewindPlan, rewind_plan
from stores.surgery.forking import shared_beginning


def rewind(root: Root, session_id: str, keep_entries: int) -> int:
    """Under the session's lock: drop what stands behind the first ``keep_entries`` entries, and count it."""
    log = read_log(root, session_id)
    roll_forward(log)
    with writing(root, session_id) as session:
        sweep_dead(session.folder, (place.file for place in log.places))
        tail = _tail(log, keep_entries)
        if not tail:
            return 0
        first = tail[0][1]["first"]
        plan = rewind_plan([_decoded(place, document) for place, document in tail], keep_entries - first)
        left = _commit(session, log, tail, plan)
        sweep_dead(session.folder, left)
    with root.make_folder(*marker_folder(session_id)) as markers:
        for run_id in plan.deleted:
            markers.unlink(f"{name_of(run_id)}.json")
    return plan.removed


def _tail(log: Log, keep_entries: int) -> list[tuple[Place, dict[str, Any]]]:
    """The segments that end behind the cut, oldest first. Only they are read."""
    tail: list[tuple[Place, dict[str, Any]]] = []
    if keep_entries and keep_entries >= log.fields["entries"]:
        return tail
    for place in reversed(log.places):
        document = read_segment(place, log.session_id)
        if keep_entries and document["first"] + len(document["entries"]) <= keep_entries:
            return tail
        tail.insert(0, (place, document))
    if log.shared and keep_entries < (tail[0][1]["first"] if tail else log.fields["entries"]):
        raise shared_beginning(log.session_id)
    return tail


def _decoded(place: Place, document: dict[str, Any]) -> Segment:
    """The segment, its document left as it is."""
    rows = [dict(row) for row in document["entries"]]
    return segment_of({**document, "entries": rows}, f"{place.folder}/{place.file}")


def _commit(session: SessionWriter, log: Log, tail: list[tuple[Place, dict[str, Any]]], plan: RewindPlan) -> list[str]:
    """Write what is new, session.json last; the names of the files that count from now on."""
    fields, first = log.fields, tail[0][1]
    left = [place.file for place in log.places[: tail[0][0].n - 1]]
    before = read_segment(log.places[len(left) - 1], log.session_id) if left else None
    fields |= {"epoch": fields["epoch"] + 1, "limit": len(left), "count": len(left), "entries": first["first"]}
    fields |= {"last": left[-1] if left else None, "last_sum": before["sum"] if before else None}
    if plan.cut:
        name = segment_name(len(left) + 1, fields["epoch"], plan.cut.run_id)
        lines = encode_again(first, plan.cut.entries, epoch=fields["epoch"], meta={}, truncated=True)
        session.write(name, lines)
        log.count(name, len(plan.cut.entries), lines.sum, fields.get("updated_at"))
        left.append(name)
    session.write_session(fields)
    return left


def sweep_dead(folder: Folder, live: Iterable[str]) -> None:
    """Remove the segments that do not count. Durably: a file of an epoch to come must not outlive its sweep.

    Those that a fork reads stay; the session's lock is held, so none begins to read meanwhile.
    """
    kept = {*live, *read_by_forks(folder)}
    dead = [name for name in folder.names() if parse_segment_name(name) and name not in kept]
    for name in dead:
        folder.unlink(name)
    if dead:
        folder.sync()
