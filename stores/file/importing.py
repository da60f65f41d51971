"""Taking in a whole session in one atomic step.

The order of writes, each a prefix that reads as a session that is not there:

    session.json           of a session that was cleared
    the segments           in the epoch to come, which nobody reads yet
    session.json           the new epoch, and how many segments there are = COMMIT
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from stores.errors import ConflictError
from stores.file.rewinding import sweep_dead
from stores.file.root import Root
from stores.file.segments import encode_segment, read_log
from stores.file.session_writing import writing
from stores.ids import as_words
from stores.records import Segment
from stores.surgery import entries_checksum
from stores.values import plain


def import_segments(root: Root, session_id: str, segments: Sequence[Segment]) -> None:
    """Under the session's lock: store the segments as the session of that id, which there must not be."""
    log = read_log(root, session_id)
    if log.is_there:
        where = as_words(f"session:{session_id}")
        raise ConflictError(f"session {session_id!r} exists already", hint=f"look at it: lovia history {where}")
    with writing(root, session_id) as session:
        sweep_dead(session.folder, ())
        session.write_session(log.fields | {"cleared": True})
        log.fields |= {"epoch": log.fields["epoch"] + 1, "limit": 0, "base": None}
        for segment in segments:
            checksum, meta = entries_checksum(segment.entries), plain(segment.meta)
            name, lines = encode_segment(
                log, segment.run_id, segment.entries, meta, checksum, truncated=segment.truncated
            )
            session.write(name, lines)
            log.count(name, len(segment.entries), lines.sum)
        log.fields["updated_at"] = time.time()
        log.fields.pop("cleared", None)
        session.write_session(log.fields)
