"""`loop_client`: one client a loop, closed with it whoever forgot it; `load_sdk`: an SDK, and the whole of it."""

import asyncio
import gc
import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from weakref import ref

import pytest

from lovia_cli.models.client import load_sdk, loop_client


class FakeClient:
    """Knows the loop it was closed in."""

    def __init__(self) -> None:
        self.closed_in: list[asyncio.AbstractEventLoop] = []

    async def aclose(self) -> None:
        self.closed_in.append(asyncio.get_running_loop())


def test_a_client_is_closed_in_its_own_loop_when_that_ends() -> None:
    client, loops = FakeClient(), []

    async def ask_and_forget() -> None:
        loops.append(asyncio.get_running_loop())
        assert await loop_client("kind", lambda: client) is client
        await asyncio.sleep(0)
        assert client.closed_in == []

    asyncio.run(ask_and_forget())
    assert client.closed_in == loops


def test_each_loop_has_a_client_of_its_own_for_each_kind_and_keeps_it() -> None:
    made: list[FakeClient] = []
    loops: list[ref[asyncio.AbstractEventLoop]] = []

    def make() -> FakeClient:
        made.append(FakeClient())
        return made[-1]

    async def ask_twice() -> None:
        loops.append(ref(asyncio.get_running_loop()))
        assert await loop_client("one", make) is await loop_client("one", make)
        assert await loop_client("two", make) is made[-1]

    asyncio.run(ask_twice())
    asyncio.run(ask_twice())
    assert [len(client.closed_in) for client in made] == [1, 1, 1, 1]
    made.clear()
    gc.collect()
    assert [loop() for loop in loops] == [None, None]


def test_an_sdk_that_another_run_is_importing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = SimpleNamespace(begun=Event(), go_on=Event())
    (tmp_path / "slow_sdk.py").write_text("import slow_gate as gate\ngate.begun.set()\ngate.go_on.wait()\nWHOLE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "slow_gate", gate)

    async def whole() -> bool:
        return hasattr(await load_sdk("slow_sdk", "openai"), "WHOLE")

    async def load_twice() -> list[bool]:
        first = asyncio.ensure_future(whole())
        await asyncio.to_thread(gate.begun.wait)
        second = asyncio.ensure_future(whole())
        await asyncio.sleep(0)
        gate.go_on.set()
        return await asyncio.gather(first, second)

    assert asyncio.run(load_twice()) == [True, True]
