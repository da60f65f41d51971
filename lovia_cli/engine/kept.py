"""The saves of a run that its store keeps, each with its full snapshot (H1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from lovia_cli.errors import RunNotFoundError
from stores.entries import JSON
from stores.protocols import Checkpointer, History
from stores.records import RunSnapshot
from stores.surgery import check_count


@dataclass(slots=True, frozen=True, kw_only=True)
class KeptSave:
    """One save of a run: its number and step, when it was made (epoch seconds), and the status saved then.

    ``event`` says what happened, one of `stores.records.EVENTS`, and ``info`` more of it. ``entries`` is how many the
    run's transcript had.
    """

    run_id: str
    save: int
    step: int
    saved_at: float
    status: str
    event: str
    entries: int
    info: dict[str, JSON] = field(default_factory=dict)
    store: History = field(repr=False, compare=False)

    async def snapshot(self) -> RunSnapshot:
        """The run as it was then. Raises `RunNotFoundError` when the store has dropped it since it was listed."""
        found = await self.store.snapshot(self.run_id, self.save)
        if found is None:
            raise RunNotFoundError(
                f"save {self.save} of run {self.run_id!r} is no longer kept", hint="list again what there is"
            )
        return found


async def get_checkpoint_history(
    store: Checkpointer, run_id: str, *, limit: int | None = None
) -> list[KeptSave] | None:
    """The newest ``limit`` saves of a run, or all, newest first (H1).

    None when the store keeps no history; an unknown run gives an empty list. Listing reads no transcripts: each is
    read when its `KeptSave.snapshot` is asked for. Raises `UserError` for a ``limit`` that is no whole number from 0.
    """
    if not isinstance(store, History):
        return None
    if limit is not None:
        check_count("limit", limit)
    return [
        KeptSave(
            run_id=run_id,
            save=row.number,
            step=row.step,
            saved_at=row.at,
            status=row.status,
            event=row.event,
            entries=row.entries,
            info=row.info,
            store=store,
        )
        for row in await store.history(run_id, limit=limit)
    ]
