"""The event loop of one command, and Ctrl-C where no run has taken it over."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lovia_cli.cli.driving import drive


def test_ctrl_c_leaves_what_it_falls_into_before_the_loop_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Such as the lock of a session, which a replay waits for."""
    left: list[str] = []

    @asynccontextmanager
    async def lock() -> AsyncIterator[None]:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(600)
            yield
        finally:
            left.append("the lock")

    async def work() -> None:
        async with lock():
            left.append("the work")

    with pytest.raises(KeyboardInterrupt):
        drive(work())
    assert left == ["the lock"]
    assert caplog.messages == []
