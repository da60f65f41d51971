"""What is asked of one id has the same answer from a store that can only list."""

from __future__ import annotations

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.lookup import KeptHistoryLookup, OpenRunLookup, SessionLookup, kept_info, open_infos, session_info
from stores.memory import InMemoryCheckpointer, InMemorySession


class Listing(InMemoryCheckpointer):
    open_infos = None
    kept_info = None


class ListingSession(InMemorySession):
    session_info = None


@pytest.mark.anyio
async def test_r3_a_store_without_lookups_is_asked_for_its_listing() -> None:
    found = []
    for runs, sessions in ((InMemoryCheckpointer(), InMemorySession()), (Listing(), ListingSession())):
        for run_id, session_id in (("open", "s"), ("other", "t"), ("alone", None), ("kept", None)):
            await write(runs, run_id, saved(1, session_id=session_id))
        await runs.delete("kept", keep_history=True)
        for session_id in ("s", "t"):
            await sessions.append(session_id, [say("go")], run_id="r")
        lines = [await session_info(sessions, name) for name in ("s", "unknown")]
        found.append(
            (
                [await open_infos(runs, name) for name in ("s", "unknown")],
                [await kept_info(runs, name) for name in ("kept", "open", "unknown")],
                [line and (line.session_id, line.segments, line.entries) for line in lines],
            )
        )
    exactly(found[1], found[0])
    assert [info.run_id for info in found[1][0][0]] == ["open"]
    lookups = (OpenRunLookup, KeptHistoryLookup, SessionLookup)
    assert not any(isinstance(store, lookup) for store in (Listing(), ListingSession()) for lookup in lookups)


@pytest.mark.anyio
async def test_h1_a_store_that_keeps_no_history_has_none_of_any_id() -> None:
    assert await kept_info(InMemorySession(), "r") is None
