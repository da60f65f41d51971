"""What a finished run's segment says beside its entries (S7)."""

import time

import pytest

from lovia_cli.engine.runner import Runner
from stores.closing import save_of_segment, snapshot_of_segment
from stores.entries import AssistantTextEntry, InputEntry
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.records import Segment, fold
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


async def test_r4_a_run_is_the_same_from_its_segment_as_from_its_checkpoint():
    store, session = InMemoryCheckpointer(), InMemorySession()
    turns = [calls("a", "b", text="Thinking aloud."), {"text": "done", "usage": {"input_tokens": 3}}]
    place = {"session": session, "session_id": "u1", "checkpoint": at(store, "r1")}
    await Runner.run(agent(turns, FakeTool()), "go", variables={"city": "Lisbon"}, **place)
    stored = await store.load("r1")
    (segment,) = await session.segments("u1")
    run = snapshot_of_segment(segment, "u1")
    told = [*segment.meta["run"], "status", "session_id", "started_at", "output"]
    assert {name: getattr(run.head, name) for name in told} == {name: getattr(stored.head, name) for name in told}
    assert (run.run_id, run.entries, run.head.save) == ("r1", stored.entries, 0)
    assert run.head.updated_at == segment.meta["timing"]["finished_at"]
    made_again = fold("r1", [save_of_segment(segment, "u1")])
    made_again.head.save = 0
    assert made_again == run


def test_r4_d2_of_a_run_whose_segment_tells_nothing_the_answer_is_known_and_no_time():
    entries = [InputEntry(text="old"), AssistantTextEntry(text="answer", step=1)]
    for meta in ({}, {"run": None, "timing": []}, {"run": {"agent": None, "config": None}}):
        run = snapshot_of_segment(Segment(run_id="r0", entries=entries, meta=meta), "u1")
        assert (run.status, run.head.output, run.head.agent, run.head.config) == ("completed", "answer", "", {})
        assert (run.head.steps, run.head.save, run.head.started_at, run.head.updated_at) == (1, 0, None, None)


async def test_s3_a_replay_of_what_a_trimmed_segment_holds_differs_in_nothing():
    """With its checkpoint gone, or made again from the segment by a doctor; other entries are reported as ever."""
    store, session = InMemoryCheckpointer(), InMemorySession()
    place = {"session": session, "session_id": "u1", "checkpoint": at(store, "r1")}
    await Runner.run(agent([calls("long" * 100), "done"], FakeTool()), "go", **place)
    whole = await store.load("r1")
    assert await session.trim_tool_results("u1", keep_chars=3, keep_runs=0) == 1
    trimmed = await session.segments("u1")
    assert (await Runner.run(agent(["never"]), "go", **place)).warnings == []
    await store.delete("r1")
    replay = await Runner.run(agent(["never"]), "go", **place)
    assert (replay.output, replay.warnings) == ("done", [])
    async with store.lease("r1") as lease:
        await lease.save(save_of_segment(trimmed[0], "u1"))
    replay = await Runner.run(agent(["never"]), "go", **place)
    assert (replay.output, replay.warnings, replay.entries) == ("done", [], trimmed[0].entries)
    await store.delete("r1")
    async with store.lease("r1") as lease:
        await lease.save(save_of_segment(Segment(run_id="r1", entries=whole.entries[:-1]), "u1"))
    replay = await Runner.run(agent(["never"]), "go", **place)
    assert replay.warnings == ["session 'u1' holds other entries under run 'r1'; they were left as they are"]
    assert await session.segments("u1") == trimmed
