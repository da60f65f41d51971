"""The checkpoint writer: the loop says when, the journal says what (R1).

It holds the run as it is stored, and changes it only together with the store: `record` makes one save
durable and then applies it, so that memory is never ahead of the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from lovia_cli.engine.stopping import until_done
from lovia_cli.engine.userstate import UserState
from stores.entries import JSON, Entry, InputEntry, ToolCallEntry, entry_from_json, in_call_order, pending_calls
from stores.fields import changed
from stores.protocols import PromptLease, RunLease
from stores.records import RunHead, RunSnapshot, Save, apply_head


class Journal:
    """One run being executed. ``lease`` is None for a run without a checkpoint, which is kept in memory only.

    ``on_save``, when set, is told of each save once it is durable.
    """

    def __init__(self, run_id: str, lease: RunLease | None, snapshot: RunSnapshot | None) -> None:
        self.run_id = run_id
        self.head = snapshot.head if snapshot else RunHead()
        self.entries: list[Entry] = list(snapshot.entries) if snapshot else []
        self.step_entries = [entry for entry in self.entries if entry.step == self.head.steps]
        self.state = UserState(self.head.state)
        self._lease = lease
        self._prompt = lease if isinstance(lease, PromptLease) else None
        self.on_save: Callable[[Save], object] = id
        self._lock = asyncio.Lock()
        self._clock = time.monotonic()

    async def record(
        self,
        event: str,
        *entries: Entry,
        step: int | None = None,
        info: dict[str, JSON] | None = None,
        **changes: Any,
    ) -> None:
        """Make one save durable: new entries, and the head fields in ``changes`` that really changed.

        A change is a value, or a function of nothing that is asked when the save's turn has come.
        A cancelled caller waits until the save in flight is whole, so a result is never half recorded.
        Raises `StoreWriteError` when it cannot be (R9).
        """
        if self._is_prompt():
            save = self._next(event, entries, step, info or {}, changes)
            if self._prompt is not None:
                self._prompt.save_now(save)
            self._apply(save)
            return
        writing = asyncio.ensure_future(self._record(event, entries, step, info or {}, changes))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await until_done(writing)
            if error := writing.exception():
                raise error from None
            raise

    def _is_prompt(self) -> bool:
        """True while a save waits for nobody: no cancellation can come in between, and no task has to guard it."""
        if self._lock.locked():
            return False
        return self._lease is None or (self._prompt is not None and self._prompt.is_prompt)

    async def _record(
        self, event: str, entries: tuple[Entry, ...], step: int | None, info: dict[str, JSON], changes: dict[str, Any]
    ) -> None:
        async with self._lock:
            save = self._next(event, entries, step, info, changes)
            if self._lease is not None:
                await self._lease.save(save)
            self._apply(save)

    def _next(
        self, event: str, entries: tuple[Entry, ...], step: int | None, info: dict[str, JSON], changes: dict[str, Any]
    ) -> Save:
        save = Save(
            number=self.head.save + 1,
            step=self.head.steps if step is None else step,
            at=time.time(),
            event=event,
            entries=list(entries),
            head=self._delta(changes),
            info=info,
        )
        if event == "result":  # nothing but a tool changes the state
            self._add_state(save)
        self._add_seconds(save)
        return save

    def _delta(self, changes: dict[str, Any]) -> dict[str, JSON]:
        values = {name: change() if callable(change) else change for name, change in changes.items()}
        return {name: value for name, value in values.items() if getattr(self.head, name) != value}

    def _apply(self, save: Save) -> None:
        if save.step != self.head.steps:
            self.step_entries = []
        apply_head(self.head, save)
        self.entries.extend(save.entries)
        self.step_entries.extend(save.entries)
        self.on_save(save)

    def _add_state(self, save: Save) -> None:
        if (state := self.state.changed()) is not None:
            save.head["state"] = state

    def _add_seconds(self, save: Save) -> None:
        now = time.monotonic()
        save.head["active_seconds"] = round(self.head.active_seconds + now - self._clock, 3)
        self._clock = now

    def active_seconds(self) -> float:
        """Executing time so far, all processes together."""
        return self.head.active_seconds + time.monotonic() - self._clock

    def pending(self) -> list[ToolCallEntry]:
        """The calls of the current step that have no result; earlier steps have none (Z2)."""
        return pending_calls(self.step_entries)

    def queued(self) -> list[InputEntry]:
        """Inputs that were accepted and are not in the transcript yet."""
        entries = [entry_from_json(data) for data in self.head.queued_input]
        return [entry for entry in entries if isinstance(entry, InputEntry)]

    def placed(self, inputs: Iterable[InputEntry]) -> list[InputEntry]:
        """The inputs as they enter the transcript now: after the results of the current step."""
        return [changed(entry, step=self.head.steps) for entry in inputs]

    def snapshot(self) -> RunSnapshot:
        """The run as it is stored now."""
        return RunSnapshot(run_id=self.run_id, head=self.head, entries=in_call_order(self.entries))
