"""What the optional `KeptHistories` promises (H1): histories of deleted runs can be found, and then removed."""

from __future__ import annotations

from stores.conformance.checks import Contract, RememberingCheckpointer, exactly, saved, write
from stores.conformance.samples import say
from stores.protocols import KeptHistories


class KeptHistoriesContract(Contract[RememberingCheckpointer]):
    """The listing of what `Checkpointer.delete` has kept."""

    async def test_h1_the_store_finds_kept_histories(self) -> None:
        assert isinstance(await self.open(), KeptHistories)

    async def test_h1_only_a_deleted_run_whose_history_is_kept_is_listed(self) -> None:
        store = await self.open()
        assert await store.kept_histories() == []
        for run_id in ("stays", "goes", "kept"):
            await write(store, run_id, saved(1, say("go"), agent="bot", session_id="s"), saved(2, status="completed"))
        await store.delete("goes")
        await store.delete("kept", keep_history=True)
        lines = await (await self.open()).kept_histories()
        assert len(lines) == 1, lines
        line = lines[0]
        assert (line.run_id, line.status, line.agent, line.session_id) == ("kept", "deleted", "bot", "s")
        assert (line.save, line.updated_at, line.owner, line.damage) == (2, 1002.0, None, None)

    async def test_h1_kept_histories_stand_newest_activity_first(self) -> None:
        store = await self.open()
        for run_id in ("b", "a", "c"):
            await write(store, run_id, *(saved(n) for n in range(1, 2 + "bac".index(run_id))))
        await write(store, "a", saved(3))
        for run_id in ("a", "b", "c"):
            await store.delete(run_id, keep_history=True)
        lines = await (await self.open()).kept_histories()
        exactly([line.updated_at for line in lines], sorted((line.updated_at for line in lines), reverse=True))
        assert sorted(line.run_id for line in lines) == ["a", "b", "c"]

    async def test_h1_another_delete_removes_a_kept_history(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, say("go")))
        await store.delete("r", keep_history=True)
        assert await store.delete("r") is False
        store = await self.open()
        assert await store.kept_histories() == []
        assert await store.history("r") == []

    async def test_h1_a_run_that_begins_anew_has_no_kept_history(self) -> None:
        store = await self.open()
        await write(store, "r", saved(1, say("old")))
        await store.delete("r", keep_history=True)
        await write(store, "r", saved(1, say("new")))
        assert await store.kept_histories() == []
