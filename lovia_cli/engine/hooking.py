"""Calling an agent's hooks and guardrails at their moments (R6, Z1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

from lovia_cli.engine.journal import Journal
from lovia_cli.engine.order import RunOrder
from lovia_cli.engine.stopping import contained, unless_stopped
from lovia_cli.errors import GuardrailTripped, HookError, Stopped
from lovia_cli.hooks import RunContext
from stores.entries import Entry, in_call_order
from stores.records import Usage
from stores.values import exception_text

Moment = Literal["on_start", "before_model", "after_model", "before_tool", "after_tool", "on_end"]


class Hooking:
    """The hooks and guardrails of one run. Like all that is not ours, they give way to a stop."""

    def __init__(self, order: RunOrder, journal: Journal, *, resumed: bool) -> None:
        self._order = order
        self._journal = journal
        self._resumed = resumed

    async def tell(self, moment: Moment, *facts: Any) -> None:
        """Call the hook of that name, if the agent has any. What it raises is raised as a `HookError`."""
        if self._order.agent.hooks is None:
            return
        try:
            await self._call(getattr(self._order.agent.hooks, moment), self._context(), *facts)
        except Stopped:
            raise
        except Exception as error:
            raise _hook_error(moment, error) from error

    async def check(self, output: Any) -> None:
        """Ask each guardrail in order. The first that refuses ends the run with `GuardrailTripped`."""
        for guardrail in self._order.agent.output_guardrails:
            name = getattr(guardrail, "__name__", type(guardrail).__name__)
            try:
                verdict = await self._call(guardrail, output, self._context())
                is_refused = bool(verdict)
            except (Stopped, GuardrailTripped):
                raise
            except Exception as error:
                raise _hook_error(f"guardrail {name}", error) from error
            if is_refused:
                reason = verdict if isinstance(verdict, str) else f"refused by {name}"
                raise GuardrailTripped(f"output guardrail: {reason}")

    async def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        async def settled() -> Any:
            value = function(*given)
            return await value if inspect.isawaitable(value) else value

        return await unless_stopped(self._order.stop, contained(settled, RuntimeError))

    def _context(self) -> RunContext:
        head = self._journal.head
        return RunContext(
            run_id=self._journal.run_id,
            session_id=head.session_id,
            agent=head.agent,
            step=head.steps,
            usage=Usage.from_json(head.usage),
            resumed=self._resumed,
            deps=self._order.deps,
            transcript=self._transcript,
        )

    def _transcript(self) -> list[Entry]:
        return deepcopy(in_call_order(self._journal.entries))


def _hook_error(name: str, error: Exception) -> HookError:
    return HookError(f"{name}: {exception_text(error)}", hint="put it right, and resume the run")
