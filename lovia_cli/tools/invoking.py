"""The call of a Python function by a model: in a thread or in the event loop, whatever it returns or raises."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

from lovia_cli.tools.base import ToolContext, ToolError
from lovia_cli.tools.threads import in_thread
from stores.entries import JSON
from stores.values import MAX_ITEMS, ValueNotStorable, exception_text, plain


async def invoke(function: Callable[..., Any], bound: dict[str, Any], context: ToolContext, *, name: str) -> JSON:
    """Call ``function`` for the tool ``name``, and return the stored form of its result; raises `ToolError`."""
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task else 0
    try:
        if _runs_in_loop(function):
            return await _settled(function(**bound))
        _make_progress_thread_safe(context)
        return await _settled(await in_thread(lambda: _guarded(function, bound), name=f"lovia tool {name}"))
    except BaseException as error:
        if _is_abandoned(error, task):
            raise
        if task and task.cancelling() > cancelled_before:
            if isinstance(error, asyncio.CancelledError):
                raise
            # The tool answered the cancellation with an error of its own: still a cancellation.
            raise asyncio.CancelledError from error
        raise _as_tool_error(error) from error


def _runs_in_loop(function: Callable[..., Any]) -> bool:
    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in (function, called))


def _guarded(function: Callable[..., Any], bound: dict[str, Any]) -> Any:
    """The call within its thread; what needs the event loop is handed on as it is."""
    try:
        value = function(**bound)
        return value if inspect.isawaitable(value) or isinstance(value, AsyncIterator) else plain(value)
    except BaseException as error:
        raise _as_tool_error(error) from error


async def _settled(value: Any) -> JSON:
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterator):
        value = await _collected(value)
    return plain(value)


async def _collected(values: AsyncIterator[Any]) -> list[Any]:
    items: list[Any] = []
    async for item in values:
        items.append(item)
        if len(items) > MAX_ITEMS:
            raise ValueNotStorable(f"the value cannot be stored: it has more than {MAX_ITEMS} items")
    return items


def _is_abandoned(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """True for the GeneratorExit of a coroutine that is closed from outside, when its task no longer runs."""
    if not isinstance(error, GeneratorExit):
        return False
    try:
        return asyncio.current_task() is not task
    except RuntimeError:
        return True


def _as_tool_error(error: BaseException) -> ToolError:
    if isinstance(error, ToolError):
        return error
    if isinstance(error, ValueNotStorable):  # its effect has happened, and the model should know
        where = f" ({error.where})" if error.where else ""
        return ToolError(f"the tool ran, but {error.message}{where}", hint=error.hint)
    return ToolError(exception_text(error))


def _make_progress_thread_safe(context: ToolContext) -> None:
    """Let the tool's thread report progress; it is shown in the loop, as the engine expects."""
    loop, show = asyncio.get_running_loop(), context.progress

    def progress(line: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody watches any more
            loop.call_soon_threadsafe(show, line)

    context.progress = progress
