"""What the engine tells whoever watches a run. One event is one fact; nothing depends on it being read.

`Event` is what a sink gets. `lovia_cli.engine.lines` says what each type of event carries: the event's ``data`` between
the keys that every line of ``-o ndjson`` has. A replay has ``run.started`` and ``run.finished`` only (R6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, frozen=True)
class Event:
    """One fact about the run ``run_id``, at epoch second ``ts``."""

    type: str
    run_id: str
    ts: float
    data: dict[str, Any] = field(default_factory=dict)


Sink = Callable[[Event], None]
