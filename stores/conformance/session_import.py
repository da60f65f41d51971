"""What the optional `SessionImport` promises: a session taken in as it was."""

from __future__ import annotations

from stores.conformance.checks import Contract, ImportingSession, exactly, refused
from stores.conformance.samples import every_entry, say
from stores.errors import ConflictError
from stores.protocols import SessionImport, SessionIndex
from stores.records import Segment


def some_segments() -> list[Segment]:
    """One that a rewind has cut, one with everything, one that is empty."""
    return [
        Segment(run_id="cut", entries=[say("one")], truncated=True),
        Segment(run_id="whole", entries=every_entry(), meta={"timing": {"started_at": 1.5}, "x": [None]}),
        Segment(run_id="empty", entries=[]),
    ]


class SessionImportContract(Contract[ImportingSession]):
    """A session's segments go in as one."""

    async def test_s2_the_store_can_take_a_session_in(self) -> None:
        assert isinstance(await self.open(), SessionImport)

    async def test_s2_an_imported_session_is_the_session(self) -> None:
        await (await self.open()).import_segments("s", some_segments())
        await (await self.open()).import_segments("none", [])
        store = await self.open()
        exactly(await store.segments("s"), some_segments())
        if isinstance(store, SessionIndex):
            sizes = {line.session_id: (line.segments, line.entries) for line in await store.sessions()}
            exactly(sizes, {"s": (3, 1 + len(every_entry())), "none": (0, 0)})
            assert await store.has_segment("s", "whole")

    async def test_s3_an_imported_session_goes_on(self) -> None:
        await (await self.open()).import_segments("s", some_segments())
        store = await self.open()
        await store.append("s", every_entry(), run_id="whole")
        await store.append("s", [say("more")], run_id="next")
        exactly([segment.run_id for segment in await store.segments("s")], ["cut", "whole", "empty", "next"])

    async def test_s2_an_import_is_over_no_session(self) -> None:
        store = await self.open()
        await store.append("s", [say("mine")], run_id="r")
        await store.import_segments("none", [])
        for session_id in ("s", "none"):
            with refused(ConflictError):
                await store.import_segments(session_id, some_segments())
        exactly([segment.run_id for segment in await store.segments("s")], ["r"])
        await store.clear("s")
        await store.import_segments("s", some_segments())
        exactly(await (await self.open()).segments("s"), some_segments())
