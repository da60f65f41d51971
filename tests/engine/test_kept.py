"""What a run's earlier saves tell (H1), and going on without new input (K2)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lovia_cli.engine.kept import get_checkpoint_history
from lovia_cli.engine.runner import Runner
from lovia_cli.errors import RunLockedError, RunNotFoundError, UserError
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.protocols import Checkpointer, RunLease
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a"), "done"]


class Forgetful:
    """A checkpointer without any optional ability."""

    def __init__(self) -> None:
        self.load, self.delete = (kept := InMemoryCheckpointer()).load, kept.delete
        self.request_cancel, self._lease = kept.request_cancel, kept.lease

    @asynccontextmanager
    async def lease(self, run_id: str) -> AsyncIterator[RunLease]:
        async with self._lease(run_id) as lease:
            yield lease


async def test_h1_the_history_lists_saves_newest_first_and_gives_their_snapshots():
    store = InMemoryCheckpointer()
    await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=at(store, "r1"))
    history = await get_checkpoint_history(store, "r1")
    assert [(kept.save, kept.step, kept.status, kept.event, kept.entries) for kept in history] == [
        (5, 2, "completed", "completed", 4),
        (4, 2, "running", "response", 4),
        (3, 1, "running", "result", 3),
        (2, 1, "running", "response", 2),
        (1, 0, "running", "started", 1),
    ]
    assert transcript((await history[2].snapshot()).entries) == ["user:go", 'call:1.1 {"x":"a"}', "ok:1.1 did a"]
    assert [kept.save for kept in await get_checkpoint_history(store, "r1", limit=2)] == [5, 4]
    await store.delete("r1", keep_history=True)
    assert len(await get_checkpoint_history(store, "r1")) == 5
    await store.delete("r1")
    with pytest.raises(RunNotFoundError, match="save 3 of run 'r1' is no longer kept"):
        await history[2].snapshot()


async def test_h1_an_unknown_run_has_an_empty_history_and_a_store_without_one_gives_none():
    assert await get_checkpoint_history(InMemoryCheckpointer(), "nobody") == []
    assert isinstance(Forgetful(), Checkpointer)
    assert await get_checkpoint_history(Forgetful(), "r1") is None


async def test_r4_a_store_without_optional_abilities_resumes_and_replays_by_run_id():
    store, session, tool = Forgetful(), InMemorySession(), FakeTool()
    place = {"session": session, "session_id": "u1", "checkpoint": at(store, "r1")}
    stopped = await Runner.outcome(agent(TURNS, tool), "go", limits={"max_steps": 1}, **place)
    assert stopped.status == "interrupted"
    result = await Runner.run(agent(TURNS, tool), "go", limits={"max_steps": 9}, **place)
    assert (result.output, result.resumed, dict(tool.ran)) == ("done", True, {"a": 1})
    assert (await Runner.run(agent(TURNS, tool), "go", **place)).replayed
    assert [segment.run_id for segment in await session.segments("u1")] == ["r1"]


async def test_k2_resume_goes_on_with_the_sessions_unfinished_run_and_gives_none_when_there_is_none():
    store, session = CrashingCheckpointer(3), InMemorySession()
    place = {"session": session, "session_id": "u1"}
    with pytest.raises(Crash):
        await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=at(store), **place)
    bot = agent(TURNS, FakeTool())
    finished = await Runner.resume(bot, checkpointer=store, **place)
    assert (finished.output, finished.resumed) == ("done", True)
    assert await Runner.resume(bot, checkpointer=store, **place) is None
    assert await Runner.resume(bot, finished.run_id, checkpointer=store, session=session) is None


async def test_k4_resume_of_a_session_whose_run_is_executed_is_refused():
    store, session = InMemoryCheckpointer(), InMemorySession()
    place = {"session": session, "session_id": "u1"}

    async def work(arguments, context):
        with pytest.raises(RunLockedError):
            await Runner.resume(agent(TURNS), checkpointer=store, **place)
        return "refused"

    result = await Runner.run(agent(TURNS, FakeTool(action=work)), "go", checkpoint=at(store), **place)
    assert "ok:1.1 refused" in transcript(result.entries)


async def test_resume_needs_a_run_that_is_there_or_a_session():
    store = InMemoryCheckpointer()
    with pytest.raises(RunNotFoundError, match="no run 'nobody'"):
        await Runner.resume(agent(["x"]), "nobody", checkpointer=store)
    with pytest.raises(UserError, match="nothing says which run"):
        await Runner.resume(agent(["x"]), checkpointer=store)
    with pytest.raises(UserError, match="does not list its runs"):
        await Runner.resume(agent(["x"]), checkpointer=Forgetful(), session=InMemorySession(), session_id="u1")
