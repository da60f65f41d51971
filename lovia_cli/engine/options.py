"""What a caller gives a run, and what it gets back: the options, the switch that stops it, the result."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from lovia_cli.errors import Stopped
from stores.entries import JSON, Entry
from stores.errors import LoviaError
from stores.protocols import Checkpointer
from stores.records import RunSnapshot, Status, Usage

IfRunExists = Literal["resume", "restart", "fail", "resume_only"]
POLICIES: tuple[IfRunExists, ...] = get_args(IfRunExists)


@dataclass(slots=True, frozen=True)
class CheckpointOptions:
    """Where a run is saved, and what an existing run of that id means (R4).

    Without ``run_id`` a new one is generated; with a session, section 5 of the contract (K) then decides whether an
    unfinished run of the session goes on. ``if_run_exists`` needs a ``run_id``. ``delete_on_success`` drops the run
    and its history once it is in its session, which it needs (R7). ``resume_from`` is a snapshot to go on from
    instead of a stored run: it is saved first, whole, under ``run_id`` or its own id; over a stored run of that id it
    needs ``restart`` (R8).
    """

    store: Checkpointer
    run_id: str | None = None
    if_run_exists: IfRunExists = "resume"
    delete_on_success: bool = False
    resume_from: RunSnapshot | None = None


class StopSwitch:
    """Stops a run from outside: a signal handler or another task calls `stop` in the run's event loop.

    The run stops what it is doing, saves, and ends as ``interrupted``. Only the first call counts.
    """

    def __init__(self) -> None:
        self.reason: Stopped | None = None
        self._fired: asyncio.Future[Stopped] | None = None

    def stop(self, reason: Stopped) -> None:
        """Stop the run for ``reason``, which becomes its ``stop``.

        From the run's event loop only; another thread calls ``loop.call_soon_threadsafe(switch.stop, reason)``.
        """
        if self.reason is None:
            self.reason = reason
            if self._fired is not None:
                self._fired.set_result(reason)

    @property
    def fired(self) -> asyncio.Future[Stopped]:
        """The reason, once `stop` has been called. It is one future for all who wait: none of them may cancel it."""
        if self._fired is None:
            self._fired = asyncio.get_running_loop().create_future()
            if self.reason is not None:
                self._fired.set_result(self.reason)
        return self._fired


@dataclass(slots=True, kw_only=True)
class RunResult:
    """How a run ended (R13). The numbers count this run only, all its processes together.

    ``entries`` are the run's own, ``messages`` the whole conversation (history first). ``status`` is ``completed``
    unless the run stopped or failed: then ``error`` is why, and `raise_for_status` raises it. A completed run has an
    ``error``, too, when a store failed behind its end (R7).

    ``output`` is what the agent's ``parse_output`` made, or the final text; of a replayed run it is the stored form
    of that (R6). ``cost_usd`` is US dollars, and None as soon as one response's price is unknown. ``model`` is the one
    that answered last. ``stop`` and ``approvals`` are those of the `RunHead`. ``replayed`` tells that the run was
    completed before, and no model asked (R6); ``resumed``, that an unfinished run has gone on; ``input_ignored``, that
    the input given was not the one which the run has (R5). ``warnings`` are sentences for people, and ``snapshot`` is
    the stored run that all of it is read from.
    """

    run_id: str
    session_id: str | None = None
    status: str = Status.COMPLETED
    output: JSON = None
    entries: list[Entry] = field(default_factory=list, repr=False)
    messages: list[Entry] = field(default_factory=list, repr=False)
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    tool_calls: int = 0
    finish_reason: str | None = None
    final_agent: str = ""
    model: str = ""
    replayed: bool = False
    resumed: bool = False
    input_ignored: bool = False
    approvals: list[dict[str, Any]] = field(default_factory=list)
    stop: dict[str, Any] | None = None
    error: LoviaError | None = None
    warnings: list[str] = field(default_factory=list)
    snapshot: RunSnapshot | None = None

    def raise_for_status(self) -> RunResult:
        """Return the result of a completed run; raise the ``error`` of any other."""
        if self.error is not None:
            raise self.error
        return self
