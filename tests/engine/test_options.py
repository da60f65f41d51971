"""delete_on_success (R7) and resume_from (R8)."""

from copy import deepcopy

import pytest

from lovia_cli.engine.runner import CheckpointOptions, Runner
from lovia_cli.errors import RunExistsError, StoreWriteError, UserError
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a", "b"), "done"]


async def test_r7_delete_on_success_drops_run_and_history_once_it_is_in_the_session():
    store, session = InMemoryCheckpointer(), InMemorySession()
    options = CheckpointOptions(store, "r1", delete_on_success=True)
    place = {"session": session, "session_id": "u1", "checkpoint": options}
    result = await Runner.run(agent(["done"]), "go", **place)
    assert result.output == "done"
    assert (await store.load("r1"), await store.history("r1")) == (None, [])
    assert transcript(await session.load("u1")) == ["user:go", "assistant:done"]
    replay = await Runner.run(agent(["never said"]), "go", **place)
    assert (replay.replayed, replay.output) == (True, "done")


async def test_r7_delete_on_success_leaves_a_run_that_did_not_succeed():
    store, session = InMemoryCheckpointer(), InMemorySession()
    options = CheckpointOptions(store, "r1", delete_on_success=True)
    place = {"session": session, "session_id": "u1", "checkpoint": options}
    await Runner.outcome(agent(TURNS, FakeTool()), "go", limits={"max_steps": 1}, **place)
    assert (await store.load("r1")).status == "interrupted"
    assert (await Runner.run(agent(TURNS, FakeTool()), "go", limits={"max_steps": 2}, **place)).output == "done"
    assert await store.load("r1") is None


async def test_r7_delete_on_success_needs_a_session():
    with pytest.raises(UserError, match="delete_on_success needs a session"):
        await Runner.run(
            agent(["x"]), "go", checkpoint=CheckpointOptions(InMemoryCheckpointer(), delete_on_success=True)
        )


class DeletesOnTheSecondTry(InMemoryCheckpointer):
    """The first delete fails."""

    failed = False

    async def delete(self, run_id, *, keep_history=False):
        if not self.failed:
            self.failed = True
            raise StoreWriteError("no space left on device")
        return await super().delete(run_id, keep_history=keep_history)


async def test_r7_a_delete_that_fails_leaves_a_replayable_run_and_the_same_command_heals_it():
    store, session = DeletesOnTheSecondTry(), InMemorySession()
    options = CheckpointOptions(store, "r1", delete_on_success=True)
    place = {"session": session, "session_id": "u1", "checkpoint": options}
    first = await Runner.outcome(agent(["done"]), "go", **place)
    assert (first.status, first.output, first.error.code) == ("completed", "done", "store_write")
    again = await Runner.run(agent(["never said"]), "go", **place)
    assert (again.replayed, again.output) == (True, "done")
    assert await store.load("r1") is None
    assert len(await session.segments("u1")) == 1


async def unfinished():
    store = CrashingCheckpointer(4)
    bot = agent(TURNS, FakeTool(action=lambda a, c: c.state.update(last=a["x"])), tool_concurrency=1)
    with pytest.raises(Crash):
        await Runner.run(bot, "go", checkpoint=at(store, "r1"))
    return await store.load("r1")


async def test_r8_resume_from_saves_the_snapshot_first_whole_and_goes_on():
    given, store, tool, asked = await unfinished(), InMemoryCheckpointer(), FakeTool(), Requests()
    before = deepcopy(given)
    options = CheckpointOptions(store, "copy", resume_from=given)
    result = await Runner.run(agent(TURNS, tool, asked=asked), "go", checkpoint=options)
    assert given == before
    assert dict(tool.ran) == {"b": 1}
    assert asked.numbers == [2]
    first = await store.snapshot("copy", 1)
    assert first is not None
    assert (first.entries, first.head.state, first.head.steps) == (given.entries, {"last": "a"}, 1)
    assert first.head.usage == given.head.usage
    assert [save.event for save in reversed(await store.history("copy"))][:2] == ["imported", "resumed"]
    assert (result.run_id, result.output) == ("copy", "done")


async def test_r8_without_a_run_id_the_snapshots_own_is_used():
    given, store = await unfinished(), InMemoryCheckpointer()
    options = CheckpointOptions(store, resume_from=given)
    assert (await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=options)).run_id == "r1"


async def test_r8_over_a_stored_run_it_needs_restart():
    given, store = await unfinished(), InMemoryCheckpointer()
    await Runner.run(agent(["other"]), "other", checkpoint=at(store, "r1"))
    with pytest.raises(RunExistsError, match="'r1' is stored already"):
        await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=CheckpointOptions(store, "r1", resume_from=given))
    assert (await store.load("r1")).head.output == "other"
    options = CheckpointOptions(store, "r1", "restart", resume_from=given)
    result = await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=options)
    assert transcript(result.entries)[0] == "user:go"
