"""The triage agent's tools: a service that is asked at least once, and must act at most once."""

import json
from collections import Counter
from pathlib import Path

from lovia_cli.tools.base import ToolContext

HERE = Path(__file__).parent
LABELS = HERE / "labels.csv"


def open_issues() -> list[dict[str, int | str]]:
    """The open issues, each with its number and title."""
    issues: list[dict[str, int | str]] = json.loads((HERE / "issues.json").read_text(encoding="utf-8"))
    return issues


def label(issue: int, label: str, ctx: ToolContext) -> str:
    """Label an issue.

    Args:
        issue: The issue's number.
        label: One word, such as bug.
    """
    # The key is the same when this call runs again after a crash, and different for every other call.
    line = f"{ctx.idempotency_key},{issue},{label}"
    if line not in (LABELS.read_text(encoding="utf-8").splitlines() if LABELS.exists() else []):
        with LABELS.open("a", encoding="utf-8") as labels:
            labels.write(line + "\n")
    ctx.progress(f"issue {issue} is a {label}")
    # State belongs to the run: saved with this call's result, there again after a crash, in every later call.
    ctx.state[f"issue {issue}"] = label
    return f"issue {issue} is labelled {label}"


def summary(ctx: ToolContext) -> dict[str, int]:
    """How many issues have got which label in this run."""
    return dict(Counter(str(name) for name in ctx.state.values()))
