"""The file store keeps the whole contract."""

from pathlib import Path

import pytest

from stores.conformance import (
    CheckpointerContract,
    HistoryContract,
    LeaseContract,
    RunIndexContract,
    SessionContract,
    SessionIndexContract,
)
from stores.file import FileCheckpointer, FileSession


@pytest.mark.anyio
class TestFileSession(SessionContract, SessionIndexContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / ".lovia"

    async def open(self) -> FileSession:
        return FileSession(self.path)


@pytest.mark.anyio
class TestFileCheckpointer(CheckpointerContract, LeaseContract, RunIndexContract, HistoryContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / ".lovia"

    async def open(self) -> FileCheckpointer:
        return FileCheckpointer(self.path)
