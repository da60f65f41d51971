"""The records that stores keep: segments of a session, and the saves, head and snapshot of a run.

A run is stored as a log of `Save`s. Each holds what is new: the entries recorded since the one
before and the head fields that changed. `fold` turns any prefix of that log into the `RunSnapshot`
of that moment, so every save is history (H1) and none costs more than what is new.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import StrEnum

from stores.entries import JSON, Entry, in_call_order


class Status(StrEnum):
    """Where a run stands (R3). All but ``completed`` can be resumed."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    AWAITING_APPROVAL = "awaiting_approval"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(slots=True)
class Usage:
    """Tokens of one response or a sum over many. None is unknown, never zero.

    A sum counts what is known; ``unknown`` is the number of responses that told nothing, so a sum
    with ``unknown > 0`` does not pretend to be exact. ``requests`` counts responses.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    requests: int = 0
    unknown: int = 0

    def plus(self, other: Usage) -> Usage:
        """The sum of both; a number is unknown only where both are."""
        return Usage(
            input_tokens=_plus(self.input_tokens, other.input_tokens),
            output_tokens=_plus(self.output_tokens, other.output_tokens),
            cache_read_tokens=_plus(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_plus(self.cache_write_tokens, other.cache_write_tokens),
            requests=self.requests + other.requests,
            unknown=self.unknown + other.unknown,
        )

    @property
    def total_tokens(self) -> int:
        """Input plus output tokens, as far as known."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    def as_json(self) -> dict[str, JSON]:
        """All six numbers by name."""
        return {f.name: getattr(self, f.name) for f in fields(Usage)}

    @staticmethod
    def from_json(data: JSON) -> Usage:
        """Lenient: missing numbers are unknown; fields we do not know, and what is no number, are ignored."""
        told = data if isinstance(data, dict) else {}
        known = {f.name: told.get(f.name) for f in fields(Usage)}
        return Usage(**{name: value for name, value in known.items() if type(value) is int})


def _plus(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


@dataclass(slots=True, kw_only=True)
class RunHead:
    """The small mutable part of a run (R2). Every value is JSON; missing ones have these defaults (D2).

    ``stop`` is why an interrupted run stopped: ``{"reason": "signal", "signal": 15, "name": "SIGTERM"}``, a
    ``"limit"`` or ``"timeout"`` with its numbers, or ``"cancelled"``, ``"provider"``, ``"save"`` or ``"abandoned"``
    (the task that executed it was cancelled) alone. ``model`` is the one that answered last, ``responses`` counts
    the responses by agent name. ``cost_usd`` is what the responses cost whose price is known, ``cost_unknown`` the
    number of the others. ``stopped_calls`` and ``started_calls`` name calls as ``"STEP.POSITION"``.
    ``queued_input`` holds accepted inputs that the transcript has not got yet, as entry JSON.
    ``parent`` is where a fork comes from: ``{"run_id", "save", "step"}``. Of a run with a ``history_limit`` only the
    newest so many saves are history (H1); None is all.
    Times are epoch seconds; ``active_seconds`` counts executing time only.
    """

    agent: str = ""
    status: str = Status.INTERRUPTED
    session_id: str | None = None
    history_upto: str | None = None
    started_at: float | None = None
    updated_at: float | None = None
    steps: int = 0
    save: int = 0
    usage: dict[str, JSON] = field(default_factory=dict)
    cost_usd: float | None = None
    cost_unknown: int = 0
    output: JSON = None
    error: dict[str, JSON] | None = None
    finish_reason: str | None = None
    model: str | None = None
    stop: dict[str, JSON] | None = None
    last_input_tokens: int | None = None
    context: dict[str, JSON] = field(default_factory=dict)
    state: dict[str, JSON] = field(default_factory=dict)
    pending_handoff: str | None = None
    queued_input: list[dict[str, JSON]] = field(default_factory=list)
    stopped_calls: list[str] = field(default_factory=list)
    started_calls: list[str] = field(default_factory=list)
    tool_calls: int = 0
    approvals: list[dict[str, JSON]] = field(default_factory=list)
    grants: list[dict[str, JSON]] = field(default_factory=list)
    responses: dict[str, int] = field(default_factory=dict)
    active_seconds: float = 0.0
    limits: dict[str, JSON] = field(default_factory=dict)
    fingerprint: dict[str, JSON] | None = None
    config: dict[str, JSON] = field(default_factory=dict)
    parent: dict[str, JSON] | None = None
    history_limit: int | None = None
    extra: dict[str, JSON] = field(default_factory=dict)


CONSTANT_HEAD_FIELDS = frozenset({"session_id", "started_at", "parent", "history_limit"})
"""Head fields that save 1 sets and no later save changes, but for the one that forks."""

_HEAD_FIELDS = {f.name for f in fields(RunHead)} - {"extra"}


@dataclass(slots=True, kw_only=True)
class Save:
    """One durable checkpoint write: what is new since the save before.

    ``number`` counts from 1 within the run, ``step`` is the last step begun (0 before the first
    response), ``at`` epoch seconds. ``event`` says what happened: one of `EVENTS`. ``entries`` are new,
    in the order recorded. ``head`` has the head fields that changed, by name; ``save``, ``updated_at``
    and ``steps`` follow from the save itself and are never in it. ``info`` is about this save alone
    (the model that answered, its usage, a call's seconds) and is not part of the snapshot.
    Of the transcript before it the first ``keep`` entries stay, and None is all: only a fork's patch cuts (H2).
    """

    number: int
    step: int
    at: float
    event: str
    entries: list[Entry] = field(default_factory=list)
    head: dict[str, JSON] = field(default_factory=dict)
    info: dict[str, JSON] = field(default_factory=dict)
    keep: int | None = None
    extra: dict[str, JSON] = field(default_factory=dict)

    def entries_after(self, before: int) -> int:
        """How many entries the transcript has with this save, when it had ``before``."""
        return (before if self.keep is None else self.keep) + len(self.entries)


EVENTS = frozenset(
    {
        "started",  # save 1: the input
        "resumed",  # an unfinished run goes on
        "response",  # a model response, before any tool of it runs
        "call_started",  # the durable mark of a call that must not be re-run blindly (Z5)
        "result",  # a tool result
        "input",  # new input accepted, or moved from the queue into the transcript
        "handoff",
        "interrupted",
        "paused",  # an approval is open
        "decided",  # an approval was decided
        "failed",
        "completed",
        "finalized",  # S6
        "forked",
        "imported",  # R8: saved first, whole
    }
)


@dataclass(slots=True, kw_only=True)
class RunSnapshot:
    """A run at one save: its id, its own entries in call order (not the session's), and its head (R2)."""

    run_id: str
    head: RunHead
    entries: list[Entry] = field(repr=False)

    @property
    def status(self) -> str:
        return self.head.status


def fold(run_id: str, saves: Iterable[Save]) -> RunSnapshot | None:
    """The snapshot after the last of ``saves``, which start at save 1; None when there are none."""
    head: RunHead | None = None
    entries: list[Entry] = []
    for save in saves:
        head = head or RunHead()
        apply_head(head, save)
        if save.keep is not None:
            entries = in_call_order(entries)[: save.keep]
        entries.extend(save.entries)
    return None if head is None else RunSnapshot(run_id=run_id, head=head, entries=in_call_order(entries))


def apply_head(head: RunHead, save: Save) -> None:
    """Bring ``head`` from the save before to this one. Fields we do not know go to ``extra`` (D1)."""
    for name, value in save.head.items():
        if name in _HEAD_FIELDS:
            setattr(head, name, value)
        else:
            head.extra[name] = value
    head.save, head.steps, head.updated_at = save.number, save.step, save.at


def head_to_json(head: RunHead) -> dict[str, JSON]:
    """The whole head by field name, unknown fields included."""
    out = {name: getattr(head, name) for name in sorted(_HEAD_FIELDS)}
    out.update(head.extra)
    return out


@dataclass(slots=True, kw_only=True)
class Segment:
    """One finished run inside a session (S1): run id, entries in call order, opaque ``meta``.

    ``truncated``: a rewind has cut off its end (M3), so it tells no longer how the run ended, and has no ``meta``.
    """

    run_id: str
    entries: list[Entry] = field(repr=False)
    meta: dict[str, JSON] = field(default_factory=dict)
    truncated: bool = False

    @property
    def told(self) -> dict[str, JSON]:
        """What a run of lovia's noted of itself in ``meta``: empty where that is another writer's."""
        told = self.meta.get("run")
        return told if isinstance(told, dict) else {}

    @property
    def started_at(self) -> float | None:
        """When that run began, in epoch seconds; None where ``meta`` does not tell."""
        return self._time("started_at")

    @property
    def finished_at(self) -> float | None:
        """When it ended."""
        return self._time("finished_at")

    def _time(self, name: str) -> float | None:
        timing = self.meta.get("timing")
        at = timing.get(name) if isinstance(timing, dict) else None
        return at if isinstance(at, int | float) else None
