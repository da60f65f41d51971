"""`LoopClient`: one client a loop, closed with its loop whoever forgot it; `load_sdk`: an SDK, and the whole of it."""

import asyncio
import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from lovia_cli.models.client import LoopClient, load_sdk


class FakeClient:
    """Knows the loop it was closed in."""

    def __init__(self) -> None:
        self.closed_in: list[asyncio.AbstractEventLoop] = []

    async def close(self) -> None:
        self.closed_in.append(asyncio.get_running_loop())


def test_a_client_is_closed_in_its_own_loop_when_that_ends_even_if_its_holder_is_gone() -> None:
    client, loops = FakeClient(), []

    async def ask_and_forget() -> None:
        loops.append(asyncio.get_running_loop())
        assert await LoopClient().get(lambda: client) is client
        await asyncio.sleep(0)
        assert client.closed_in == []

    asyncio.run(ask_and_forget())
    assert client.closed_in == loops


def test_each_loop_has_a_client_of_its_own_and_keeps_it() -> None:
    holder, made = LoopClient(), []

    def make() -> FakeClient:
        made.append(FakeClient())
        return made[-1]

    async def ask_twice() -> None:
        assert await holder.get(make) is await holder.get(make)

    asyncio.run(ask_twice())
    asyncio.run(ask_twice())
    assert [len(client.closed_in) for client in made] == [1, 1]


def test_a_client_that_was_closed_is_made_anew() -> None:
    holder, first, second = LoopClient(), FakeClient(), FakeClient()

    async def close_between() -> None:
        assert await holder.get(lambda: first) is first
        await holder.close()
        await holder.close()
        assert len(first.closed_in) == 1
        assert await holder.get(lambda: second) is second

    asyncio.run(close_between())
    assert (len(first.closed_in), len(second.closed_in)) == (1, 1)


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
