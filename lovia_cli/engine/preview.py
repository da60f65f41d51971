"""What an order would come to, without anything being written: `Runner.preview`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from lovia_cli.engine import decisions
from lovia_cli.engine.drift import describe
from lovia_cli.engine.execution import Execution
from lovia_cli.engine.glass import GlassRuns, GlassSession
from lovia_cli.engine.inputs import new_inputs
from lovia_cli.engine.limits import limits_in_force, reached, used
from lovia_cli.engine.opening import Opened
from lovia_cli.engine.order import RunOrder
from lovia_cli.errors import LimitReached, UserError
from stores.protocols import RunIndex
from stores.records import RunSnapshot

InputFate = Literal["starts", "queued", "repeated", "ignored", "none"]
"""What becomes of the input: it starts the run, goes to it after open calls, is known to it already (K2), is ignored
(R5), or there is none.
"""


@dataclass(slots=True, frozen=True, kw_only=True)
class Preview:
    """Which case of R4 and K1 to K6 an order is.

    ``run_id`` is None where one would be generated, ``stored`` is the run as it is, ``history`` counts the finished
    runs that it would start from. ``discards`` is True when a stored run would be started over. ``finalised`` are
    unfinished runs that would be ended first (K2). ``limit`` is one that is used up: the run would stop at once.
    """

    case: Literal["start", "continue", "replay"]
    run_id: str | None
    session_id: str | None
    stored: RunSnapshot | None
    open_calls: int
    input: InputFate
    history: int
    discards: bool = False
    finalised: list[str] = field(default_factory=list)
    limit: LimitReached | None = None
    warnings: list[str] = field(default_factory=list)


async def preview(order: RunOrder) -> Preview:
    """What ``order`` would do. Raises what would refuse it. Nothing is written, no lease taken, no model asked."""
    glass, order = _behind_glass(order)
    opened, drifted = await Execution(order).foresee()
    warnings = [text for code, text in opened.notices if code != "continues"]
    if drifted:
        warnings.append(f"the agent has changed since this run was saved: {describe(drifted)}")
    begins = opened.mode == "fresh"
    return Preview(
        case="start" if begins else "replay" if opened.mode == "replay" else "continue",
        run_id=order.run_id if begins else opened.journal.run_id,
        session_id=opened.conversation.session_id,
        stored=None if begins else opened.journal.snapshot(),
        open_calls=0 if begins else len(opened.journal.pending()),
        input=_fate(order, opened),
        history=len(opened.conversation.segments),
        discards=bool(begins and glass and order.run_id and await glass.info(order.run_id)),
        finalised=glass.finalised if glass else [],
        limit=_used_up(order, opened),
        warnings=warnings,
    )


def _behind_glass(order: RunOrder) -> tuple[GlassRuns | None, RunOrder]:
    session = GlassSession(order.session) if order.session else None
    if order.checkpoint is None:
        return None, replace(order, session=session)
    if not isinstance(order.checkpoint.store, RunIndex):
        raise UserError("this store does not list its runs, so nothing can be said beforehand", hint="just run it")
    glass = GlassRuns(order.checkpoint.store, session)
    return glass, replace(order, session=session, checkpoint=replace(order.checkpoint, store=glass))


def _fate(order: RunOrder, opened: Opened) -> InputFate:
    if opened.mode == "fresh":
        return "starts"
    if opened.inputs:
        return "queued"
    if opened.input_ignored:
        return "ignored"
    known = [*opened.conversation.entries(), *opened.journal.entries]
    return "repeated" if new_inputs(order.input, known) or new_inputs(order.steer, ()) else "none"


def _used_up(order: RunOrder, opened: Opened) -> LimitReached | None:
    """The limit that stopped the run and would stop it again."""
    head = opened.journal.head
    if opened.mode != "resume" or not decisions.used_up(order, head):
        return None
    limits = limits_in_force(order.agent.limits, head.limits, order.limits)
    return reached(limits, used(head, head.active_seconds), but="")
