"""What can go wrong in lovia, as one tree. Every error says what to do in ``hint``.

    LoviaError                        code             the command's exit code
    ├── UserError                     usage            2   the call itself is wrong
    │   ├── RunExistsError            run_exists       6   if_run_exists="fail", or a taken name
    │   ├── RunNotFoundError          run_not_found    5   if_run_exists="resume_only"
    │   ├── SessionNotFoundError      session_not_found 5
    │   └── ConflictError             conflict         6   the status does not allow it
    │       └── RunLockedError        run_locked       6   another executor holds the run (R11)
    └── StoreError                    store            10
        ├── SegmentDiffersError       segment_differs  10  another text is stored under that run id (S3)
        ├── StoreWriteError           store_write      10  nothing was acknowledged (R9)
        ├── StoreDamagedError         store_damaged    10  names the file; `lovia doctor` (D3)
        ├── StoreUnreadableError      store_unreadable 10  it may be well: this process is not let at it
        ├── StoreVersionError         store_version    10  a newer lovia wrote it (D1)
        └── StoreBusyError            store_busy       10  a lock was held for too long

The engine's own errors (``lovia_cli.errors``) hang on the same root.
"""

from __future__ import annotations

from typing import Any


class LoviaError(Exception):
    """The root. ``message`` is what happened, ``where`` names the file or record, ``hint`` what to do."""

    code = "error"

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        """What is no text, as a caller from Python may have it (another error, a path), is its stored form (D4)."""
        self.message = _text(message)
        self.where = None if where is None else _text(where)
        self.hint = None if hint is None else _text(hint)
        super().__init__(self.message)

    def as_json(self) -> dict[str, Any]:
        """``{code, message, hint, retryable}``: the error object of the JSON output and of the store, clean (D4)."""
        from stores.values import plain

        text = f"{self.message} ({self.where})" if self.where else self.message
        return {"code": self.code, "message": plain(text), "hint": plain(self.hint), "retryable": self.retryable}

    @property
    def retryable(self) -> bool:
        """True when the same command may succeed later without a change."""
        return False


class UserError(LoviaError):
    """The caller asked for something that cannot be."""

    code = "usage"


class RunExistsError(UserError):
    """A run of that id is stored already (R4, ``fail``)."""

    code = "run_exists"


class RunNotFoundError(UserError):
    """No run of that id is stored (R4, ``resume_only``)."""

    code = "run_not_found"


class SessionNotFoundError(UserError):
    """No session of that id is stored."""

    code = "session_not_found"


class ConflictError(UserError):
    """The record is there, but its status does not allow this."""

    code = "conflict"


class RunLockedError(ConflictError):
    """Another executor holds the run (R11); the message names its pid and host."""

    code = "run_locked"

    @property
    def retryable(self) -> bool:
        return True


class StoreError(LoviaError):
    """The store could not do what was asked."""

    code = "store"


class SegmentDiffersError(StoreError):
    """The session holds another segment under that run id; it was left as it is (S3)."""

    code = "segment_differs"

    @classmethod
    def of(cls, session_id: str, run_id: str) -> SegmentDiffersError:
        """The error for other entries under that run id of the session."""
        what = f"session {session_id!r} holds other entries under run {run_id!r}; they were left as they are"
        return cls(what, hint="append under a new run id")


class StoreWriteError(StoreError):
    """A write did not reach the disk. What was acknowledged before is safe (R9)."""

    code = "store_write"

    @property
    def retryable(self) -> bool:
        return True


class StoreDamagedError(StoreError):
    """A file is not what was written, or one that another file names is gone (D3)."""

    code = "store_damaged"

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=where, hint=hint or "check and repair the store with: lovia doctor --repair")


class StoreUnreadableError(StoreError):
    """The system keeps this process from reading a part of the store. Nothing says that it is damaged."""

    code = "store_unreadable"

    def __init__(self, message: str, *, where: str, hint: str | None = None) -> None:
        from shlex import quote

        hint = hint or f"let this user read and write it: chmod u+rwX {quote(where)}"
        super().__init__(message, where=where, hint=hint)


class StoreVersionError(StoreError):
    """A newer lovia has written this; reading it with an older one could lose data (D1)."""

    code = "store_version"

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=where, hint=hint or "upgrade lovia: pip install --upgrade lovia-cli")


class StoreBusyError(StoreError):
    """A lock stayed taken for longer than the store waits."""

    code = "store_busy"

    @property
    def retryable(self) -> bool:
        return True


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    from stores.values import ValueNotStorable, to_text

    try:
        return to_text(given)
    except ValueNotStorable:
        return type(given).__name__


def out_of_reach(error: OSError, what: str, where: str) -> StoreError:
    """``error`` of a look at the store's own path: what keeps this user out stands above it."""
    what = f"{what}: {error.strerror}"
    if not isinstance(error, PermissionError):
        return StoreError(what, where=where)
    hint = "let this user into every folder above it, or choose another place with --store"
    return StoreUnreadableError(what, where=where, hint=hint)
