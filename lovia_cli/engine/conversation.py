"""The session's side of a run: the history it starts from and the segment it becomes (S5, S7)."""

from __future__ import annotations

import time

from lovia_cli.environment import names_in
from stores.closing import segment_meta
from stores.entries import Entry, InputEntry
from stores.errors import SegmentDiffersError
from stores.protocols import Session, SessionFork, SessionIndex
from stores.records import RunSnapshot, Segment
from stores.surgery import same_entries


class Conversation:
    """One session as one run sees it. Without a session it is empty, and appending does nothing."""

    def __init__(self, session: Session | None, session_id: str | None) -> None:
        self.session = session if session_id is not None else None
        self.session_id = session_id
        self.segments: list[Segment] = []

    async def begin_fork(self, run_id: str, parent: object) -> None:
        """A fork's own session is prepared before the fork is there; a crash may have come in between (H3)."""
        session = self.session
        if parent and self.session_id == run_id and session is not None and isinstance(session, SessionFork):
            await session.confirm_fork(run_id)

    async def load(self) -> None:
        """Read the history as it is now."""
        if self.session is not None and self.session_id is not None:
            self.segments = await self.session.segments(self.session_id)

    @property
    def last_run(self) -> str | None:
        """The run id of the newest segment loaded."""
        return self.segments[-1].run_id if self.segments else None

    def environment(self) -> set[str]:
        """The variables that the agent files of the session's runs named: an answer may quote what their tools said."""
        return {name for segment in self.segments for name in names_in(segment.told.get("config"))}

    def entries(self) -> list[Entry]:
        """The flat history."""
        return [entry for segment in self.segments for entry in segment.entries]

    async def segment(self, run_id: str) -> Segment | None:
        """The run's own segment, when it is stored."""
        if self.session is None or self.session_id is None:
            return None
        if isinstance(self.session, SessionIndex) and not await self.session.has_segment(self.session_id, run_id):
            return None
        stored = await self.session.segments(self.session_id)
        return next((segment for segment in stored if segment.run_id == run_id), None)

    async def append(self, run: RunSnapshot) -> None:
        """Store the finished run as one segment; a stored one makes it a no-op (S3, R7).

        Of a run whose checkpoint is gone its segment is all there is, with the outputs that a trim has cut. It is not
        what was first appended then, and yet nothing that differs.
        """
        if self.session is None or self.session_id is None:
            return
        meta = segment_meta(run.head, time.time())
        try:
            await self.session.append(self.session_id, run.entries, run_id=run.run_id, meta=meta)
        except SegmentDiffersError:
            stored = await self.segment(run.run_id)
            if stored is None or not same_entries(stored.entries, run.entries):
                raise


def system_inputs(entries: list[Entry]) -> str:
    """What the caller sent as system messages; they join the rendered instructions, never the conversation."""
    return "\n\n".join(entry.text for entry in entries if isinstance(entry, InputEntry) and entry.role == "system")
