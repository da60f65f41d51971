"""``lovia rewind``: drop the end of a session (M3, M4)."""

from __future__ import annotations

from typing import Annotated

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.confirming import NOT_DONE, DryRun, KeepHistory, Yes, agreed
from lovia_cli.cli.deleting import delete_runs, drop_results, gone_of, refuse_executing, run_words
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.ids import Thing, session_meant
from lovia_cli.cli.naming import Last, SessionName, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.errors import ConflictError, UserError
from lovia_cli.render.words import counted
from lovia_cli.wiring import Stores, open_stores
from stores.protocols import Rewind
from stores.records import Segment, Status
from stores.surgery import RewindPlan, check_count, rewind_plan


def rewind(
    call: Call,
    name: SessionName = None,
    last: Last = False,
    keep_entries: Annotated[
        int | None, Option("--keep-entries", metavar="N", help="Keep entries 1 to N, as lovia show numbers them.")
    ] = None,
    keep_runs: Annotated[int | None, Option("--keep-runs", metavar="N", help="Keep the first N finished runs.")] = None,
    last_run: Annotated[bool, Option("--last-run", help="Drop the last finished run.")] = False,
    keep_history: KeepHistory = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Answer:
    """Drop the end of a session, so that its next run goes on from an earlier point.

    The checkpoints of the runs that go, or are cut short, go too: resuming one would bring its end back. What their
    tools did stays done. Unfinished runs stay, and resume on the shorter history.
    """
    given = [value for value in (keep_entries, keep_runs, last_run or None) if value is not None]
    if len(given) != 1:
        raise UserError("say how much to keep, in one way", hint="use --keep-entries N, --keep-runs N or --last-run")
    for option, number in (("--keep-entries", keep_entries), ("--keep-runs", keep_runs)):
        if number is not None:
            check_count(option, number)
    wish = _Wish(keep_entries, keep_runs)
    return drive_stores(
        _rewind(call, named(name, last, "session"), wish, keep_history=keep_history, dry_run=dry_run, yes=yes)
    )


COMMAND = rewind


class _Wish:
    """How much is to be kept. Both None: all but the last run."""

    def __init__(self, entries: int | None, runs: int | None) -> None:
        self._entries = entries
        self._runs = runs

    def plan(self, segments: list[Segment]) -> tuple[RewindPlan, int]:
        """What it comes to, and the number of entries to keep."""
        kept = segments[:-1] if self._runs is None else segments[: self._runs]
        keep = self._entries if self._entries is not None else sum(len(segment.entries) for segment in kept)
        return rewind_plan(segments, keep), keep


async def _rewind(call: Call, name: str | None, wish: _Wish, *, keep_history: bool, dry_run: bool, yes: bool) -> Answer:
    stores = open_stores(call.settings.store)
    session = await session_meant(stores, name)
    call.session_id = session.session_id
    refuse_executing(session.unfinished)
    plan, keep = wish.plan(session.segments)
    if plan.runs and not dry_run:
        question = f"{_what(session, plan, 'Remove')}?"
        if not agreed(call, question, yes=yes):
            return NOT_DONE
        await _carry_out(stores, session, plan, keep, keep_history=keep_history)
    gone = await gone_of(stores, plan.deleted, session.session_id)
    if not keep_history and not dry_run:
        await drop_results(stores, gone)
    return _told(stores, session, plan, gone, keep_history=keep_history, dry_run=dry_run)


async def _carry_out(stores: Stores, session: Thing, plan: RewindPlan, keep: int, *, keep_history: bool) -> None:
    """Checkpoints first: cut off in between, the session is as it was, and the same command goes on."""
    if not isinstance(stores.sessions, Rewind):
        raise UserError("this store cannot rewind", where=str(stores.location))
    async with stores.runs.open_runs(session.session_id) as unfinished:
        refuse_executing(unfinished)
        if await stores.sessions.segments(session.session_id) != session.segments:
            raise ConflictError(f"session {session.session_id!r} has changed meanwhile", hint="try again")
        await delete_runs(stores, plan.runs, session.session_id, keep_history=keep_history)
    await stores.sessions.rewind(session.session_id, keep_entries=keep)


def _what(session: Thing, plan: RewindPlan, verb: str) -> str:
    total = sum(len(segment.entries) for segment in session.segments)
    return f"{verb} {plan.removed:,} of {counted(total, 'entry', 'entries')} of session {session.session_id}"


def _told(
    stores: Stores, session: Thing, plan: RewindPlan, gone: list[str], *, keep_history: bool, dry_run: bool
) -> Told:
    lines = [_what(session, plan, "would remove" if dry_run else "removed")]
    if plan.truncated is not None:
        lines.append(f"cut short: run {plan.truncated}; it cannot be resumed or replayed any more")
    if gone:
        lines.append(f"gone: {run_words(gone)}")
    if plan.runs:
        lines.append(f"what {'its' if len(plan.runs) == 1 else 'their'} tools did stays done")
    unfinished = [run for run in session.unfinished if run.status != Status.COMPLETED]
    lines += [f"unfinished, and stays: run {run.run_id} ({run.status or 'damaged'})" for run in unfinished]
    return Told(
        message="\n".join(lines),
        data={
            "store": str(stores.location),
            "session_id": session.session_id,
            "removed": plan.removed,
            "left": sum(len(segment.entries) for segment in session.segments) - plan.removed,
            "deleted": gone,
            "truncated": plan.truncated,
            "unfinished": [run.run_id for run in unfinished],
            "keep_history": keep_history,
            "dry_run": dry_run,
        },
    )
