"""Which contract classes a store is held to: those of the protocols it has."""

from __future__ import annotations

from typing import Any

from stores import lookup, protocols
from stores.conformance.checkpointer import CheckpointerContract
from stores.conformance.checks import Contract
from stores.conformance.fork import ForkContract
from stores.conformance.history import HistoryContract
from stores.conformance.index import RunIndexContract
from stores.conformance.kept import KeptHistoriesContract
from stores.conformance.lease import LeaseContract
from stores.conformance.lookup import KeptHistoryLookupContract, OpenRunLookupContract, SessionLookupContract
from stores.conformance.processes import SharedCheckpointerContract, SharedSessionContract
from stores.conformance.results import ResultStoreContract
from stores.conformance.rewind import RewindContract
from stores.conformance.run_log import RunLogContract
from stores.conformance.session import SessionContract
from stores.conformance.session_fork import SessionForkContract
from stores.conformance.session_import import SessionImportContract
from stores.conformance.session_index import SessionIndexContract
from stores.conformance.step_entries import StepEntriesContract
from stores.conformance.trim import TrimContract

_ALONE: list[tuple[Any, Any]] = [
    (protocols.Session, SessionContract),
    (protocols.SessionIndex, SessionIndexContract),
    (lookup.SessionLookup, SessionLookupContract),
    (protocols.Rewind, RewindContract),
    (protocols.Trim, TrimContract),
    (protocols.SessionFork, SessionForkContract),
    (protocols.SessionImport, SessionImportContract),
    (protocols.Checkpointer, CheckpointerContract),
    (protocols.Checkpointer, LeaseContract),
    (protocols.RunIndex, RunIndexContract),
    (lookup.OpenRunLookup, OpenRunLookupContract),
    (protocols.History, HistoryContract),
    (protocols.KeptHistories, KeptHistoriesContract),
    (lookup.KeptHistoryLookup, KeptHistoryLookupContract),
    (protocols.Fork, ForkContract),
    (protocols.StepEntries, StepEntriesContract),
    (protocols.RunLog, RunLogContract),
    (protocols.ResultStore, ResultStoreContract),
]
_SHARED: list[tuple[Any, Any]] = [
    (protocols.Session, SharedSessionContract),
    (protocols.RunIndex, SharedCheckpointerContract),
]


def contracts_for(store: type[Any], *, shared: bool = False) -> tuple[type[Contract[Any]], ...]:
    """The contract classes that the store's class is to inherit, one for each protocol it has the methods of.

    An ability that it lacks is none that it is tested for. ``shared`` adds the classes for a store that several
    processes use, which want a ``recipe`` beside ``open``.
    """
    rows = [*_ALONE, *(_SHARED if shared else [])]
    return tuple(contract for protocol, contract in rows if issubclass(store, protocol))
