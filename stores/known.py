"""What a store gives a shell that completes ids."""

from __future__ import annotations

from typing import NamedTuple


class KnownIds(NamedTuple):
    """Ids of runs and of sessions, each once."""

    runs: list[str]
    sessions: list[str]
