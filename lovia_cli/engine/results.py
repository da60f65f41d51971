"""From a stored run to the result a caller gets (R13)."""

from __future__ import annotations

from lovia_cli.engine.options import RunResult
from stores.entries import Entry
from stores.records import RunSnapshot, Usage


def result_of(run: RunSnapshot, history: list[Entry], model: str) -> RunResult:
    """The result as the stored run tells it; ``history`` is what stood before it in the session.

    Its model is the one that answered last, or ``model`` when none has.
    """
    head = run.head
    return RunResult(
        run_id=run.run_id,
        session_id=head.session_id,
        status=head.status,
        output=head.output,
        entries=run.entries,
        messages=[*history, *run.entries],
        steps=head.steps,
        usage=Usage.from_json(head.usage),
        cost_usd=None if head.cost_unknown else head.cost_usd,
        tool_calls=head.tool_calls,
        finish_reason=head.finish_reason,
        final_agent=head.agent,
        model=head.model or model,
        approvals=head.approvals,
        stop=head.stop,
        snapshot=run,
    )
