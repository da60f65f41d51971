"""What the tests of tools share."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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


async def run_python(code: str, stdin: str = "") -> tuple[int, str, str]:
    """Run ``code`` in a process of its own; its exit code, stdout and stderr."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr
