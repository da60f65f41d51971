"""What was in force at each step of a recorded run, as its history tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lovia_cli.engine.conversation import Conversation
from lovia_cli.errors import RunNotFoundError
from stores.closing import snapshot_of_segment
from stores.lines import SaveInfo
from stores.protocols import Checkpointer, Fork, History, Session
from stores.records import RunHead, RunSnapshot, Usage

_SETTING = frozenset({"started", "resumed", "handoff", "forked", "imported"})
"""The saves that can change with which agent, variables and limits a run goes on."""


class Recording:
    """A run with its saves, oldest first, and the heads that were in force from which save on."""

    def __init__(self, run: RunSnapshot, saves: Sequence[SaveInfo] = (), heads: Sequence[RunHead] = ()) -> None:
        self.run = run
        self._oldest = heads[0] if heads else run.head
        self._asked: dict[int, RunHead] = {}
        self._spent: dict[int, dict[str, float]] = {}
        in_force, coming = self._oldest, list(heads)
        tokens, cost = 0, 0.0
        for save in saves:
            while coming and coming[0].save <= save.number:
                in_force = coming.pop(0)
            if save.event == "response":
                self._asked[save.step] = in_force
                self._spent[save.step] = {"max_total_tokens": tokens, "max_cost_usd": cost}
                tokens += Usage.from_json(save.info.get("usage")).total_tokens
                cost += save.info.get("cost_usd") or 0.0

    def head_at(self, step: int) -> RunHead:
        """The head with which the response of that step was asked for; the oldest one known, where history ends."""
        return self._asked.get(step, self._oldest)

    def spent_before(self, step: int) -> dict[str, float]:
        """Tokens and cost until that step, as far as the history tells."""
        return self._spent.get(step, {})


async def recording_of(
    run_id: str, checkpointer: Checkpointer, session: Session | None, session_id: str | None
) -> Recording:
    """The recording of a run, read without its lease; of a run whose checkpoint is gone, what its segment tells."""
    run = await checkpointer.load(run_id)
    if run is None and session_id is not None:
        segment = await Conversation(session, session_id).segment(run_id)
        run = snapshot_of_segment(segment, session_id) if segment else None
    if run is None:
        raise RunNotFoundError(f"no run {run_id!r}", hint="see what there is: lovia history")
    if not isinstance(checkpointer, History):
        return Recording(run)
    saves, heads = list(reversed(await checkpointer.history(run_id))), []
    for save in saves:
        if save.event in _SETTING or save is saves[0]:
            then = await _head_then(checkpointer, run_id, save.number)
            heads += [then] if then else []
    return Recording(run, saves, heads)


async def _head_then(checkpointer: History, run_id: str, save: int) -> RunHead | None:
    """The head at that save, without the transcript where the store can do that."""
    if isinstance(checkpointer, Fork):
        return await checkpointer.moment(run_id, save=save)
    then = await checkpointer.snapshot(run_id, save)
    return then.head if then else None


def noted(head: RunHead, name: str) -> Any:
    """What the fingerprint has of a request beside what is compared on resume; None in records without."""
    also = (head.fingerprint or {}).get("also")
    return also.get(name) if isinstance(also, dict) else None
