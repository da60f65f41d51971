"""Sessions in memory."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, field, replace

from stores import codec
from stores.archiving import archive_first
from stores.entries import JSON, Entry
from stores.errors import ConflictError, RunExistsError, SegmentDiffersError
from stores.ids import check_id, new_id
from stores.lines import SessionInfo
from stores.protocols import ResultStore
from stores.records import Segment
from stores.surgery import apply_cuts, check_count, entries_checksum, rewind_plan, trim_cuts
from stores.surgery.forking import lost_beginning, own_beginning, refuse_shared
from stores.values import plain

_WHERE = "memory"


@dataclass(slots=True)
class _Conversation:
    """The segments of a session by run id, oldest first, and the checksum each was appended with (S3).

    The first are those of the session it was forked from, and ``shared`` names who appended each of them. No segment
    is ever changed.
    """

    segments: dict[str, Segment] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)
    updated_at: float = 0.0
    shared: list[str] = field(default_factory=list)

    @property
    def own(self) -> list[Segment]:
        return list(self.segments.values())[len(self.shared) :]


class InMemorySession:
    """A `Session` that can be listed, rewound, trimmed and forked."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Conversation] = {}  # in order of activity
        self._prepared: dict[str, _Conversation] = {}

    async def segments(self, session_id: str) -> list[Segment]:
        return deepcopy(list(self._conversation(session_id).segments.values()))

    async def load(self, session_id: str) -> list[Entry]:
        return [entry for segment in await self.segments(session_id) for entry in segment.entries]

    async def append(
        self, session_id: str, entries: list[Entry], *, run_id: str | None = None, meta: dict[str, JSON] | None = None
    ) -> str:
        conversation = self._conversation(session_id)
        run_id = new_id() if run_id is None else check_id(run_id, "run id")
        checksum = entries_checksum(entries)
        stored = conversation.checksums.get(run_id)
        if stored is None:
            segment = Segment(run_id=run_id, entries=_stored_entries(run_id, entries), meta=plain(meta or {}))
            conversation.segments[run_id] = segment
            conversation.checksums[run_id] = checksum
            conversation.updated_at = time.time()
            self._sessions.pop(session_id, None)
            self._sessions[session_id] = conversation
        elif stored != checksum:
            raise SegmentDiffersError.of(session_id, run_id)
        return run_id

    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        if check_id(session_id, "session id") in self._sessions:
            raise ConflictError(f"session {session_id!r} exists already", hint="take another id")
        conversation = _Conversation(updated_at=time.time())
        for segment in segments:
            entries, run_id = _stored_entries(segment.run_id, segment.entries), check_id(segment.run_id, "run id")
            conversation.segments[run_id] = replace(segment, entries=entries, meta=plain(segment.meta))
            conversation.checksums[run_id] = entries_checksum(entries)
        self._sessions[session_id] = conversation

    async def clear(self, session_id: str) -> None:
        self._sessions.pop(check_id(session_id, "session id"), None)

    async def sessions(self) -> list[SessionInfo]:
        return [_line(session_id, conversation) for session_id, conversation in reversed(self._sessions.items())]

    async def session_info(self, session_id: str) -> SessionInfo | None:
        conversation = self._sessions.get(check_id(session_id, "session id"))
        return _line(session_id, conversation) if conversation else None

    async def has_segment(self, session_id: str, run_id: str) -> bool:
        return run_id in self._conversation(session_id).segments

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        conversation = self._conversation(session_id)
        segments = list(conversation.segments.values())
        plan = rewind_plan(segments, keep_entries)
        refuse_shared(session_id, plan.removed, keep_entries, segments[: len(conversation.shared)])
        if plan.cut:
            conversation.segments[plan.cut.run_id] = plan.cut
        for run_id in plan.deleted:
            del conversation.segments[run_id], conversation.checksums[run_id]
        return plan.removed

    async def trim_tool_results(
        self, session_id: str, *, keep_chars: int = 400, keep_runs: int = 1, archive: ResultStore | None = None
    ) -> int:
        check_count("keep_chars", keep_chars)
        check_count("keep_runs", keep_runs)
        trimmed = 0
        conversation = self._conversation(session_id)
        for segment in conversation.own[: max(len(conversation.own) - keep_runs, 0)]:
            cuts = trim_cuts(segment.run_id, segment.entries, keep_chars, archived=archive is not None)
            cuts = await archive_first(cuts, archive)
            if conversation.segments.get(segment.run_id) is segment:  # a rewind may have been quicker
                conversation.segments[segment.run_id] = replace(segment, entries=apply_cuts(segment.entries, cuts))
                trimmed += len(cuts)
        return trimmed

    async def fork_session(self, session_id: str | None, new_id: str, *, upto: str | None) -> None:
        if check_id(new_id, "session id") in self._sessions:
            raise RunExistsError(f"session {new_id!r} exists already", hint="use a new id")
        if upto is None or session_id is None:
            return
        source = self._conversation(session_id)
        run_ids = list(source.segments)
        if upto not in run_ids or source.segments[upto].truncated:
            raise lost_beginning(session_id, upto)
        if new_id in source.shared:
            raise own_beginning(session_id, new_id)
        shared = run_ids[: run_ids.index(upto) + 1]
        writers = [*source.shared, *(session_id for _ in source.own)]
        self._prepared[new_id] = _Conversation(
            segments={run_id: source.segments[run_id] for run_id in shared},
            checksums={run_id: source.checksums[run_id] for run_id in shared},
            updated_at=time.time(),
            shared=writers[: len(shared)],
        )

    async def confirm_fork(self, new_id: str) -> None:
        if prepared := self._prepared.pop(check_id(new_id, "session id"), None):
            self._sessions[new_id] = prepared

    async def drop_fork(self, new_id: str) -> bool:
        prepared = self._prepared.pop(check_id(new_id, "session id"), None)
        found = self._sessions.get(new_id)
        if found and found.shared and not found.own:
            del self._sessions[new_id]
            return True
        return prepared is not None

    def _conversation(self, session_id: str) -> _Conversation:
        """The session's record; an unknown session gives an empty one that is not kept."""
        return self._sessions.get(check_id(session_id, "session id")) or _Conversation()


def _line(session_id: str, conversation: _Conversation) -> SessionInfo:
    """The session's line of the listing."""
    return SessionInfo(
        session_id=session_id,
        segments=len(conversation.segments),
        entries=sum(len(segment.entries) for segment in conversation.segments.values()),
        updated_at=conversation.updated_at,
    )


def _stored_entries(run_id: str, entries: list[Entry]) -> list[Entry]:
    """The entries as a store gives them back; a `StoreError` for what JSON cannot hold."""
    return codec.decode_entries(
        [codec.loads(codec.encode_entry(entry)) for entry in entries], where=_WHERE, run_id=run_id
    )
