"""The event loop of one command."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in an event loop of its own.

    Not `asyncio.run`: at its end it joins the loop's threads, and one of them may hang for ever. Like it, Ctrl-C where
    nobody else has it is a `KeyboardInterrupt`, once ``work`` has left what it was in.
    """
    import asyncio

    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        loop.run_until_complete(asyncio.wait({task}))
        raise
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def drive_stores(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` that awaits nothing but stores: they need no event loop, and asyncio is a second start of Python."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("this waits for more than a store, and needs an event loop")
