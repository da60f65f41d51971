"""The engine's errors, on the tree of ``stores.errors`` (see there for the store's part).

LoviaError
├── AgentFileError        agent_file         3   the YAML, a variable or the environment is invalid
├── AgentDriftError       agent_drift        9   on_drift="error", and the agent has changed (Z7)
├── ProviderError         provider           1   the model's provider failed; ``retryable`` tells
│   ├── CredentialsError  credentials        4   missing or refused
│   └── ScriptError       script             1   a scripted model has no turn left, or a bad one
├── CheckpointNotFoundError checkpoint_not_found 5 the run's history has not got that step or save (H2)
├── CallNotFoundError     call_not_found     5   a patch names a call that is not there (H2)
├── ResumeToolMissingError resume_tool_missing 6  a pending call's tool is gone (Z7)
├── OutputNotStoredError  output_not_stored  1   the replay of an output that was not JSON (R10)
├── InvalidOutputError    output_invalid     1   the answer is not the output that was asked for
├── GuardrailTripped      guardrail          1   a check of the agent's refused the output
├── HookError             hook               1   a hook, or a check itself, failed
└── Stopped               (no error: why a run stopped before its end, R3)
    ├── LimitReached      limit              7
    ├── TimedOut          timeout            7
    ├── SignalReceived    signal             129, 130, 143
    └── CancelRequested   cancelled          143
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stores.errors import (
    ConflictError,
    LoviaError,
    RunExistsError,
    RunLockedError,
    RunNotFoundError,
    SegmentDiffersError,
    SessionNotFoundError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreUnreadableError,
    StoreVersionError,
    StoreWriteError,
    UserError,
)

__all__ = [
    "AgentDriftError", "AgentFileError", "CallNotFoundError", "CancelRequested", "CheckpointNotFoundError",
    "ConflictError", "CredentialsError", "GuardrailTripped",
    "HookError", "InvalidOutputError", "LimitReached", "LoviaError", "OutputNotStoredError", "Problem",
    "ProviderError", "ResumeToolMissingError", "RunExistsError", "RunLockedError", "RunNotFoundError",
    "ScriptError", "SegmentDiffersError", "SessionNotFoundError", "SignalReceived", "Stopped", "StoreBusyError",
    "StoreDamagedError", "StoreError", "StoreUnreadableError", "StoreVersionError",
    "StoreWriteError", "TimedOut", "UserError",
]  # fmt: skip


@dataclass(slots=True, frozen=True)
class Problem:
    """One thing that is wrong in a YAML file. Line and column count from 1; None is the file as a whole."""

    message: str
    file: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    is_given: bool = False
    """True where the file is right, and the caller is to give a variable, or another value for it."""

    @property
    def where(self) -> str:
        """``file:line:column``, as editors and compilers write it."""
        return self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class AgentFileError(LoviaError):
    """The agent file, a variable or the environment is invalid; ``where`` is file:line:column.

    A file is reported whole: ``problems`` has all that is wrong in it, in the order of the file.
    """

    code = "agent_file"
    problems: Sequence[Problem] = ()

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> AgentFileError:
        """The error of one file with these problems; a single one is the error itself."""
        first = problems[0]
        if len(problems) == 1:
            error = cls(first.message, where=first.where, hint=first.hint)
        else:
            lines = "\n".join(f"  {problem}" for problem in problems)
            hint = "the file is right: give or set what it asks for" if all(one.is_given for one in problems) else None
            error = cls(f"{len(problems)} errors in {first.file}:\n{lines}", where=first.file, hint=hint)
        error.problems = tuple(problems)
        return error


class AgentDriftError(LoviaError):
    """The agent differs from the one the run was started with (Z7, ``on_drift: error``)."""

    code = "agent_drift"


class CheckpointNotFoundError(RunNotFoundError):
    """The run is there, but its history has not got that step or save; the hint lists what it has (H2)."""

    code = "checkpoint_not_found"


class CallNotFoundError(RunNotFoundError):
    """A patch names a tool call that the transcript has not got; the hint lists the last ones it has (H2)."""

    code = "call_not_found"


class ResumeToolMissingError(ConflictError):
    """A pending call names a tool that the agent had and no longer has (Z7)."""

    code = "resume_tool_missing"


class OutputNotStoredError(LoviaError):
    """The run completed, but its output was not JSON-safe and cannot be replayed (R10)."""

    code = "output_not_stored"


class InvalidOutputError(LoviaError):
    """The final text is not the output that was asked for; ``parse_output`` raises it, and so may the run."""

    code = "output_invalid"


class GuardrailTripped(LoviaError):  # noqa: N818 - the name that callers know
    """An output guardrail refused the answer: the run failed, and takes new input when it is resumed."""

    code = "guardrail"

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=where, hint=hint or "resume the run with input that says what to change")


class HookError(LoviaError):
    """An agent's hook or guardrail raised; what it raised is the cause. The run failed and can be resumed."""

    code = "hook"


class ProviderError(LoviaError):
    """The provider gave no usable answer. ``status`` is the HTTP status, where there was one.

    ``retry_after`` is in seconds, as the provider asked. A retryable one interrupts the run, another
    fails it (R3); either way the run can be resumed.
    """

    code = "provider"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status
        self.retry_after = retry_after
        self._retryable = retryable

    @property
    def retryable(self) -> bool:
        return self._retryable


class CredentialsError(ProviderError):
    """The provider's key is missing or was refused."""

    code = "credentials"


class ScriptError(ProviderError):
    """A scripted model has no turn for this request, or one that cannot be played."""

    code = "script"


class Stopped(LoviaError):  # noqa: N818 - no error, a reason
    """A run stopped before its end; saved as ``interrupted`` with ``stop`` as its reason (R3)."""

    code = "stopped"
    stops_calls = False
    """True when calls under way are stopped and noted, so that new input can replace them (Z2)."""

    def stop(self) -> dict[str, Any]:
        """What the head records (``RunHead.stop``)."""
        return {"reason": self.code}


class LimitReached(Stopped):
    """A limit of the run is used up. Calls not started stay pending (Z1)."""

    code = "limit"

    def __init__(self, limit: str, value: float, used: float) -> None:
        super().__init__(f"limit reached: {limit} is {value:g}, used {used:g}")
        self.limit, self.value, self.used = limit, value, used

    def stop(self) -> dict[str, Any]:
        return {"reason": "limit", "limit": self.limit, "value": self.value, "used": self.used}


class TimedOut(Stopped):
    """``--timeout`` of this process is over (Z1)."""

    code = "timeout"
    stops_calls = True

    def __init__(self, seconds: float) -> None:
        super().__init__(f"stopped by the timeout of {seconds:g} s")
        self.seconds = seconds

    def stop(self) -> dict[str, Any]:
        return {"reason": "timeout", "seconds": self.seconds}


class SignalReceived(Stopped):
    """SIGINT, SIGTERM or SIGHUP."""

    code = "signal"
    stops_calls = True

    def __init__(self, number: int, name: str) -> None:
        super().__init__(f"stopped by {name}")
        self.number, self.name = number, name

    def stop(self) -> dict[str, Any]:
        return {"reason": "signal", "signal": self.number, "name": self.name}


class CancelRequested(Stopped):
    """``lovia cancel`` asked for it (Z9)."""

    code = "cancelled"
    stops_calls = True

    def __init__(self) -> None:
        super().__init__("stopped by lovia cancel")
