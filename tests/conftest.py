"""Fixtures for the whole suite."""

import atexit
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.services import (
    pytest_collection_modifyitems,
    pytest_runtest_setup,
    pytest_sessionfinish,
    pytest_testnodedown,
    pytest_unconfigure,
)

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_runtest_setup",
    "pytest_sessionfinish",
    "pytest_testnodedown",
    "pytest_unconfigure",
]  # the hooks of `tests.services`


# A busy machine is no fault of the code; what a run finds it finds again.
settings.register_profile("lovia", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lovia")

MEMORY = Path("/dev/shm")
ROOM = 4_000_000_000


def pytest_configure(config: pytest.Config) -> None:
    """Temporary folders in memory, where there is room: the suite flushes thousands of times.

    A shell's background jobs ignore Ctrl-C, and what they start does; under nohup it is SIGHUP. The tests send both.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if config.option.basetemp is None and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        config.option.basetemp = tempfile.mkdtemp(prefix="lovia-tests-", dir=MEMORY)
        atexit.register(shutil.rmtree, config.option.basetemp, ignore_errors=True)


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop the engine is written for."""
    return "asyncio"
