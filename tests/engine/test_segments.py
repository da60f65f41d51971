"""What a finished run's segment says beside its entries (S7)."""

import time

import pytest

from lovia_cli.engine.runner import Runner
from stores.entries import AssistantTextEntry, InputEntry
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls

pytestmark = pytest.mark.anyio


async def test_s7_a_segment_tells_when_its_run_began_at_first_and_when_it_was_appended():
    store, session = CrashingCheckpointer(3), InMemorySession()
    place = {"session": session, "session_id": "u1", "checkpoint": at(store, "r1")}
    before = time.time()
    with pytest.raises(Crash):
        await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", **place)
    began = (await store.load("r1")).head.started_at
    between = time.time()
    await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", **place)
    (segment,) = await session.segments("u1")
    timing = segment.meta["timing"]
    assert sorted(timing) == ["finished_at", "started_at"]
    assert timing["started_at"] == began
    assert before <= began <= between <= timing["finished_at"] <= time.time()


async def test_s7_a_run_that_no_store_keeps_is_timed_too():
    session = InMemorySession()
    before = time.time()
    await Runner.run(agent(["done"]), "go", session=session, session_id="u1")
    (segment,) = await session.segments("u1")
    timing = segment.meta["timing"]
    assert before <= timing["started_at"] <= timing["finished_at"] <= time.time()


async def test_s7_d2_segments_without_timing_are_read_as_they_are():
    session, asked = InMemorySession(), Requests()
    await session.append("u1", [InputEntry(text="old"), AssistantTextEntry(text="answer", step=1)], run_id="r0")
    place = {"session": session, "session_id": "u1"}
    await Runner.run(agent(["done"], asked=asked), "new", checkpoint=at(InMemoryCheckpointer()), **place)
    assert asked.texts == [["user:old", "assistant:answer", "user:new"]]
    old, new = await session.segments("u1")
    assert (old.meta, "timing" in new.meta) == ({}, True)
    replay = await Runner.run(agent(["never"]), "old", checkpoint=at(InMemoryCheckpointer(), "r0"), **place)
    assert (replay.replayed, replay.output) == (True, "answer")
