"""Calling Python tools: threads, the loop, and whatever a function may raise (X13, C17)."""

import asyncio
import contextvars
import datetime as dt
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, NoReturn

import pytest

from lovia_cli.tools.base import Tool, ToolError
from lovia_cli.tools.python import python_tool, tool
from tests.tools.kit import make_context, run_python

pytestmark = pytest.mark.anyio

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST")


class Loud(BaseException):
    pass


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def deeper(n: int = 0) -> int:
    return deeper(n + 1)


RAISED: list[tuple[BaseException, str]] = [
    (SystemExit(3), "SystemExit: 3"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (StopIteration("s"), "StopIteration: s"),
    (StopAsyncIteration(), "StopAsyncIteration"),
    (asyncio.CancelledError("mine"), "CancelledError: mine"),
    (Loud("hear"), "Loud: hear"),
    (Mute(), "Mute"),
    (MemoryError(), "MemoryError"),
    (ToolError("as I say"), "as I say"),
    (ValueError("half \ud83d"), "ValueError: half \ufffd"),
    (TimeoutError(), "TimeoutError"),
]


@pytest.mark.parametrize(("error", "text"), RAISED, ids=lambda value: type(value).__name__)
async def test_x13_whatever_a_tool_raises_is_a_tool_error(error: BaseException, text: str) -> None:
    def in_a_thread() -> NoReturn:
        raise error

    async def in_the_loop() -> NoReturn:
        raise error

    async def later() -> NoReturn:
        await asyncio.sleep(0)
        raise error

    def coroutine() -> Awaitable[None]:
        return later()

    functions: list[Callable[..., Any]] = [in_a_thread, in_the_loop, later, coroutine]
    if isinstance(error, (StopIteration, StopAsyncIteration)):
        functions = [in_a_thread]  # Python itself turns these into RuntimeError within a coroutine
    for function in functions:
        with pytest.raises(ToolError) as caught:
            await python_tool(function).call({}, make_context())
        assert caught.value.message == text


async def test_x13_endless_recursion_is_a_tool_error() -> None:
    async def in_the_loop() -> int:
        return deeper()

    for function in (deeper, in_the_loop):
        with pytest.raises(ToolError, match="RecursionError: maximum recursion depth exceeded"):
            await python_tool(function).call({}, make_context())


async def test_x13_a_real_cancellation_stays_one() -> None:
    entered = asyncio.Event()
    cleaned: list[str] = []

    async def waits(answer: str) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cleaned.append(answer)
            if answer == "raises":
                raise ValueError("while stopping") from None
            raise
        return "never"

    for answer in ("lets go", "raises"):
        entered.clear()
        task = asyncio.ensure_future(python_tool(waits).call({"answer": answer}, make_context()))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert cleaned == ["lets go", "raises"]


async def test_x13_a_hanging_function_is_let_go_when_cancelled() -> None:
    loop = asyncio.get_running_loop()
    entered, release, left = asyncio.Event(), threading.Event(), threading.Event()

    def hangs() -> None:
        loop.call_soon_threadsafe(entered.set)
        release.wait()
        left.set()

    task = asyncio.ensure_future(python_tool(hangs).call({}, make_context()))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not left.is_set()
    release.set()
    assert left.wait(10)


HANGS = """
import asyncio, threading
from lovia_cli.tools.python import python_tool
from tests.tools.kit import make_context

def hangs():
    threading.Event().wait()

async def main():
    try:
        async with asyncio.timeout(0.1):
            await python_tool(hangs).call({}, make_context())
    except TimeoutError:
        print("timed out")

asyncio.run(main())
"""


async def test_x13_a_hanging_function_does_not_hold_up_the_end_of_the_process() -> None:
    assert await run_python(HANGS) == (0, "timed out\n", "")


async def test_x13_generators_and_coroutines_are_used_up_within_the_call() -> None:
    threads: list[threading.Thread] = []

    def generator() -> Iterator[dict[str, dt.date]]:
        threads.append(threading.current_thread())
        yield {"day": dt.date(2026, 1, 2)}

    async def async_generator() -> AsyncIterator[int]:
        for n in range(3):
            await asyncio.sleep(0)
            yield n

    def makes_a_generator() -> AsyncIterator[int]:
        return async_generator()

    async def coroutine() -> Iterator[int]:
        return iter([1, 2])

    def makes_a_coroutine() -> Awaitable[Iterator[int]]:
        return coroutine()

    async def result(function: Callable[..., Any]) -> Any:
        return await python_tool(function).call({}, make_context())

    assert await result(generator) == [{"day": "2026-01-02"}]
    assert threads[0] is not threading.main_thread()
    assert await result(async_generator) == [0, 1, 2]
    assert await result(makes_a_generator) == [0, 1, 2]
    assert await result(coroutine) == [1, 2]
    assert await result(makes_a_coroutine) == [1, 2]


async def test_x13_a_generator_that_breaks_is_a_tool_error_and_is_closed() -> None:
    closed: list[str] = []

    async def breaks() -> AsyncIterator[int]:
        try:
            yield 1
            raise SystemExit(4)
        finally:
            closed.append("closed")

    with pytest.raises(ToolError, match="SystemExit: 4"):
        await python_tool(breaks).call({}, make_context())
    assert closed == ["closed"]


async def test_x13_an_endless_generator_is_a_tool_error() -> None:
    def endless() -> Iterator[None]:
        while True:
            yield None

    async def endless_in_the_loop() -> AsyncIterator[None]:
        while True:
            yield None

    for function in (endless, endless_in_the_loop):
        with pytest.raises(ToolError, match="it has more than 1000000 items"):
            await python_tool(function).call({}, make_context())


async def test_c17_a_result_without_a_stored_form_says_that_the_tool_ran() -> None:
    def opaque() -> dict[str, object]:
        return {"a": [object()]}

    async def opaque_in_the_loop() -> dict[str, object]:
        return opaque()

    for function in (opaque, opaque_in_the_loop):
        with pytest.raises(ToolError) as caught:
            await python_tool(function).call({}, make_context())
        assert (
            caught.value.message
            == "the tool ran, but the value cannot be stored: a value of type object has no stored form (at .a[0])"
        )


async def test_context_variables_of_the_caller_are_seen() -> None:
    def sync() -> str:
        return REQUEST.get()

    async def in_the_loop() -> str:
        return REQUEST.get()

    REQUEST.set("r7")
    assert await python_tool(sync).call({}, make_context()) == "r7"
    assert await python_tool(in_the_loop).call({}, make_context()) == "r7"


async def test_functions_run_side_by_side() -> None:
    barrier = threading.Barrier(40)

    def meets() -> int:
        return barrier.wait(30)

    results = await asyncio.gather(*(python_tool(meets).call({}, make_context()) for _ in range(40)))
    assert sorted(results) == list(range(40))


async def test_progress_from_a_thread_is_shown_in_the_loop() -> None:
    shown: list[tuple[str, threading.Thread]] = []

    def works(ctx: Any) -> str:
        ctx.progress("half")
        return "done"

    context = make_context(progress=lambda line: shown.append((line, threading.current_thread())))
    assert await python_tool(works).call({}, context) == "done"
    assert shown == [("half", threading.current_thread())]


async def test_the_decorator_makes_a_tool_that_is_still_a_function() -> None:
    @tool
    def plain_one(n: int) -> int:
        """Add one."""
        return n + 1

    @tool(name="slow", timeout=None, on_resume="fail", description="Takes long.")
    async def long_one() -> None: ...

    assert isinstance(plain_one, Tool)
    assert plain_one(2) == 3
    assert await plain_one.call({"n": "2"}, make_context()) == 3
    assert (plain_one.spec.name, plain_one.timeout, plain_one.on_resume) == ("plain_one", 120.0, "rerun")
    assert (long_one.spec.name, long_one.timeout, long_one.on_resume) == ("slow", None, "fail")
    again = python_tool(long_one, name="other", timeout=5)
    assert (again.spec.name, again.spec.description) == ("other", "Takes long.")
    assert (again.timeout, again.on_resume) == (5, "fail")
    assert python_tool(long_one).timeout is None
