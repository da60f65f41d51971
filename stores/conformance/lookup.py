"""What the optional lookups promise: the line of one id is the one of the listing (R3, S1, H1, K6)."""

from __future__ import annotations

from stores.conformance.checks import (
    Contract,
    LookedUpCheckpointer,
    LookedUpHistories,
    LookedUpSession,
    exactly,
    refused,
    saved,
    write,
)
from stores.conformance.samples import IDS, REFUSED_IDS, say
from stores.errors import UserError
from stores.lines import RunInfo
from stores.lookup import KeptHistoryLookup, OpenRunLookup, SessionLookup


class OpenRunLookupContract(Contract[LookedUpCheckpointer]):
    """A session's unfinished runs, seen without its lock."""

    async def test_k6_the_store_looks_up_open_runs(self) -> None:
        assert isinstance(await self.open(), OpenRunLookup)

    async def test_k6_a_lookup_tells_what_open_runs_tell(self) -> None:
        store = await self.open()
        assert await store.open_infos("s") == []
        for number, status in enumerate(("interrupted", "failed", "completed", "running", "awaiting_approval")):
            await write(store, status, saved(1, session_id="s", agent="bot"), *(saved(n + 2) for n in range(number)))
            await write(store, status, saved(number + 2, status=status))
        for run_id in ("settled", "kept", "gone"):
            await write(store, run_id, saved(1, session_id="s"), saved(2, status="completed"))
        await store.settle("settled")
        await store.delete("kept", keep_history=True)
        await store.delete("gone")
        await write(store, "nowhere", saved(1))
        await write(store, "elsewhere", saved(1, session_id="S"))
        other = await self.open()
        async with other.lease("failed"):
            for session_id, count in (("s", 5), ("S", 1), ("unknown", 0)):
                lines = await other.open_infos(session_id)
                exactly(lines, await _open(other, session_id))
                assert len(lines) == count
            assert [line.run_id for line in await other.open_infos("s") if line.owner] == ["failed"]

    async def test_k6_a_lookup_waits_for_no_lock_and_leaves_it_alone(self) -> None:
        store = await self.open()
        async with (await self.open()).open_runs("s") as lines, store.lease("r") as lease:
            assert lines == await store.open_infos("s") == []
            await lease.save(saved(1, session_id="s"))
            assert [line.run_id for line in await store.open_infos("s")] == ["r"]

    async def test_k6_a_lookup_takes_ids_that_look_alike_for_different_sessions(self) -> None:
        store = await self.open()
        for number, session_id in enumerate(IDS):
            await write(store, str(number), saved(1, session_id=session_id))
        store = await self.open()
        for number, session_id in enumerate(IDS):
            assert [line.run_id for line in await store.open_infos(session_id)] == [str(number)]
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.open_infos(bad)


class SessionLookupContract(Contract[LookedUpSession]):
    """One session's line."""

    async def test_s1_the_store_looks_up_sessions(self) -> None:
        assert isinstance(await self.open(), SessionLookup)

    async def test_s1_a_lookup_tells_what_the_listing_tells(self) -> None:
        store = await self.open()
        for number, session_id in enumerate(IDS):
            for run in range(number % 3 + 1):
                await store.append(session_id, [say("one")] * number, run_id=f"r{run}")
        store = await self.open()
        for line in await store.sessions():
            exactly(await store.session_info(line.session_id), line)

    async def test_s1_a_lookup_finds_no_session_that_is_not_listed_and_makes_none(self) -> None:
        store = await self.open()
        assert await store.session_info("s") is None
        assert await store.sessions() == []
        for session_id in ("s", "t"):
            await store.append(session_id, [say("one")], run_id="r1")
        await store.clear("s")
        store = await self.open()
        assert [await store.session_info(session_id) is None for session_id in ("s", "t", "S")] == [True, False, True]
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.session_info(bad)


class KeptHistoryLookupContract(Contract[LookedUpHistories]):
    """The line of one history that a deleted run has left."""

    async def test_h1_the_store_looks_up_kept_histories(self) -> None:
        assert isinstance(await self.open(), KeptHistoryLookup)

    async def test_h1_a_lookup_tells_what_is_listed_of_a_kept_history(self) -> None:
        store = await self.open()
        for run_id in ("stays", "goes", "kept", "too"):
            await write(store, run_id, saved(1, say("go"), agent=run_id, session_id="s"), saved(2, status="completed"))
        await store.delete("goes")
        for run_id in ("kept", "too"):
            await store.delete(run_id, keep_history=True)
        store = await self.open()
        for line in await store.kept_histories():
            exactly(await store.kept_info(line.run_id), line)
        found = [await store.kept_info(run_id) for run_id in ("kept", "too", "stays", "goes", "Kept", "unknown")]
        assert [line and line.run_id for line in found] == ["kept", "too", None, None, None, None]
        for bad in REFUSED_IDS:
            with refused(UserError):
                await store.kept_info(bad)


async def _open(store: LookedUpCheckpointer, session_id: str) -> list[RunInfo]:
    """The session's open runs under its lock, looked at for a moment."""
    async with store.open_runs(session_id) as lines:
        return lines
