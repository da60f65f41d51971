"""A session's own file, session.json: how far the session goes, and what it began with."""

from __future__ import annotations

from typing import Any

from stores import codec
from stores.errors import StoreDamagedError
from stores.file.disk import Folder
from stores.file.names import name_of

SESSION = "session.json"


def read_session(folder: Folder, session_id: str) -> dict[str, Any] | None:
    """session.json, checked; None when there is none."""
    data = folder.read(SESSION)
    if data is None:
        return None
    fields = parse_session(data, folder.where(SESSION))
    if fields["id"] != session_id:
        raise StoreDamagedError(f"the file is not of session {session_id!r}", where=folder.where(SESSION))
    return fields


def parse_session(data: bytes, where: str) -> dict[str, Any]:
    fields = codec.decode(data, "session", where=where)
    if not isinstance(fields.get("id"), str) or not all(type(fields.get(name)) is int for name in _COUNTERS):
        raise StoreDamagedError("the file lacks a field", where=where)
    del fields["v"], fields["sum"]
    return fields


def own_session(data: bytes, name: str, where: str) -> dict[str, Any]:
    """session.json of the session whose folder has that name. Another's, copied there, is damage and tells nothing."""
    fields = parse_session(data, where)
    check_name(fields["id"], name, where)
    return fields


def check_name(session_id: str, name: str, where: str) -> None:
    """Raise for what is of another session than the one whose folder has that name."""
    if name_of(session_id) != name:
        raise StoreDamagedError("the file holds another session than its folder's name says", where=where)


_COUNTERS = ("epoch", "limit", "count", "entries")


def fresh_session(session_id: str) -> dict[str, Any]:
    counters = dict.fromkeys(_COUNTERS, 0)
    return {"kind": "session", "id": session_id, **counters, "last": None, "last_sum": None, "base": None}


def base_parts(base: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The sessions that a forked one begins with, oldest first: each with id, epoch, number of segments, last run."""
    if not base:
        return []
    before = base.get("before") or []
    return [*(before if isinstance(before, list) else base_parts(before)), base]  # an earlier version nested them


def beginning(base: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of a session that has no segment of its own: a forked one counts from where its base ends."""
    return {"base": base, "entries": base["entries"] if base else 0}


def part_of(document: dict[str, Any]) -> dict[str, Any]:
    """What a base, or the mark of a fork, says of the segments that are read: up to which, and of which run that was.

    An earlier version did not name the run.
    """
    return {name: document[name] for name in ("epoch", "count", "run") if name in document}
