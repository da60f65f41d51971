"""The planted faults: memory stores that each break one promise, and the contract tests that must notice.

`planted` ties a fault to its tests, so a contract test that no fault stands behind cannot go unseen (see
test_mutants.py). The class name says what is wrong. Read a module here beside its namesake in stores/conformance.
"""

from tests.contracts.mutants import (
    checkpointer,
    fork,
    history,
    index,
    kept,
    lease,
    lookup,
    processes,
    results,
    rewind,
    run_log,
    session,
    session_fork,
    session_import,
    session_index,
    trim,
)
from tests.contracts.mutants.planting import CONTRACTS, FAULTS, Fault

__all__ = [
    "CONTRACTS",
    "FAULTS",
    "Fault",
    "checkpointer",
    "fork",
    "history",
    "index",
    "kept",
    "lease",
    "lookup",
    "processes",
    "results",
    "rewind",
    "run_log",
    "session",
    "session_fork",
    "session_import",
    "session_index",
    "trim",
]
