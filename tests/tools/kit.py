"""What the tests of tools share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lovia_cli.tools.base import ToolContext


def make_context(*, state: dict[str, Any] | None = None, progress: Callable[[str], object] = str) -> ToolContext:
    return ToolContext(
        run_id="run-1",
        session_id=None,
        agent="tester",
        step=2,
        position=3,
        call_id="call_a",
        idempotency_key="run-1/2.3",
        state={} if state is None else state,
        progress=progress,
    )
