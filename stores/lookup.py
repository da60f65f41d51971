"""What a store knows of one id, without a look at the others.

The abilities are optional, and protocols as those of `stores.protocols` are. Ask through the functions: they go through
the whole listing of a store that cannot look up.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from stores.lines import RunInfo, SessionInfo
from stores.protocols import KeptHistories, RunIndex, SessionIndex


@runtime_checkable
class OpenRunLookup(Protocol):
    """Optional beside `RunIndex`: one session's unfinished runs."""

    async def open_infos(self, session_id: str) -> list[RunInfo]:
        """What `RunIndex.open_runs` would give, seen without the lock: nothing is waited for, tidied or created."""
        ...


@runtime_checkable
class SessionLookup(Protocol):
    """Optional beside `SessionIndex`: one session's line."""

    async def session_info(self, session_id: str) -> SessionInfo | None:
        """The session's line of the listing; None when it has none there. A damaged one says so."""
        ...


@runtime_checkable
class KeptHistoryLookup(Protocol):
    """Optional beside `KeptHistories`: one of them."""

    async def kept_info(self, run_id: str) -> RunInfo | None:
        """The run's line of `KeptHistories.kept_histories`; None when it has none there."""
        ...


async def open_infos(store: RunIndex, session_id: str) -> list[RunInfo]:
    """The session's runs that may be unfinished, updated last first, without its lock.

    From a listing they are all its runs: whose segment is in the session is finished, and for the caller to leave out.
    """
    if isinstance(store, OpenRunLookup):
        return await store.open_infos(session_id)
    return [run for run in await store.runs() if run.session_id == session_id]


async def session_info(store: SessionIndex, session_id: str) -> SessionInfo | None:
    """The session's line of the listing; None when it is not listed."""
    if isinstance(store, SessionLookup):
        return await store.session_info(session_id)
    return next((session for session in await store.sessions() if session.session_id == session_id), None)


async def kept_info(store: object, run_id: str) -> RunInfo | None:
    """The line of a deleted run whose history was kept (H1); None where there is none, or the store keeps none."""
    if isinstance(store, KeptHistoryLookup):
        return await store.kept_info(run_id)
    kept = await store.kept_histories() if isinstance(store, KeptHistories) else []
    return next((run for run in kept if run.run_id == run_id), None)
