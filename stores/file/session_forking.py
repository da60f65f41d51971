"""Sessions that begin with what others began with (H3).

The order of writes, each a prefix in which there is no fork:

    session.json    of the source, if its first append was cut off before that: beside marks it is never missing
    the marks       in the folders of all sessions that are shared from: nobody removes those segments any more
    session.json    with the ``base``, as ``prepared``: read as a session that is not there
    session.json    without that = COMMIT, once the run that it is for exists

All of it happens under the locks of the new session, its source, and what that one begins with, taken in this order.
"""

from __future__ import annotations

import time
from typing import Any

from stores.errors import RunExistsError
from stores.file.names import FORKS, name_of, parse_segment_name
from stores.file.places import Place, read_segment, session_folder
from stores.file.readers import marks, place_mark
from stores.file.rewinding import sweep_dead
from stores.file.root import Root
from stores.file.segments import Log, read_log, roll_forward
from stores.file.session_json import SESSION, base_parts, fresh_session, part_of, read_session
from stores.file.session_writing import writing
from stores.ids import as_words
from stores.surgery.forking import lost_beginning


def refuse_taken(root: Root, session_id: str) -> None:
    """Raise when there is a session of that id."""
    if read_log(root, session_id).is_there:
        hint = f"look at it: lovia history {as_words(f'session:{session_id}')}"
        raise RunExistsError(f"session {session_id!r} exists already", hint=hint)


def ancestors(root: Root, session_id: str) -> list[str]:
    """The sessions that a forked one begins with, the nearest first."""
    base = read_log(root, session_id).fields.get("base")
    return [str(part["session"]) for part in reversed(base_parts(base))]


def prepare(root: Root, session_id: str, new_id: str, upto: str) -> None:
    """Write down that ``new_id`` begins with the segments of ``session_id`` up to that of run ``upto``."""
    refuse_taken(root, new_id)
    base = _base(root, session_id, upto)
    epoch = read_log(root, new_id).fields["epoch"]
    fields = fresh_session(new_id) | {"epoch": epoch, "entries": base["entries"], "base": base, "prepared": True}
    for part in base_parts(base):
        place_mark(root, new_id, part)
    with writing(root, new_id) as session:
        sweep_dead(session.folder, ())  # as before an append
        session.write_session(fields)


def _base(root: Root, session_id: str, upto: str) -> dict[str, Any]:
    """What of the session a run started from whose history ended with run ``upto``."""
    log = read_log(root, session_id)
    roll_forward(log)
    if log.is_there and _fields(root, session_id) is None:
        _write(root, session_id, log.fields)  # beside marks it must not be missing
    places = [*log.shared, *log.places]
    place = log.find(upto)
    document = read_segment(place, None) if place else None
    if place is None or document is None or document.get("truncated") or document["run"] != upto:
        raise lost_beginning(session_id, upto)
    end = {"segments": places.index(place) + 1, "entries": document["first"] + len(document["entries"])}
    return _part(log, place) | {"count": place.n, "run": upto} | end


def _part(log: Log, place: Place) -> dict[str, Any]:
    """The session that holds the segment, and those with what stands before it: a flat list, however many."""
    parts = [{"session": part["session"], **part_of(part)} for part in base_parts(log.fields.get("base"))]
    for n, part in enumerate(parts):
        if place.folder.endswith("/" + name_of(part["session"])):
            return part | {"before": parts[:n]}
    return {"session": log.session_id, "epoch": log.fields["epoch"], "before": parts}


def confirm(root: Root, session_id: str) -> None:
    """The prepared session is there from now on."""
    fields = _fields(root, session_id)
    if fields and fields.pop("prepared", None):
        _write(root, session_id, fields | {"updated_at": time.time()})


def bare_fork(root: Root, session_id: str) -> dict[str, Any] | None:
    """What is in session.json of a forked session, confirmed or not, that has no segment of its own; else None."""
    fields = _fields(root, session_id)
    if not fields or not fields.get("base"):
        return None
    return None if not fields.get("prepared") and read_log(root, session_id).places else fields


def unmark(root: Root, session_id: str, fork_id: str) -> None:
    """Under the lock of a session that a fork, now gone, began with, and the fork's own: what only it read goes."""
    with root.open_folder(*session_folder(session_id)) as folder:
        if folder is None:
            return
        log = read_log(root, session_id)
        with root.make_folder(*session_folder(session_id), FORKS) as found:
            found.unlink(f"{name_of(fork_id)}.json")
            for name in [name for name, part in marks(folder).items() if part is None]:
                found.unlink(name)
            found.sync()
        sweep_dead(folder, (place.file for place in log.places))
        if log.fields.get("cleared"):
            remove_emptied(root, session_id)


def remove_emptied(root: Root, session_id: str) -> None:
    """The last file of a cleared session goes, unless forks read segments of it: their epochs must not come again."""
    with root.open_folder(*session_folder(session_id)) as folder:
        if folder and not any(parse_segment_name(name) for name in folder.names()):
            folder.unlink(SESSION)
            folder.sync()


def _fields(root: Root, session_id: str) -> dict[str, Any] | None:
    with root.open_folder(*session_folder(session_id)) as folder:
        return read_session(folder, session_id) if folder else None


def _write(root: Root, session_id: str, fields: dict[str, Any]) -> None:
    with writing(root, session_id) as session:
        session.write_session(fields)
