"""The environment variables that a run's agent file names: their names are kept with the run, their values never."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

KEY = "agent_environment"
"""Where a run's config has the names, beside what a caller keeps in it."""


def names_in(config: Any) -> list[str]:
    """The names that a run's config has. A record may lack any of it, and older ones have none (D2)."""
    names = config.get(KEY) if isinstance(config, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def with_names(config: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The config with these names, too. Those of an earlier agent stay: its tools' results do."""
    together = {*names_in(config), *names}
    return {**config, KEY: sorted(together)} if together else config
