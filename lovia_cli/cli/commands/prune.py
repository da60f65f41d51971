"""``lovia prune``: remove old finished runs, and old histories of deleted ones (H1)."""

from __future__ import annotations

import time
from typing import Annotated

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.confirming import NOT_DONE, DryRun, Yes, agreed
from lovia_cli.cli.deleting import drop_results
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.durations import seconds_given
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.errors import RunLockedError, StoreDamagedError, UserError
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, open_stores
from stores.lines import RunInfo
from stores.protocols import KeptHistories
from stores.records import Status

DELETED = "deleted"
STATUSES = (Status.COMPLETED.value, DELETED)


def prune(
    call: Call,
    older_than: Annotated[str, Option("--older-than", metavar="30d", help="How old: 90s, 30m, 12h, 30d, 8w.")],
    status: Annotated[
        str | None, Option("--status", metavar="|".join(STATUSES), help="Only runs, or only histories.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Answer:
    """Remove finished runs, and histories of deleted runs, whose last save is older than that.

    Never unfinished runs, and never sessions: what a pruned run has said stays in its session.
    """
    age = seconds_given("--older-than", older_than)
    if status not in (None, *STATUSES):
        unfinished = status in {known.value for known in Status}
        what = f"runs that are {status} are unfinished, and never pruned" if unfinished else f"no status {status!r}"
        hint = "end one with lovia runs finalize RUN, or delete it with lovia rm RUN" if unfinished else None
        raise UserError(what, where="--status", hint=hint or "use one of: " + ", ".join(STATUSES))
    return drive_stores(_prune(call, time.time() - age, status, dry_run=dry_run, yes=yes))


COMMAND = prune


async def _prune(call: Call, before: float, status: str | None, *, dry_run: bool, yes: bool) -> Answer:
    stores = open_stores(call.settings.store)
    old = await _candidates(stores, status, before)
    gone_on: list[RunInfo] = []
    damaged: list[RunInfo] = []
    if old and not dry_run:
        if not agreed(call, f"Remove {_words(old)}?", yes=yes):
            return NOT_DONE
        meant, old = old, []
        for run in meant:
            try:
                (old if await _remove(stores, run) else gone_on).append(run)
            except StoreDamagedError:
                damaged.append(run)
    verb = "would remove" if dry_run else "removed"
    lines = [f"{verb} {_words(old)}", *(f"  {run.run_id} ({run.status})" for run in old)]
    if gone_on:
        them = "it" if len(gone_on) == 1 else "them"
        lines.append(f"left, as somebody has gone on with {them} meanwhile: {_ids(gone_on)}")
    if damaged:
        lines.append(f"left, as what they hold is damaged: {_ids(damaged)}; look closer with: lovia doctor")
    return Told(
        message="\n".join(lines),
        data={
            "store": str(stores.location),
            "runs": [run.run_id for run in old if run.status != DELETED],
            "histories": [run.run_id for run in old if run.status == DELETED],
            "left": [run.run_id for run in (*gone_on, *damaged)],
            "dry_run": dry_run,
        },
    )


async def _candidates(stores: Stores, status: str | None, before: float) -> list[RunInfo]:
    """What is old and may be pruned."""
    found: list[RunInfo] = []
    if status != DELETED:
        ended = (run for run in await stores.runs.runs() if run.status == Status.COMPLETED)
        found += (run for run in ended if run.owner is None and run.damage is None)
    if status != Status.COMPLETED and isinstance(stores.runs, KeptHistories):
        found += await stores.runs.kept_histories()
    old = [run for run in found if run.updated_at is not None and run.updated_at < before]
    return [run for run in old if await _is_settled(stores, run)]


async def _is_settled(stores: Stores, run: RunInfo) -> bool:
    """False for a run that a crash has kept from its session."""
    return run.status == DELETED or run.session_id is None or await _is_in_session(stores, run)


async def _is_in_session(stores: Stores, run: RunInfo) -> bool:
    return run.session_id is not None and await stores.sessions.has_segment(run.session_id, run.run_id)


async def _remove(stores: Stores, run: RunInfo) -> bool:
    """Delete it; False when somebody executes it just now, or did so since it was listed.

    Raises `StoreDamagedError` when it cannot be told what else would go with it.
    """
    if not await _is_unchanged(stores, run):
        return False
    try:
        await stores.runs.delete(run.run_id)
    except RunLockedError:
        return False
    if not await _is_in_session(stores, run):
        await drop_results(stores, [run.run_id])
    return True


async def _is_unchanged(stores: Stores, run: RunInfo) -> bool:
    """True while it is what was listed. A history has no line of its own: its newest save tells."""
    now = await stores.runs.info(run.run_id)
    if run.status != DELETED:
        return now is not None and (now.status, now.updated_at) == (run.status, run.updated_at)
    try:
        saves = await stores.runs.history(run.run_id, limit=1) if now is None else []
    except StoreDamagedError:
        return True  # nobody has gone on with what cannot be read
    return [save.at for save in saves] == [run.updated_at]


def _ids(runs: list[RunInfo]) -> str:
    return ", ".join(run.run_id for run in runs)


def _words(found: list[RunInfo]) -> str:
    histories = sum(run.status == DELETED for run in found)
    parts = [counted(len(found) - histories, "finished run")]
    if histories:
        parts.append(counted(histories, "history of a deleted run", "histories of deleted runs"))
    return " and ".join(parts)
