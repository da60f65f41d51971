"""What every store shows of its records in one line of a listing, and who executes a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stores.entries import JSON
from stores.errors import RunLockedError, StoreError
from stores.ids import as_words


@dataclass(slots=True, frozen=True, kw_only=True)
class Owner:
    """Who executes a run: pid and host, and when that process started or took the lease."""

    pid: int
    host: str
    since: float | None = None


def locked_error(run_id: str, owner: Owner | None) -> RunLockedError:
    """The error of a run that ``owner`` executes (R11); None is an owner that has not said its name yet."""
    who = f"process {owner.pid} on {owner.host}" if owner and owner.pid else "another process"
    return RunLockedError(
        f"run {run_id!r} is being executed by {who}",
        hint=f"wait for it, or stop it with: lovia cancel {as_words(run_id)}",
    )


@dataclass(slots=True, frozen=True)
class Damage:
    """What keeps a record from being read, and the file it stands in, where that is known (D3)."""

    what: str
    where: str | None = None

    @staticmethod
    def told_by(error: StoreError) -> Damage:
        """What the error of a read says."""
        return Damage(error.message, error.where)

    def __str__(self) -> str:
        return f"{self.what} ({self.where})" if self.where else self.what


@dataclass(slots=True, kw_only=True)
class RunInfo:
    """One line of a listing, read without the transcript.

    ``status`` is the effective one: a stored ``running`` whose owner is gone reads ``interrupted`` (R3).
    ``owner`` is set only while the run is being executed. ``open_approvals`` are approval ids.
    """

    run_id: str
    status: str
    agent: str = ""
    session_id: str | None = None
    started_at: float | None = None
    updated_at: float | None = None
    steps: int = 0
    save: int = 0
    stop: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    config: dict[str, JSON] = field(default_factory=dict)
    parent: dict[str, JSON] | None = None
    open_approvals: list[str] = field(default_factory=list)
    owner: Owner | None = None
    damage: Damage | None = None
    """Set when the record cannot be read; all else is then unknown (D3)."""


@dataclass(slots=True, kw_only=True)
class SaveInfo:
    """One save as a history lists it (H1), newest first; ``info`` and ``event`` as in `Save`.

    ``status`` is the one that was stored then, ``entries`` how many the whole transcript had.
    """

    number: int
    step: int
    at: float
    status: str
    event: str
    entries: int
    info: dict[str, JSON] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class SessionInfo:
    """One session of a listing: how many segments and entries, and when the last was appended."""

    session_id: str
    segments: int
    entries: int
    updated_at: float | None = None
    damage: Damage | None = None


Info = TypeVar("Info", RunInfo, SessionInfo)


def newest_first(infos: Iterable[Info]) -> list[Info]:
    """The lines as listings have them: what changed last stands first, what tells no time last."""
    return sorted(infos, key=lambda info: info.updated_at or 0.0, reverse=True)


def open_approvals(approvals: Iterable[dict[str, JSON]]) -> list[str]:
    """The ids of those that wait for a decision, in order. ``approvals`` is the head's field."""
    return [approval["id"] for approval in approvals if approval.get("state", "pending") == "pending"]
