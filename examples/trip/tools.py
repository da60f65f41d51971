"""The trip planner's tools. Each leaves a line behind, so that one can count how often it ran."""

import os
import signal
import time
from pathlib import Path

from lovia_cli.tools.base import ToolContext

HERE = Path(__file__).parent
REPORTS = {"Lisbon": "sun, 24 °C", "Porto": "rain, 17 °C", "Faro": "clouds, 21 °C"}


def weather(city: str, ctx: ToolContext) -> str:
    """The weekend's weather.

    Args:
        city: The city's name, such as Lisbon.
    """
    time.sleep(1)
    _note(ctx, f"weather {city}")
    return f"{city}: {REPORTS.get(city, 'unknown')}"


def book(city: str, nights: int, ctx: ToolContext) -> dict[str, str | int]:
    """Book a room.

    Args:
        city: Where.
        nights: How many nights.
    """
    time.sleep(1)
    if os.environ.get("TRIP_KILL"):
        os.kill(os.getpid(), signal.SIGKILL)  # the plug is pulled in the middle of a call
    # A real booking service takes the key and makes the same booking once, however often it is asked.
    _note(ctx, f"book {city}, key {ctx.idempotency_key}")
    return {"booking": f"{city}-{nights}", "key": ctx.idempotency_key}


def _note(ctx: ToolContext, line: str) -> None:
    with (HERE / "tool-calls.txt").open("a", encoding="utf-8") as notes:
        notes.write(f"{ctx.run_id}: {line}\n")
