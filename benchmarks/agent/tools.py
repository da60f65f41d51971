"""The one tool of the benchmark's agent."""

from pathlib import Path

from lovia_cli.tools.base import ToolContext

RESULT = " ".join(f"line {number} of a result that is as long as results are" for number in range(18))


async def work(note: str, ctx: ToolContext) -> str:
    """Do nothing; in the first step, put 50 KB into the user state. Each call leaves a mark for strace.

    Args:
        note: What the model has to say.
    """
    if ctx.step == 1:
        ctx.state["notes"] = [f"{number:06d} {note[:92]}" for number in range(500)]
    _mark(ctx.step)
    return RESULT


def _mark(step: int) -> None:
    Path(f"/mark/{step}").exists()
