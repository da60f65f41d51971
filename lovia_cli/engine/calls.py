"""Running the tool calls of one step (Z1 to Z5).

Calls run side by side, up to the agent's ``tool_concurrency``; each result is durable before anybody hears of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any

from lovia_cli.engine.hooking import Hooking
from lovia_cli.engine.journal import Journal
from lovia_cli.engine.limits import before_tool
from lovia_cli.engine.order import RunOrder
from lovia_cli.engine.stopping import contained, unless_stopped
from lovia_cli.errors import HookError, LimitReached, Stopped
from lovia_cli.tools.arguments import parse_arguments
from lovia_cli.tools.base import Tool, ToolContext, ToolError
from stores.entries import ResultKind, ToolCallEntry, ToolResultEntry
from stores.errors import LoviaError, StoreError
from stores.surgery import cancelled
from stores.values import ValueNotStorable, clean_text, exception_text, to_text

Emit = Callable[..., None]


def call_key(call: ToolCallEntry) -> str:
    """``STEP.POSITION``: what names a call within its run."""
    return f"{call.step}.{call.position}"


def no_tool(call: ToolCallEntry) -> str:
    """How the result of a call begins that names a tool which there is not."""
    return f"there is no tool {call.name!r}"


class Calls:
    """The calls of a run, one step at a time."""

    def __init__(self, order: RunOrder, journal: Journal, emit: Emit, tools: Sequence[Tool], hooks: Hooking) -> None:
        self._order = order
        self._journal = journal
        self._emit = emit
        self._tools: dict[str, Tool] = {tool.spec.name: tool for tool in tools}
        self._hooks = hooks
        self._running: set[str] = set()
        self._begun: set[str] = set()
        self._stopped: list[str] = []
        self._failed: HookError | None = None
        self._limit: LimitReached | None = None
        self._broken = False

    async def act(self, calls: list[ToolCallEntry]) -> None:
        """Run ``calls`` and record each result as soon as it is there.

        Raises `LimitReached` when a limit left calls pending, the reason of a stop, or what a hook raised; calls under
        way then end first, and none begins. Calls that a stop broke off are in `stopped`.
        """
        gate = asyncio.Semaphore(max(1, self._order.agent.tool_concurrency))
        if len(calls) == 1:
            await self._in_turn(gate, calls[0])
        else:
            await _side_by_side([self._in_turn(gate, call) for call in calls])
        if self._order.stop.reason is not None:
            raise self._order.stop.reason
        if self._failed is not None:
            raise self._failed
        if self._limit is not None:
            raise self._limit

    @property
    def stopped(self) -> list[str]:
        """The calls that a stop broke off: started, and without a result (Z2)."""
        return sorted(self._stopped)

    async def cancel(self, calls: list[ToolCallEntry]) -> None:
        """Record ``calls`` as cancelled without running them: new input has replaced them (Z2)."""
        for call in calls:
            await self._record(call, cancelled(call), seconds=0.0)

    async def _in_turn(self, gate: asyncio.Semaphore, call: ToolCallEntry) -> None:
        async with gate:
            if self._order.stop.reason or self._failed or self._limit or self._broken:
                return
            self._limit = before_tool(self._journal, len(self._running))
            if self._limit is not None:
                return
            self._running.add(call_key(call))
            try:
                await self._run(call)
            except HookError as error:
                self._failed = self._failed or error
            except BaseException:
                self._broken = True  # a save failed: nothing more may begin
                raise
            finally:
                self._running.discard(call_key(call))

    async def _run(self, call: ToolCallEntry) -> None:
        began = time.monotonic()
        self._emit(
            "tool.started",
            step=call.step,
            position=call.position,
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
        )
        try:
            result = await self._result(call)
        except Stopped:
            if call_key(call) in self._begun:
                self._stopped.append(call_key(call))
            return
        await self._record(call, result, time.monotonic() - began)
        with suppress(Stopped):  # `act` says so when all calls have ended
            await self._hooks.tell("after_tool", call, result)

    async def _record(self, call: ToolCallEntry, result: ToolResultEntry, seconds: float) -> None:
        head = self._journal.head
        await self._journal.record(
            "result",
            result,
            info={"call": call_key(call), "tool": call.name, "seconds": round(seconds, 3), "kind": result.kind},
            tool_calls=lambda: head.tool_calls + 1,
            started_calls=lambda: [key for key in head.started_calls if key != call_key(call)],
            stopped_calls=lambda: [key for key in head.stopped_calls if key != call_key(call)],
        )
        self._emit(
            "tool.finished",
            step=call.step,
            position=call.position,
            call_id=call.id,
            name=call.name,
            output=result.output,
            is_error=result.is_error,
            kind=result.kind,
            seconds=round(seconds, 3),
        )

    async def _result(self, call: ToolCallEntry) -> ToolResultEntry:
        """What the call came to; every fault of the tool or the arguments is an error result, never an exception."""
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return _answer(call, f"{no_tool(call)}; the tools are: {known}", "error")
        try:
            arguments = parse_arguments(call.arguments)
            tool.check(arguments)
            if tool.on_resume != "rerun" and call_key(call) in self._journal.head.started_calls:
                return _answer(call, _LOST.format(name=call.name), "error")
            if refused := await self._refused(call, arguments):
                return refused
            if tool.on_resume != "rerun":
                await self._mark_started(call)
            self._begun.add(call_key(call))
            value = await unless_stopped(self._order.stop, self._call(tool, arguments, call))
            return self._stored(call, value)
        except (Stopped, StoreError, HookError):
            raise
        except LoviaError as error:
            return _answer(call, error.message, "error")
        except Exception as error:
            return _answer(call, exception_text(error), "error")

    def _stored(self, call: ToolCallEntry, value: Any) -> ToolResultEntry:
        """The result in its stored form; without one it is an error, for the effect has happened (D4)."""
        try:
            self._journal.state.check()
            return _answer(call, to_text(value), "ok")
        except ValueNotStorable as error:
            return _answer(call, _told(error), "error")

    async def _refused(self, call: ToolCallEntry, arguments: dict[str, Any]) -> ToolResultEntry | None:
        """The result that a hook gives the call in place of the tool; None when the tool is to run."""
        try:
            await self._hooks.tell("before_tool", call, deepcopy(arguments))
        except HookError as error:
            if isinstance(error.__cause__, ToolError):
                return _answer(call, error.__cause__.message, "error")
            raise
        return None

    async def _mark_started(self, call: ToolCallEntry) -> None:
        """Note durably that the call begins, so that after a crash it is not run blindly (Z5)."""
        head = self._journal.head
        await self._journal.record("call_started", started_calls=lambda: [*head.started_calls, call_key(call)])

    async def _call(self, tool: Tool, arguments: dict[str, Any], call: ToolCallEntry) -> Any:
        context = self._context(call)
        try:
            async with asyncio.timeout(tool.timeout) as scope:
                return await contained(lambda: tool.call(arguments, context), ToolError)
        except TimeoutError as error:
            if scope.expired():
                raise ToolError(
                    f"{call.name} timed out after {tool.timeout:g} s; whether it had an effect is not known"
                ) from error
            raise
        finally:
            self._journal.state.adopt(context.state)

    def _context(self, call: ToolCallEntry) -> ToolContext:
        progress = partial(self._emit, "tool.progress", step=call.step, position=call.position)
        return ToolContext(
            run_id=self._journal.run_id,
            session_id=self._journal.head.session_id,
            agent=self._order.agent.name,
            step=call.step,
            position=call.position,
            call_id=call.id,
            idempotency_key=f"{self._journal.run_id}/{call_key(call)}",
            state=self._journal.state.live,
            deps=self._order.deps,
            progress=lambda text: progress(text=text),
        )


async def _side_by_side(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of ``work`` at the same time. Where one fails, or the caller is cancelled, the others are, and have ended."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


_LOST = (
    "{name} was started before the run was interrupted, and whether it had an effect is not known. "
    "It was not run again (on_resume: fail)."
)


def _told(error: LoviaError) -> str:
    """An error after the tool ran, with its place and what to do, for the model."""
    where = f" ({error.where})" if error.where else ""
    hint = f"; {error.hint}" if error.hint else ""
    return f"the tool ran, but {error.message}{where}{hint}"


def _answer(call: ToolCallEntry, output: str, kind: ResultKind) -> ToolResultEntry:
    return ToolResultEntry(
        call_id=call.id,
        output=clean_text(output),
        step=call.step,
        position=call.position,
        is_error=kind != "ok",
        kind=kind,
    )
