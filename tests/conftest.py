"""Fixtures for the whole suite."""

import pytest

from tests.services import pytest_collection_modifyitems, pytest_runtest_setup, pytest_unconfigure

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_runtest_setup",
    "pytest_unconfigure",
]  # the hooks of `tests.services`


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop the engine is written for."""
    return "asyncio"
