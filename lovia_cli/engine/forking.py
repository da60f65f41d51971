"""Beginning a run from where another stood (H2, H3)."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, groupby
from typing import Protocol

from lovia_cli.engine.patching import Patch, apply_patch
from lovia_cli.errors import CheckpointNotFoundError, RunExistsError, RunLockedError, RunNotFoundError, UserError
from stores.entries import JSON, Entry
from stores.errors import StoreError
from stores.ids import MAX_LENGTH, as_words, check_id
from stores.lines import RunInfo
from stores.protocols import Checkpointer, Fork, History, RunIndex, Session, SessionFork, StepEntries
from stores.records import RunHead, RunSnapshot, Save, Status


class ForkingStore(Checkpointer, History, Fork, Protocol):
    """A store of runs that can be forked."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Forked:
    """The new run, and where it comes from: ``save`` of ``source``, in ``step``. ``patched`` names what is other."""

    run_id: str
    session_id: str | None
    source: str
    step: int
    save: int
    patched: list[str]


async def fork_run(
    run_id: str,
    *,
    from_step: int | None,
    from_save: int | None,
    patch: Patch,
    new_id: str | None,
    store: Checkpointer,
    session: Session | None,
) -> Forked:
    """See `lovia_cli.engine.runner.Runner.fork`."""
    if not isinstance(store, Fork) or not isinstance(store, History):
        raise UserError("this store keeps no history to fork from", hint="use a file, SQLite or memory store")
    source = await _source(store, run_id, from_step, from_save)
    if source.session_id is not None and session is None:
        raise UserError(f"run {run_id!r} belongs to session {source.session_id!r}", hint="pass session=, its store")
    forker = _Forker(store, session, run_id, source, await _forked(store, run_id, source, patch))
    if new_id is not None:
        await forker.begin(check_id(new_id, "run id"))
        return forker.told(new_id)
    for number in count(1):
        name = f"{run_id}.fork-{number}"
        if len(name) > MAX_LENGTH:
            raise UserError(
                f"the fork's id would have {len(name)} characters, more than {MAX_LENGTH}",
                hint="give it a shorter one: --new-id ID",
            )
        try:
            await forker.begin(name)
        except (RunExistsError, RunLockedError):
            continue
        return forker.told(name)
    raise AssertionError("numbers do not end")


async def _source(store: ForkingStore, run_id: str, step: int | None, save: int | None) -> RunHead:
    """The head of the save that is forked. Raises `CheckpointNotFoundError`, which lists what is kept."""
    for name, number in (("from_step", step), ("from_save", save)):
        if not isinstance(number, int | None) or isinstance(number, bool):
            raise UserError(f"{name} is a whole number, not {number!r}", hint="see what is kept: lovia history RUN")
    if step is None and save is None:
        raise UserError("no step to fork from was given", hint="name one: --from-step N; see: lovia history RUN")
    head = await store.moment(run_id, step=step, save=save)
    if head is not None:
        return head
    rows = await store.history(run_id)
    if not rows and await store.load(run_id) is None:
        raise RunNotFoundError(f"no run {run_id!r}", hint="see what there is: lovia history")
    if not rows:
        raise CheckpointNotFoundError(f"run {run_id!r} keeps no history", hint="its agent has history_limit: 0")
    kept = f"kept are steps {_ranges([row.step for row in rows])} (saves {_ranges([row.number for row in rows])})"
    found = next((row for row in rows if row.number == save), None)
    if found is not None:
        what = f"save {save} of run {run_id!r} is of step {found.step}, not of step {step}"
        raise CheckpointNotFoundError(what, hint=f"leave one of them out; {kept}")
    what = f"save {save}" if save is not None else f"step {step}"
    raise CheckpointNotFoundError(f"run {run_id!r} has no {what}", hint=kept)


def _ranges(numbers: list[int]) -> str:
    """``0 to 4, 7`` for these numbers, in any order."""
    runs = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    spans = [[number for _, number in group] for _, group in runs]
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans)


async def _forked(store: ForkingStore, run_id: str, source: RunHead, patch: Patch) -> Save:
    """The save that forks: the patch, and what no fork has of its source (H3)."""
    before, entries = await _entries(store, run_id, source, patch)
    done = apply_patch(patch, source, entries)
    now = time.time()
    head: dict[str, JSON] = {
        "parent": {"run_id": run_id, "save": source.save, "step": source.steps},
        "status": Status.INTERRUPTED.value,
        "started_at": now,
        "stop": None,
        "error": None,
        "output": None,
        "stopped_calls": [],
        "approvals": [],
        "grants": [],
        **done.head,
    }
    changed = {name: value for name, value in head.items() if getattr(source, name) != value}
    return Save(
        number=source.save + 1,
        step=done.step,
        at=now,
        event="forked",
        entries=done.entries,
        keep=None if done.keep is None else before + done.keep,
        head=changed,
        info={"patched": list(done.what)} if done.what else {},
    )


async def _entries(store: ForkingStore, run_id: str, source: RunHead, patch: Patch) -> tuple[int, list[Entry]]:
    """What the patch has to see of the transcript, and how many entries stand before it."""
    if not patch.reads_entries:
        return 0, []
    if patch.is_within(source.steps) and isinstance(store, StepEntries):
        step = await store.step_entries(run_id, source.save)
        if step is not None:
            return step
    snapshot = await store.snapshot(run_id, source.save)
    if snapshot is None:
        hint = "see what is: lovia history " + as_words(f"run:{run_id}")
        raise CheckpointNotFoundError(f"save {source.save} of run {run_id!r} is not kept any longer", hint=hint)
    return 0, snapshot.entries


@dataclass(slots=True)
class _Forker:
    """One fork to be made, under whichever id is free."""

    store: ForkingStore
    session: Session | None
    run_id: str
    source: RunHead
    forked: Save

    def told(self, new_id: str) -> Forked:
        return Forked(
            run_id=new_id,
            session_id=new_id if self.source.session_id is not None else None,
            source=self.run_id,
            step=self.source.steps,
            save=self.source.save,
            patched=list(self.forked.info.get("patched", ())),
        )

    async def begin(self, new_id: str) -> None:
        """Take the id and fork. Raises `RunExistsError` or `RunLockedError` when it is taken."""
        await self._refuse_run(new_id)
        async with self.store.lease(new_id) as lease:  # whose fork refuses a run that began in between
            await self._refuse_session(new_id)
            sharing = await self._prepare_session(new_id)
            if self.source.session_id is not None:
                self.forked.head["session_id"] = new_id
            try:
                await self.store.fork(lease, self.run_id, self.forked)
            except RunExistsError:
                if sharing is not None:
                    await sharing.drop_fork(new_id)
                raise
            except BaseException:
                if sharing is not None:
                    await self._settle_session(sharing, new_id)
                raise
            if sharing is not None:
                await sharing.confirm_fork(new_id)

    async def _settle_session(self, sharing: SessionFork, new_id: str) -> None:
        """What the fork came to decides: a stop, or a failing disk, may have come behind its commit.

        Where that cannot be told the session stays prepared, and the run confirms it when it goes on.
        """
        with suppress(StoreError):
            await (sharing.confirm_fork(new_id) if await self._stored(new_id) else sharing.drop_fork(new_id))

    async def _stored(self, run_id: str) -> RunInfo | RunSnapshot | None:
        """The run, damaged or not; None when there is none."""
        store = self.store
        return await (store.info(run_id) if isinstance(store, RunIndex) else store.load(run_id))

    async def _refuse_run(self, new_id: str) -> None:
        """Raise when a run, or the kept history of one, has that id (H2)."""
        if await self._stored(new_id) or await self.store.history(new_id, limit=1):
            name = as_words(f"run:{new_id}")
            raise RunExistsError(f"run {new_id!r} exists already", hint=f"look at it: lovia history {name}")

    async def _refuse_session(self, new_id: str) -> None:
        """Raise when a session has that id, if only as that of an unfinished run: the fork may need it (H2)."""
        store, session = self.store, self.session
        if isinstance(store, RunIndex):
            async with store.open_runs(new_id) as runs:
                if runs:
                    raise RunExistsError(f"session {new_id!r} exists already", hint="use a new id")
        if session is not None and isinstance(session, SessionFork):
            await session.fork_session(None, new_id, upto=None)
        elif session is not None and await session.segments(new_id):
            raise RunExistsError(f"session {new_id!r} exists already", hint="use a new id")

    async def _prepare_session(self, new_id: str) -> SessionFork | None:
        """A session of its own that begins with the segments the source started from (H3); None: there are none."""
        upto = self.source.history_upto
        if self.source.session_id is None or upto is None or self.session is None:
            return None
        if not isinstance(self.session, SessionFork):
            raise UserError("this session store cannot share a session's beginning with a fork")
        await self.session.fork_session(self.source.session_id, new_id, upto=upto)
        return self.session
