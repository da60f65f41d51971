"""The memory stores keep the whole contract."""

import pytest

from stores.conformance import (
    CheckpointerContract,
    HistoryContract,
    LeaseContract,
    RunIndexContract,
    SessionContract,
    SessionIndexContract,
)
from stores.memory import InMemoryCheckpointer, InMemorySession


@pytest.mark.anyio
class TestInMemorySession(SessionContract, SessionIndexContract):
    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.store = InMemorySession()

    async def open(self) -> InMemorySession:
        return self.store


@pytest.mark.anyio
class TestInMemoryCheckpointer(CheckpointerContract, LeaseContract, RunIndexContract, HistoryContract):
    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.store = InMemoryCheckpointer()

    async def open(self) -> InMemoryCheckpointer:
        return self.store
