"""What the engine asks of a store. Small protocols; the optional abilities are protocols of their own.

A store is a `Session`, a `Checkpointer`, or both. The engine finds an ability with ``isinstance``:
every protocol here is runtime-checkable. All methods are async; a store keeps blocking work off the
event loop by itself, and nobody wraps it. The abilities to look one id up are in `stores.lookup`.
"""

from stores.protocols.results import ResultStore
from stores.protocols.runs import (
    Checkpointer,
    Fork,
    History,
    KeptHistories,
    PromptLease,
    RunIndex,
    RunLease,
    RunLog,
    StepEntries,
)
from stores.protocols.sessions import Rewind, Session, SessionFork, SessionImport, SessionIndex, Trim

__all__ = [
    "Checkpointer",
    "Fork",
    "History",
    "KeptHistories",
    "PromptLease",
    "ResultStore",
    "Rewind",
    "RunIndex",
    "RunLease",
    "RunLog",
    "Session",
    "SessionFork",
    "SessionImport",
    "SessionIndex",
    "StepEntries",
    "Trim",
]
