"""Crashes at every save, before it and after it: nothing lost, nothing done twice (R1, Z1 to Z3)."""

import pytest

from lovia_cli.engine.runner import Runner
from lovia_cli.errors import StoreWriteError
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, CrashingCheckpointer, Events, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a", "b", "c", text="Look."), calls("d"), calls("e", "f"), "done"]
SAVES = 12


async def uncrashed() -> list[str]:
    result = await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=at(InMemoryCheckpointer(), "r1"))
    assert result.snapshot is not None
    assert result.snapshot.head.save == SAVES
    return transcript(result.entries)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("crash_at", range(1, SAVES + 1))
async def test_r1_z1_z3_a_crash_at_any_save_loses_and_repeats_nothing(crash_at, after):
    store, session, tool, asked = CrashingCheckpointer(crash_at, after=after), InMemorySession(), FakeTool(), Requests()
    bot = agent(TURNS, tool, asked=asked, tool_concurrency=1)

    async def run():
        return await Runner.run(bot, "go", session=session, session_id="u1", checkpoint=at(store, "r1"))

    with pytest.raises(Crash):
        await run()
    kept = len(((snapshot := await store.load("r1")) and snapshot.entries) or [])
    result = await run()
    assert transcript(result.entries) == await uncrashed()
    lost_work = not after and crash_at in (3, 4, 5, 7, 9, 10)  # the save of a result: its call runs again
    assert sum(tool.ran.values()) == 6 + lost_work
    responses = {2: 1, 6: 2, 8: 3, 11: 4}  # the save of a response that is lost: it is asked for again
    again = [responses[crash_at]] if crash_at in responses and not after else []
    assert sorted(asked.numbers) == sorted([1, 2, 3, 4, *again])
    assert kept <= len(result.entries)
    assert [segment.run_id for segment in await session.segments("u1")] == ["r1"]
    assert transcript(await session.load("u1")) == transcript(result.entries)
    replay = await run()
    assert replay.replayed
    assert transcript(replay.entries) == transcript(result.entries)
    assert sum(tool.ran.values()) == 6 + lost_work


async def test_z1_pending_calls_run_before_the_model_is_asked_with_the_same_step_number():
    store, events, asked = CrashingCheckpointer(4), Events(), Requests()
    turns = [calls("a", "b"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, FakeTool(), tool_concurrency=1), "go", checkpoint=at(store, "r1"))
    await Runner.run(agent(turns, FakeTool(), asked=asked), "go", checkpoint=at(store, "r1"), on_event=events)
    assert [(data["step"], data["position"]) for data in events.of("tool.started")] == [(1, 2)]
    assert events.types()[:4] == ["run.started", "run.saved", "tool.started", "run.saved"]
    assert asked.texts == [["user:go", 'call:1.1 {"x":"a"}', 'call:1.2 {"x":"b"}', "ok:1.1 did a", "ok:1.2 did b"]]


async def test_z1_usage_goes_on_from_the_saved_totals():
    def turn(text_or_call):
        usage = {"input_tokens": 10, "output_tokens": 2}
        return {**text_or_call, "usage": usage}

    store, turns = CrashingCheckpointer(4), [turn(calls("a")), turn({"text": "done"})]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, FakeTool()), "go", checkpoint=at(store, "r1"))
    result = await Runner.run(agent(turns, FakeTool()), "go", checkpoint=at(store, "r1"))
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.requests) == (20, 4, 2)
    assert result.usage.unknown == 0


async def test_z1_the_session_is_read_again_as_it_is_now_and_that_is_said():
    store, session, asked, events = CrashingCheckpointer(2), InMemorySession(), Requests(), Events()
    with pytest.raises(Crash):
        await Runner.run(agent(["one"]), "first", session=session, session_id="u1", checkpoint=at(store, "r1"))
    await Runner.run(agent(["two"]), "second", session=session, session_id="u1", checkpoint=at(store, "r2"))
    bot = agent(["one"], asked=asked)
    result = await Runner.run(
        bot, "first", session=session, session_id="u1", checkpoint=at(store, "r1"), on_event=events
    )
    assert asked.texts == [["user:second", "assistant:two", "user:first"]]
    assert result.warnings == ["the session has changed since this run began; it goes on with it as it is now"]
    assert [segment.run_id for segment in await session.segments("u1")] == ["r2", "r1"]


async def test_z1_the_system_prompt_is_rendered_again():
    store, asked = CrashingCheckpointer(4), Requests()
    turns = [calls("a"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, FakeTool(), instructions="old"), "go", checkpoint=at(store, "r1"))
    await Runner.run(agent(turns, FakeTool(), asked=asked, instructions="new"), "go", checkpoint=at(store, "r1"))
    assert asked.systems == ["new"]


async def test_c05_equal_ids_in_every_turn_only_the_lost_call_runs_again():
    store, tool = CrashingCheckpointer(7), FakeTool()
    turns = [calls("a"), calls("b"), calls("c"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    result = await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    assert dict(tool.ran) == {"a": 1, "b": 1, "c": 2}
    assert [line for line in transcript(result.entries) if line.startswith("ok")] == [
        "ok:1.1 did a",
        "ok:2.1 did b",
        "ok:3.1 did c",
    ]


async def test_r9_a_failed_save_ends_the_run_and_what_was_acknowledged_is_resumed():
    store = CrashingCheckpointer(4, error=StoreWriteError("no space left on device"))
    tool, bot = FakeTool(), None
    bot = agent(TURNS, tool, tool_concurrency=1)
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"))
    assert (result.status, result.stop) == ("interrupted", {"reason": "save"})
    assert result.error is not None
    assert result.error.code == "store_write"
    again = await Runner.run(bot, "go", checkpoint=at(store, "r1"))
    assert transcript(again.entries) == await uncrashed()
    assert tool.ran == {"a": 1, "b": 2, "c": 1, "d": 1, "e": 1, "f": 1}


async def test_r9_a_failed_first_save_starts_nothing():
    store, asked = CrashingCheckpointer(1, error=StoreWriteError("no space left on device")), Requests()
    with pytest.raises(StoreWriteError, match="no space"):
        await Runner.outcome(agent(["x"], asked=asked), "go", checkpoint=at(store, "r1"))
    assert asked.numbers == []
    assert await store.load("r1") is None
