"""What the contract classes share: how a store is opened, how runs are written, how a refusal is expected."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from stores.entries import JSON, Entry
from stores.fields import field_names, is_record
from stores.lookup import KeptHistoryLookup, OpenRunLookup, SessionLookup
from stores.protocols import (
    Checkpointer,
    Fork,
    History,
    KeptHistories,
    Rewind,
    RunIndex,
    RunLog,
    Session,
    SessionFork,
    SessionImport,
    SessionIndex,
    StepEntries,
    Trim,
)
from stores.records import Save

Store = TypeVar("Store")
Problem = TypeVar("Problem", bound=Exception)


class Contract(ABC, Generic[Store]):
    """The root of the contract classes. One instance is one test, with a store of its own."""

    @abstractmethod
    async def open(self) -> Store:
        """A handle on this test's store, empty at first. Each call gives a further handle on the same data.

        A store that lives in one object (in memory) gives that object each time.
        """


class ListedSession(Session, SessionIndex, Protocol):
    """A session store that can list."""


class LookedUpSession(ListedSession, SessionLookup, Protocol):
    """A session store that can list, and look one session up."""


class RewindingSession(Session, Rewind, Protocol):
    """A session store that can undo."""


class TrimmingSession(Session, Trim, Protocol):
    """A session store that can cut old tool outputs."""


class IndexedCheckpointer(Checkpointer, RunIndex, Protocol):
    """A checkpointer that can list."""


class LookedUpCheckpointer(IndexedCheckpointer, OpenRunLookup, Protocol):
    """A checkpointer that can list, and look a session's runs up."""


class KeepingCheckpointer(Checkpointer, History, Protocol):
    """A checkpointer that keeps earlier saves."""


class RememberingCheckpointer(Checkpointer, History, KeptHistories, Protocol):
    """A checkpointer that finds the histories it has kept of deleted runs."""


class LookedUpHistories(RememberingCheckpointer, KeptHistoryLookup, Protocol):
    """A checkpointer that finds kept histories, also one by its run's id."""


class ForkingCheckpointer(Checkpointer, History, Fork, Protocol):
    """A checkpointer that can begin a run where another stood."""


class SteppingCheckpointer(ForkingCheckpointer, StepEntries, Protocol):
    """A checkpointer that can be forked and gives single steps."""


class ForkingSession(Session, SessionFork, Rewind, Trim, Protocol):
    """A session store that can begin a session with what another began with."""


class LoggingCheckpointer(Checkpointer, History, RunLog, Protocol):
    """A checkpointer that hands whole logs on."""


class ImportingSession(Session, SessionImport, Protocol):
    """A session store that takes whole sessions in."""


class Refusal(Generic[Problem]):
    """A block that must end with an exception of one kind, which is then in ``error``."""

    error: Problem

    def __init__(self, kind: type[Problem]) -> None:
        self.kind = kind

    def __enter__(self) -> Refusal[Problem]:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            raise AssertionError(f"{self.kind.__name__} was not raised")
        if not isinstance(error, self.kind):
            return False
        self.error = error
        return True


def refused(kind: type[Problem]) -> Refusal[Problem]:
    """``with refused(UserError):`` the block must raise it."""
    return Refusal(kind)


def saved(
    number: int,
    *entries: Entry,
    step: int = 0,
    event: str = "response",
    info: dict[str, JSON] | None = None,
    **head: JSON,
) -> Save:
    """A save whose time follows from its number; ``head`` are the head fields that changed."""
    if number == 1:
        event, head = "started", {"status": "running", **head}
    return Save(
        number=number, step=step, at=1000.0 + number, event=event, entries=list(entries), head=head, info=info or {}
    )


async def write(store: Checkpointer, run_id: str, *saves: Save) -> None:
    """Take the run, save, let it go: what a process did that is gone now."""
    async with store.lease(run_id) as lease:
        for save in saves:
            await lease.save(save)


def exactly(actual: Any, expected: Any) -> None:
    """Both must be equal to the last bit: 1 is not 1.0, True is not 1, and -0.0 is not 0.0."""
    if _plain(actual) != _plain(expected):
        raise AssertionError(f"got\n  {actual!r:.3000}\nin place of\n  {expected!r:.3000}")


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=_fields)


def _fields(record: Any) -> dict[str, Any]:
    """A record as JSON, its type included, for entries of two types can have the same fields."""
    assert is_record(record), f"{record!r} is neither JSON nor a record"
    return {"record": type(record).__name__} | {name: getattr(record, name) for name in field_names(type(record))}
