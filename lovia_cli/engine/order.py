"""What one call of the Runner asks for, in one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lovia_cli.agent import Agent, check_amount, check_drift_policy
from lovia_cli.engine.events import Event, Sink
from lovia_cli.engine.inputs import Input
from lovia_cli.engine.options import POLICIES, CheckpointOptions, StopSwitch
from lovia_cli.errors import UserError
from stores.entries import JSON
from stores.ids import check_id
from stores.protocols import Checkpointer, ResultStore, Session


def unheard(event: Event) -> None:
    """The sink of a run that nobody watches."""
    del event


def unlearned(names: Iterable[str]) -> None:
    """For a run that nobody shows: there is nothing to hide."""
    del names


@dataclass(slots=True, kw_only=True)
class RunOrder:
    """The arguments of `Runner.run`, checked."""

    agent: Agent
    input: Input = ""
    session: Session | None = None
    session_id: str | None = None
    checkpoint: CheckpointOptions | None = None
    steer: Input = ""
    results: ResultStore | None = None
    deps: Any = None
    variables: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    config: dict[str, JSON] = field(default_factory=dict)
    on_drift: str | None = None
    replay_only: bool = False
    on_event: Sink = unheard
    learn: Callable[[Iterable[str]], None] = unlearned
    stop: StopSwitch = field(default_factory=StopSwitch)

    def __post_init__(self) -> None:
        if self.on_drift is not None:
            check_drift_policy(self.on_drift)
        check_amount("timeout", self.timeout, (int, float))
        if self.session_id is not None:
            check_id(self.session_id, "session id")
            if self.session is None:
                raise UserError("a session id needs a session store", hint="pass session=, such as FileSession(path)")
        elif self.session is not None and self.run_id is None:
            raise UserError("a session store without a session id would remember nothing", hint="pass session_id=")
        if self.checkpoint is None:
            return
        if self.checkpoint.if_run_exists not in POLICIES:
            raise UserError(
                f"unknown if_run_exists {self.checkpoint.if_run_exists!r}", hint="use one of: " + ", ".join(POLICIES)
            )
        if self.run_id is not None:
            check_id(self.run_id, "run id")
        elif self.checkpoint.if_run_exists != "resume":
            raise UserError("if_run_exists needs a run id", hint="name the run: --run-id ID")

    @property
    def run_id(self) -> str | None:
        """The run's id, where the caller has named one."""
        if self.checkpoint is None:
            return None
        given = self.checkpoint.resume_from
        return self.checkpoint.run_id or (given.run_id if given else None)

    @property
    def store(self) -> Checkpointer | None:
        """Where the run is saved, if anywhere."""
        return self.checkpoint.store if self.checkpoint else None
