"""Exit codes: the one table of them, and what an error or a result exits with."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from lovia_cli import errors

if TYPE_CHECKING:
    from lovia_cli.engine.options import RunResult


class Exit(IntEnum):
    """What the process's exit code tells a script. The numbers are fixed."""

    OK = 0
    """Completed; also a replay, or nothing to do."""
    FAILED = 1
    """The run failed, or the provider stopped it (``retryable`` tells)."""
    USAGE = 2
    """A bad option, a missing argument, an ambiguous id."""
    AGENT = 3
    """The agent file, a variable or the environment is invalid."""
    CREDENTIALS = 4
    """The provider's key is missing or was refused."""
    NOT_FOUND = 5
    """No such run, session, step or call."""
    CONFLICT = 6
    """The id exists, the run is executed elsewhere, or its status does not allow it."""
    LIMIT = 7
    """A limit was reached; a higher one lets the run go on."""
    APPROVAL = 8
    """The run waits for an approval."""
    DIFFERS = 9
    """Two runs differ, or an agent and what was recorded of it."""
    STORE = 10
    """The store is damaged, cannot be written, or is of a newer lovia."""
    HUP = 129
    INT = 130
    TERM = 143
    """Stopped by a signal, or by ``lovia cancel``; saved, and can be resumed."""


_BY_ERROR: dict[type[BaseException], Exit] = {
    errors.UserError: Exit.USAGE,
    errors.RunExistsError: Exit.CONFLICT,
    errors.RunNotFoundError: Exit.NOT_FOUND,
    errors.SessionNotFoundError: Exit.NOT_FOUND,
    errors.ConflictError: Exit.CONFLICT,
    errors.StoreError: Exit.STORE,
    errors.AgentFileError: Exit.AGENT,
    errors.AgentDriftError: Exit.DIFFERS,
    errors.ProviderError: Exit.FAILED,
    errors.CredentialsError: Exit.CREDENTIALS,
    errors.LimitReached: Exit.LIMIT,
    errors.TimedOut: Exit.LIMIT,
    errors.CancelRequested: Exit.TERM,
    KeyboardInterrupt: Exit.INT,
}

_BY_STOP = {
    "limit": Exit.LIMIT,
    "timeout": Exit.LIMIT,
    "cancelled": Exit.TERM,
    "save": Exit.STORE,
    "provider": Exit.FAILED,
}


def of_error(error: BaseException) -> int:
    """The exit code of an error; the nearest class in its tree decides, one we do not know is 1."""
    if isinstance(error, errors.SignalReceived):
        return 128 + error.number
    return next((_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR), Exit.FAILED)


def of_result(result: RunResult) -> int:
    """The exit code of a run's end. A completed run whose session could not be written has an error, and 10."""
    if result.status == "awaiting_approval":
        return Exit.APPROVAL
    if result.status == "interrupted" and result.stop:
        reason = result.stop.get("reason")
        if reason == "signal":
            return 128 + int(result.stop.get("signal", 2))
        if reason in _BY_STOP:
            return _BY_STOP[reason]
    if result.error is not None:
        return of_error(result.error)
    return Exit.OK if result.status == "completed" else Exit.FAILED
