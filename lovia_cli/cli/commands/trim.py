"""``lovia trim``: cut the old tool outputs of a session short (M1, M2)."""

from __future__ import annotations

from typing import Annotated

from lovia_cli.cli.answers import Answer, Told
from lovia_cli.cli.confirming import NOT_DONE, DryRun, Yes, agreed
from lovia_cli.cli.driving import drive_stores
from lovia_cli.cli.ids import session_meant
from lovia_cli.cli.naming import Last, SessionName, named
from lovia_cli.cli.options import Call
from lovia_cli.cli.parameters import Option
from lovia_cli.errors import UserError
from lovia_cli.render.words import counted
from lovia_cli.wiring import open_stores
from stores.archiving import missing_in, taken_in
from stores.protocols import Trim
from stores.surgery import check_count, trim_cuts


def trim(
    call: Call,
    name: SessionName = None,
    last: Last = False,
    keep_chars: Annotated[
        int, Option("--keep-chars", metavar="N", help="Keep so many characters of each output.")
    ] = 400,
    keep_runs: Annotated[int, Option("--keep-runs", metavar="N", help="Leave the last N runs as they are.")] = 1,
    no_archive: Annotated[bool, Option("--no-archive", help="Cut for good: keep no copy of the outputs.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Answer:
    """Cut long tool outputs of a session's older runs. All else of the session stays as it is.

    Unless --no-archive is given the whole outputs are kept beside it, and the agent's tool recall_tool_result gives
    them back. Twice is fine, and a lower --keep-chars cuts further.
    """
    check_count("--keep-chars", keep_chars)
    check_count("--keep-runs", keep_runs)
    return drive_stores(
        _trim(
            call, named(name, last, "session"), keep_chars, keep_runs, archived=not no_archive, dry_run=dry_run, yes=yes
        )
    )


COMMAND = trim


async def _trim(
    call: Call, name: str | None, keep_chars: int, keep_runs: int, *, archived: bool, dry_run: bool, yes: bool
) -> Answer:
    stores = open_stores(call.settings.store)
    session = await session_meant(stores, name)
    call.session_id = session.session_id
    old = session.segments[: max(len(session.segments) - keep_runs, 0)]
    cuts = [cut for one in old for cut in trim_cuts(one.run_id, one.entries, keep_chars, archived=archived)]
    left = await taken_in(stores.results, cuts) if archived else 0
    count, again = len(cuts) - left, [(cut.reference, cut.result) for cut in cuts if cut.whole is None]
    copied = count - await missing_in(stores.results, again)  # of what is cut now for the first time one is made
    if count and not dry_run:
        if not isinstance(stores.sessions, Trim):
            raise UserError("this store cannot trim", where=str(stores.location))
        if archived and stores.results is None:
            raise UserError("this store has no archive", where=str(stores.location), hint="cut for good: --no-archive")
        if not agreed(call, f"Cut {counted(count, 'tool output')} of session {session.session_id}?", yes=yes):
            return NOT_DONE
        count = await stores.sessions.trim_tool_results(
            session.session_id,
            keep_chars=keep_chars,
            keep_runs=keep_runs,
            archive=stores.results if archived else None,
        )
    verb = "would cut" if dry_run else "cut"
    some = "with a copy of each" if copied >= count else f"{copied} of them with a copy"
    how = f", {some} in the archive" if archived else " for good"
    whole = f"; {left} left whole, which the archive has no place for: --no-archive cuts for good" if left else ""
    return Told(
        message=f"{verb} {counted(count, 'tool output')} of session {session.session_id}{how if count else ''}{whole}",
        data={
            "store": str(stores.location),
            "session_id": session.session_id,
            "trimmed": count,
            "left_whole": left,
            "keep_chars": keep_chars,
            "keep_runs": keep_runs,
            "archived": archived,
            "dry_run": dry_run,
        },
    )
