"""Fixtures for the whole suite."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop the engine is written for."""
    return "asyncio"
