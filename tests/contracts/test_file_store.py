"""The file store keeps the whole contract."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from stores.conformance import (
    CheckpointerContract,
    ForkContract,
    HistoryContract,
    KeptHistoriesContract,
    KeptHistoryLookupContract,
    LeaseContract,
    OpenRunLookupContract,
    ResultStoreContract,
    RewindContract,
    RunIndexContract,
    RunLogContract,
    SessionContract,
    SessionForkContract,
    SessionImportContract,
    SessionIndexContract,
    SessionLookupContract,
    SharedCheckpointerContract,
    SharedSessionContract,
    StepEntriesContract,
    TrimContract,
)
from stores.file import FileCheckpointer, FileResultStore, FileSession


@pytest.mark.anyio
class TestFileSession(
    SessionContract,
    SessionIndexContract,
    SessionLookupContract,
    SharedSessionContract,
    RewindContract,
    TrimContract,
    SessionForkContract,
    SessionImportContract,
):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / ".lovia"

    async def open(self) -> FileSession:
        return FileSession(self.path)

    def recipe(self) -> Callable[[], FileSession]:
        return partial(FileSession, self.path)


@pytest.mark.anyio
class TestFileCheckpointer(
    CheckpointerContract,
    LeaseContract,
    RunIndexContract,
    OpenRunLookupContract,
    HistoryContract,
    KeptHistoriesContract,
    KeptHistoryLookupContract,
    ForkContract,
    StepEntriesContract,
    RunLogContract,
    SharedCheckpointerContract,
):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / ".lovia"

    async def open(self) -> FileCheckpointer:
        return FileCheckpointer(self.path)

    def recipe(self) -> Callable[[], FileCheckpointer]:
        return partial(FileCheckpointer, self.path)


@pytest.mark.anyio
class TestFileResultStore(ResultStoreContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / ".lovia"

    async def open(self) -> FileResultStore:
        return FileResultStore(self.path)
