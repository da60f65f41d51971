"""One execution of one order: open, run or replay, and say in the store how it ended (R3, R6, R7, R9)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from lovia_cli.engine.drift import Changes, changes, describe, fingerprint, refuse_drift, refuse_missing_tool
from lovia_cli.engine.events import Event
from lovia_cli.engine.finalizing import finalize_run, heal, settle
from lovia_cli.engine.limits import limits_in_force, refuse_unpriced
from lovia_cli.engine.loop import Loop
from lovia_cli.engine.opening import Finalise, Heal, Opened, open_run
from lovia_cli.engine.options import RunResult
from lovia_cli.engine.order import RunOrder
from lovia_cli.engine.results import result_of
from lovia_cli.engine.stopping import unless_stopped, watched
from lovia_cli.environment import names_in, with_names
from lovia_cli.errors import OutputNotStoredError, ProviderError, SegmentDiffersError, Stopped
from stores.errors import LoviaError, StoreError, StoreWriteError
from stores.records import Save, Status
from stores.values import exception_text, plain

log = logging.getLogger("lovia")

T = TypeVar("T")

HEALS, HEAL_PAUSE = 50, 0.05
"""How often a completed run is looked after before its session goes on, and the seconds in between."""


class Execution:
    """Carries out one `RunOrder`."""

    def __init__(self, order: RunOrder) -> None:
        self._order = order
        self._run_id = ""
        self._warnings: list[str] = []
        self._said: list[tuple[str, str]] = []
        self._healed: Counter[str] = Counter()

    async def go(self) -> RunResult:
        """Open and execute. Raises only what refuses the order before the run goes on."""
        return await self._deleted_on_success(await self._once_open(self._carry_out))

    async def foresee(self) -> tuple[Opened, Changes]:
        """Open, and stop before anything is executed: the run that is meant, and what changed in its agent."""
        return await self._once_open(self._checked)

    async def _once_open(self, then: Callable[[Opened], Awaitable[T]]) -> T:
        """What ``then`` makes of the open run while its lease is held."""
        while True:
            async with AsyncExitStack() as held:
                found = await unless_stopped(self._order.stop, open_run(self._order, held))
                if isinstance(found, Opened):
                    return await then(found)
            await self._prepare(found)

    async def _checked(self, opened: Opened) -> tuple[Opened, Changes]:
        """Raises what must not go on, with nothing written; what is to be hidden of that has been told before."""
        self._run_id = opened.journal.run_id
        self._order.learn([*names_in(opened.journal.head.config), *self._names(opened)])
        drifted: Changes = {}
        if opened.mode == "resume":
            refuse_unpriced(self._order.agent.model, self._limits(opened))
            drifted = self._check_drift(opened)
        return opened, drifted

    async def _carry_out(self, opened: Opened) -> RunResult:
        _, drifted = await self._checked(opened)
        return await self._replay(opened) if opened.mode == "replay" else await self._execute(opened, drifted)

    async def _deleted_on_success(self, result: RunResult) -> RunResult:
        """Last of all, when the run is in its session, and its lease given back: drop it (R7)."""
        checkpoint = self._order.checkpoint
        if checkpoint and checkpoint.delete_on_success and result.status == Status.COMPLETED and not result.error:
            try:
                await checkpoint.store.delete(self._run_id)
            except LoviaError as error:
                result.error = error
        return result

    def _check_drift(self, opened: Opened) -> Changes:
        """What changed in the agent since the run was saved; raises, with nothing written, what must not go on (Z7)."""
        agent, saved = self._order.agent, opened.journal.head.fingerprint
        refuse_missing_tool(opened.journal.run_id, saved, agent, opened.journal.pending())
        found = changes(saved, self._fingerprint(opened))
        policy = self._order.on_drift or agent.on_drift
        if found and policy == "error":
            refuse_drift(self._run_id, found)
        return found if policy == "warn" else {}

    def _fingerprint(self, opened: Opened) -> dict[str, Any]:
        saved = opened.journal.head.config.get("variables") or {}
        return fingerprint(self._order.agent, self._order.variables or saved)

    async def _prepare(self, found: Heal | Finalise) -> None:
        """What has to be done to the session's earlier runs before the order can be carried out."""
        assert self._order.store is not None
        if isinstance(found, Finalise):
            await finalize_run(found.run_id, self._order.store, self._order.session)
            self._said.append(("finalized", f"run {found.run_id} had used up its limit; it was ended as it stood"))
            return
        for run_id in found.run_ids:
            await self._not_for_ever(run_id)
            self._warnings += await heal(run_id, self._order.store, self._order.session)

    async def _not_for_ever(self, run_id: str) -> None:
        """Healing a run once is enough, but where another process is just at it, or its open end cannot be removed."""
        self._healed[run_id] += 1
        if self._healed[run_id] > HEALS:
            raise StoreWriteError(
                f"run {run_id!r} is complete, and the mark of its open end stays",
                hint="make the store's folders writable for this user, then run the same command again",
            )
        if self._healed[run_id] > 1:
            await asyncio.sleep(HEAL_PAUSE)

    async def _replay(self, opened: Opened) -> RunResult:
        """Give the stored result again, without the model; the session append is applied again (R6)."""
        run = opened.journal.snapshot()
        self._tell_start(opened, replayed=True)
        error = await self._append(opened)
        stored = run.head.error or {}
        if error is None and stored.get("code") == OutputNotStoredError.code:
            error = OutputNotStoredError(str(stored.get("message")), hint=stored.get("hint"))
        return self._finished(opened, error, replayed=True)

    async def _execute(self, opened: Opened, drifted: Changes) -> RunResult:
        journal = opened.journal
        journal.on_save = self._tell_save
        self._tell_start(opened, replayed=False)
        for code, text in [*self._said, *opened.notices]:
            self._notice(code, text)
        if drifted:
            self._notice("agent_drift", f"the agent has changed since this run was saved: {describe(drifted)}")
            self._emit("agent.drift", changes=drifted)
        loop: Loop | None = None
        try:
            async with watched(self._order.stop, opened.lease, self._order.timeout):
                if opened.mode == "resume":
                    await self._resume(opened)
                resumed = opened.mode == "resume"
                loop = Loop(self._order, journal, opened.conversation, self._emit, resumed=resumed)
                await loop.go(opened.inputs)
        except asyncio.CancelledError:
            await self._close(opened, status=Status.INTERRUPTED, stop={"reason": "abandoned"})
            raise
        except LoviaError as error:
            return self._finished(opened, await self._broken_off(opened, loop, error))
        except Exception as error:
            log.debug("the run failed", exc_info=error)
            failure = LoviaError(exception_text(error))
            failure.__cause__ = error
            return self._finished(opened, await self._broken_off(opened, loop, failure))
        result = self._finished(opened, await self._append(opened))
        result.output = loop.output
        return result

    async def _resume(self, opened: Opened) -> None:
        """The run is being executed again: first of all the store says so (R3), with what is given now saved (Z8)."""
        journal, conversation = opened.journal, opened.conversation
        if conversation.last_run != journal.head.history_upto:
            self._notice(
                "history_changed", "the session has changed since this run began; it goes on with it as it is now"
            )
        await journal.record(
            "resumed",
            status=Status.RUNNING,
            stop=None,
            error=None,
            stopped_calls=self._still_stopped(opened),
            limits=self._limits(opened),
            config=with_names({**journal.head.config, **self._given_config()}, self._names(opened)),
            fingerprint=self._fingerprint(opened),
        )

    @staticmethod
    def _still_stopped(opened: Opened) -> list[str]:
        """The calls that new input cancels (Z2). Without any they begin again now, and are then no longer stopped."""
        head = opened.journal.head
        return head.stopped_calls if opened.inputs or head.queued_input else []

    def _limits(self, opened: Opened) -> dict[str, Any]:
        return limits_in_force(self._order.agent.limits, opened.journal.head.limits, self._order.limits)

    def _names(self, opened: Opened) -> list[str]:
        """The variables that the agent names, and those that the session's runs did: it may have got some meanwhile."""
        return [*self._order.agent.environment, *opened.conversation.environment()]

    def _given_config(self) -> dict[str, Any]:
        given = dict(self._order.config)
        if self._order.variables:
            given["variables"] = self._order.variables
        return given

    async def _broken_off(self, opened: Opened, loop: Loop | None, error: LoviaError) -> LoviaError:
        """Save why the run ends here: interrupted or failed (R3). A failing save does not mask the error (R9)."""
        if isinstance(error, Stopped):
            stopped = sorted({*opened.journal.head.stopped_calls, *(loop.calls.stopped if loop else ())})
            await self._close(opened, status=Status.INTERRUPTED, stop=plain(error.stop()), stopped_calls=stopped)
        elif isinstance(error, StoreError):
            await self._close(opened, status=Status.INTERRUPTED, stop={"reason": "save"}, error=error.as_json())
        elif isinstance(error, ProviderError) and error.retryable:
            await self._close(opened, status=Status.INTERRUPTED, stop={"reason": "provider"}, error=error.as_json())
        else:
            await self._close(opened, status=Status.FAILED, error=error.as_json())
        return error

    async def _close(self, opened: Opened, *, status: Status, **changes: Any) -> None:
        """Save the state the run is left in; one that is completed stays so, whatever came after."""
        if opened.journal.head.status == Status.COMPLETED:
            return
        try:
            await opened.journal.record(str(status), status=status, **changes)
        except StoreError as failure:
            log.warning("the run's last state could not be saved: %s", failure.message)
            opened.journal.head.status = status
            opened.journal.head.stop = changes.get("stop")

    async def _append(self, opened: Opened) -> LoviaError | None:
        """The run is complete: its segment goes to the session, and then the store forgets the open end (R7)."""
        try:
            if self._order.store is not None:
                await settle(opened.journal.snapshot(), opened.conversation, self._order.store)
            else:
                await opened.conversation.append(opened.journal.snapshot())
        except SegmentDiffersError as error:  # stored as it was first appended: said, and no failure (S3)
            self._warnings.append(error.message)
        except LoviaError as error:
            return error
        return None

    def _emit(self, type: str, **data: Any) -> None:
        self._order.on_event(Event(type, self._run_id, time.time(), data))

    def _notice(self, code: str, text: str) -> None:
        self._warnings.append(text)
        self._emit("notice", level="warning", code=code, message=text)

    def _tell_save(self, save: Save) -> None:
        self._emit("run.saved", save=save.number, step=save.step, event=save.event)

    def _tell_start(self, opened: Opened, *, replayed: bool) -> None:
        head = opened.journal.head
        self._emit(
            "run.started",
            session_id=head.session_id,
            agent=head.agent,
            model=self._model(opened),
            resumed=opened.mode == "resume",
            replayed=replayed,
            steps=head.steps,
            input_ignored=opened.input_ignored,
        )

    def _model(self, opened: Opened) -> str:
        """The model that is asked, or that was, when nothing is asked any more."""
        if opened.mode == "replay":
            return str((opened.journal.head.fingerprint or {}).get("model") or "")
        return self._order.agent.model.id

    def _finished(self, opened: Opened, error: LoviaError | None, *, replayed: bool = False) -> RunResult:
        result = result_of(opened.journal.snapshot(), opened.conversation.entries(), self._model(opened))
        result.replayed = replayed
        result.resumed = opened.mode == "resume"
        result.input_ignored = opened.input_ignored
        result.error = error
        result.warnings = self._warnings
        self._emit(
            "run.finished",
            status=result.status,
            output=result.output,
            error=error.as_json() if error else None,
            stop=result.stop,
            finish_reason=result.finish_reason,
            steps=result.steps,
            usage=result.usage.as_json(),
            replayed=replayed,
        )
        return result
