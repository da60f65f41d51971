"""`in_thread`: what the work comes to is what the caller gets, whatever it is."""

from __future__ import annotations

import asyncio

import pytest

from lovia_cli.tools.threads import in_thread

pytestmark = pytest.mark.anyio


async def test_a_stop_iteration_which_no_future_takes_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="the work raised StopIteration") as caught:
        await asyncio.wait_for(in_thread(lambda: next(iter(()))), timeout=10)
    assert isinstance(caught.value.__cause__, StopIteration)
