"""The tools of the crash sweep's agent. Their effect is a line with the call's idempotency key."""

import os
import signal
from pathlib import Path

from lovia_cli.tools.base import ToolContext


def stamp(what: str, ctx: ToolContext) -> str:
    """Stamp something.

    Args:
        what: The thing.
    """
    _note(ctx)
    ctx.state[what] = ctx.idempotency_key
    return f"stamped {what}"


def big(ctx: ToolContext) -> str:
    """Give more than one chunk of the store holds. With DIE set, take the whole process down first."""
    if os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    _note(ctx)
    return "0123456789abcdef" * 2100


def _note(ctx: ToolContext) -> None:
    with Path("effects.txt").open("a", encoding="utf-8") as effects:
        effects.write(ctx.idempotency_key + "\n")
