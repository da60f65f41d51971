"""The ids that a store knows: for a shell that completes them, so fast, changing nothing, and never an error."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from stores.errors import LoviaError
from stores.known import KnownIds

_RUNS = (
    "SELECT run_id, session_id FROM lovia_runs WHERE status != 'deleted' AND typeof(run_id) = 'text' ORDER BY run_id"
)
_SESSIONS = "SELECT session_id FROM lovia_sessions WHERE typeof(session_id) = 'text' ORDER BY session_id"
_PATIENCE = 0.2
"""Seconds: a shell does not wait for who writes just now."""


def known_ids(path: str | Path) -> KnownIds:
    """What the database at ``path`` knows; what cannot be read is left out. A session exists once a run is in it."""
    from stores.sqlite.connection import connect

    runs: list[tuple[str, str | None]] = []
    logs: list[tuple[str]] = []
    with suppress(LoviaError, OSError, sqlite3.Error):
        if Path(path).stat().st_size:
            with closing(connect(Path(path).resolve(), busy_timeout=_PATIENCE)) as connection:
                with suppress(sqlite3.Error):
                    runs = connection.execute(_RUNS).fetchall()
                logs = connection.execute(_SESSIONS).fetchall()
    sessions = [*(session for (session,) in logs), *(session for _, session in runs if isinstance(session, str))]
    return KnownIds([run_id for run_id, _ in runs], list(dict.fromkeys(sessions)))
