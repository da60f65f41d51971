"""The contract as tests: one class a protocol, for every store there is and every one that is written.

A test class of a store inherits the classes of the protocols that the store has (`contracts_for` picks them) and says
how to open it:

    @pytest.mark.anyio
    class TestMyCheckpointer(*contracts_for(MyCheckpointer)):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "store"

        async def open(self):
            return MyCheckpointer(self.path)

`SessionContract` is for sessions, `CheckpointerContract` and `LeaseContract` for runs. Optional are
`SessionIndexContract`, `RewindContract`, `TrimContract`, `SessionForkContract`, `SessionImportContract`,
`RunIndexContract`, `HistoryContract`, `KeptHistoriesContract`, `ForkContract`, `StepEntriesContract` and
`RunLogContract`, the lookups `SessionLookupContract`, `OpenRunLookupContract` and `KeptHistoryLookupContract`, and for
a store that processes share `SharedSessionContract` and `SharedCheckpointerContract`.
`ResultStoreContract` is for archives of tool outputs. Each test has the clause of the contract in its name. They need
no test framework: an async method that raises `AssertionError` is a broken promise.
"""

from stores.conformance.checkpointer import CheckpointerContract
from stores.conformance.fork import ForkContract
from stores.conformance.history import HistoryContract
from stores.conformance.index import RunIndexContract
from stores.conformance.kept import KeptHistoriesContract
from stores.conformance.lease import LeaseContract
from stores.conformance.lookup import KeptHistoryLookupContract, OpenRunLookupContract, SessionLookupContract
from stores.conformance.picking import contracts_for
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

__all__ = [
    "CheckpointerContract",
    "ForkContract",
    "HistoryContract",
    "KeptHistoriesContract",
    "KeptHistoryLookupContract",
    "LeaseContract",
    "OpenRunLookupContract",
    "ResultStoreContract",
    "RewindContract",
    "RunIndexContract",
    "RunLogContract",
    "SessionContract",
    "SessionForkContract",
    "SessionImportContract",
    "SessionIndexContract",
    "SessionLookupContract",
    "SharedCheckpointerContract",
    "SharedSessionContract",
    "StepEntriesContract",
    "TrimContract",
    "contracts_for",
]
