"""The stores of one place are one store."""

import threading
from pathlib import Path

import pytest

from lovia_cli.settings import StoreLocation
from lovia_cli.wiring import Stores, open_stores
from stores.references import ResultRef

pytestmark = pytest.mark.anyio


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return open_stores(StoreLocation(tmp_path / ".lovia", "flag"))


async def test_one_thread_works_for_runs_sessions_and_archive(stores: Stores) -> None:
    before = set(threading.enumerate())
    assert (await stores.runs.runs(), await stores.sessions.sessions()) == ([], [])
    assert stores.results is not None
    assert await stores.results.get(ResultRef("r", 1, 1)) is None
    assert len(set(threading.enumerate()) - before) == 1


async def test_m2_there_is_an_archive_once_something_was_archived(stores: Stores) -> None:
    assert stores.archive is None
    assert stores.results is not None
    await stores.results.put(ResultRef("r", 1, 1), "whole")
    assert stores.archive is stores.results
