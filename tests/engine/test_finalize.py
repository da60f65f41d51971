"""Ending a run as it stands (S6)."""

import pytest

from lovia_cli.engine.runner import Runner
from lovia_cli.errors import RunLockedError, RunNotFoundError
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.surgery import NOT_RUN_TO_ITS_END
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a", "b", text="Thinking aloud."), "done"]


async def interrupted():
    store, session = CrashingCheckpointer(4), InMemorySession()
    bot = agent(TURNS, FakeTool(), tool_concurrency=1)
    with pytest.raises(Crash):
        await Runner.run(bot, "go", session=session, session_id="u1", checkpoint=at(store, "r1"))
    return store, session


async def test_s6_finalize_cancels_open_calls_appends_the_segment_and_completes():
    store, session = await interrupted()
    result = await Runner.finalize("r1", checkpointer=store, session=session)
    assert (result.status, result.finish_reason, result.output) == ("completed", "finalized", "Thinking aloud.")
    [segment] = await session.segments("u1")
    assert segment.meta["finalized"] is True
    assert transcript(segment.entries) == [
        "user:go",
        "assistant:Thinking aloud.",
        'call:1.1 {"x":"a"}',
        'call:1.2 {"x":"b"}',
        "ok:1.1 did a",
        f"cancelled:1.2 {NOT_RUN_TO_ITS_END}",
    ]
    async with store.open_runs("u1") as runs:
        assert runs == []


async def test_s6_twice_is_fine_and_a_replay_gives_the_last_text():
    store, session = await interrupted()
    first = await Runner.finalize("r1", checkpointer=store, session=session)
    again = await Runner.finalize("r1", checkpointer=store, session=session)
    assert again.output == first.output
    assert len(await session.segments("u1")) == 1
    asked = Requests()
    bot = agent(TURNS, asked=asked)
    replay = await Runner.run(bot, "go", session=session, checkpoint=at(store, "r1"))
    assert (replay.replayed, replay.output, asked.numbers) == (True, "Thinking aloud.", [])


async def test_s6_a_queued_input_is_kept():
    store, session = await interrupted()
    store.crash_at = store.count + 3
    bot = agent(TURNS, FakeTool())
    with pytest.raises(Crash):
        await Runner.run(bot, [], session=session, checkpoint=at(store, "r1"), steer="hurry")
    result = await Runner.finalize("r1", checkpointer=store, session=session)
    assert transcript(result.entries)[-2:] == [f"cancelled:1.2 {NOT_RUN_TO_ITS_END}", "user:hurry"]
    assert result.snapshot is not None
    assert result.snapshot.head.queued_input == []


async def test_s6_a_run_being_executed_is_refused():
    store = InMemoryCheckpointer()

    async def work(arguments, context):
        with pytest.raises(RunLockedError):
            await Runner.finalize("r1", checkpointer=store)
        return "refused"

    result = await Runner.run(agent([calls("a"), "done"], FakeTool(action=work)), "go", checkpoint=at(store, "r1"))
    assert "ok:1.1 refused" in transcript(result.entries)


async def test_s6_an_unknown_run_is_not_found():
    with pytest.raises(RunNotFoundError):
        await Runner.finalize("nosuch", checkpointer=InMemoryCheckpointer())
