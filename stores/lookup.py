"""What a store knows of one id. A store without the ability to look it up is asked for its whole listing."""

from __future__ import annotations

from stores.protocols import (
    KeptHistories,
    KeptHistoryLookup,
    OpenRunLookup,
    RunIndex,
    SessionIndex,
    SessionLookup,
)
from stores.records import RunInfo, SessionInfo


async def open_infos(store: RunIndex, session_id: str) -> list[RunInfo]:
    """The session's runs that may be unfinished, updated last first, without its lock (`OpenRunLookup`).

    From a listing they are all its runs: whose segment is in the session is finished, and for the caller to leave out.
    """
    if isinstance(store, OpenRunLookup):
        return await store.open_infos(session_id)
    return [run for run in await store.runs() if run.session_id == session_id]


async def session_info(store: SessionIndex, session_id: str) -> SessionInfo | None:
    """The session's line of the listing; None when it is not listed (`SessionLookup`)."""
    if isinstance(store, SessionLookup):
        return await store.session_info(session_id)
    return next((session for session in await store.sessions() if session.session_id == session_id), None)


async def kept_info(store: object, run_id: str) -> RunInfo | None:
    """The line of a deleted run whose history was kept; None where there is none, or no store keeps any (H1)."""
    if isinstance(store, KeptHistoryLookup):
        return await store.kept_info(run_id)
    kept = await store.kept_histories() if isinstance(store, KeptHistories) else []
    return next((run for run in kept if run.run_id == run_id), None)
