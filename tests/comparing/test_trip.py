"""The seed's own example: plan a trip, fork it with rain, and compare. And forks of other runs (H3, H4)."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli import Agent, InMemoryCheckpointer, Runner, ScriptedModel, compare_trajectories
from lovia_cli.comparing.patches import patch_between
from lovia_cli.engine.patching import Patch
from stores.records import RunSnapshot
from tests.comparing.kit import rows
from tests.engine.kit import FakeTool, agent, at, calls

TURNS: list[dict[str, Any]] = [
    {"tool_calls": [{"id": "call_weather", "name": "weather", "arguments": {"city": "Lisbon"}}]},
    {"cases": [{"when": "rain", "text": "It will rain: museums."}, {"text": "To the beach."}]},
]


def planner() -> Agent:
    weather = FakeTool("weather", lambda arguments, context: {"forecast": "sun"})
    return agent(TURNS, weather)


async def loaded(store: InMemoryCheckpointer, run_id: str) -> RunSnapshot:
    found = await store.load(run_id)
    assert found is not None
    return found


@pytest.mark.anyio
async def test_h4_the_seeds_trip_prints_what_the_seed_says() -> None:
    checkpoints = InMemoryCheckpointer()
    await Runner.run(planner(), "Plan my trip", checkpoint=at(checkpoints, "trip"))
    fork = await Runner.fork(
        "trip",
        from_step=1,
        checkpointer=checkpoints,
        patch=Patch(tool_results={"call_weather": {"forecast": "rain"}}),
    )
    assert fork.run_id == "trip.fork-1"
    await Runner.run(planner(), checkpoint=at(checkpoints, fork.run_id))
    found = compare_trajectories(await loaded(checkpoints, "trip"), await loaded(checkpoints, fork.run_id))
    assert (found.diverged_at, len(found.a), len(found.b)) == (1, 2, 2)
    assert found.drift.as_json() == {"tool_order": None, "arguments": [], "step_count": None, "finish_reason": None}
    assert (found.a[1].text, found.b[1].text) == ("To the beach.", "It will rain: museums.")
    results = [step.acts[0].result for step in (found.a[0], found.b[0])]
    assert [result.output for result in results if result] == ['{"forecast":"sun"}', '{"forecast":"rain"}']


@pytest.mark.anyio
async def test_h4_a_fork_without_a_patch_parts_nowhere_and_a_patched_one_at_its_own_step() -> None:
    checkpoints = InMemoryCheckpointer()
    steps = 8
    worker = agent([*(calls(f"{n}", "twice") for n in range(steps)), "done"], FakeTool())
    await Runner.run(worker, "go", checkpoint=at(checkpoints, "r1"))
    whole = await loaded(checkpoints, "r1")
    for step in range(1, steps + 1):
        same = await Runner.fork("r1", from_step=step, checkpointer=checkpoints)
        other = await Runner.fork(
            "r1", from_step=step, checkpointer=checkpoints, patch=Patch(tool_results={f"{step}.2": "something else"})
        )
        for fork in (same, other):
            await Runner.run(worker, checkpoint=at(checkpoints, fork.run_id))
        assert compare_trajectories(whole, await loaded(checkpoints, same.run_id)).same
        found = compare_trajectories(whole, await loaded(checkpoints, other.run_id))
        assert (found.diverged_at, found.count("changed"), found.count("same")) == (step, 1, steps)


@pytest.mark.anyio
async def test_h4_what_was_changed_in_a_fork_is_read_from_its_own_history() -> None:
    checkpoints = InMemoryCheckpointer()
    await Runner.run(planner(), "Plan my trip", checkpoint=at(checkpoints, "trip"))
    patch = Patch(state={"n": 1}, tool_results={"1.1": "rain"}, append_input="Hurry!")
    fork = await Runner.fork("trip", from_step=1, checkpointer=checkpoints, patch=patch)
    assert await patched(checkpoints, fork.run_id, fork.save) == [
        {"kind": "state", "was": {}, "now": {"n": 1}},
        {"kind": "tool_result", "call": "1.1", "tool": "weather", "was": '{"forecast":"sun"}', "now": "rain"},
        {"kind": "input", "was": None, "now": "Hurry!"},
    ]
    rewritten = await Runner.fork(
        "trip", from_step=1, checkpointer=checkpoints, patch=Patch(messages=lambda entries: entries[:1])
    )
    assert await patched(checkpoints, rewritten.run_id, rewritten.save) == [{"kind": "messages", "was": 3, "now": 1}]
    plain = await Runner.fork("trip", from_step=0, checkpointer=checkpoints)
    assert await patched(checkpoints, plain.run_id, plain.save) == []


async def patched(store: InMemoryCheckpointer, run_id: str, save: int) -> list[dict[str, Any]]:
    before, after = await store.snapshot(run_id, save), await store.snapshot(run_id, save + 1)
    assert before is not None
    assert after is not None
    return patch_between(before, after)


@pytest.mark.anyio
async def test_h4_input_that_a_fork_was_given_belongs_to_its_step() -> None:
    """Before it goes on, when it still waits, and after."""
    checkpoints = InMemoryCheckpointer()
    model = ScriptedModel([*TURNS[:1], {"text": "ok"}])
    bot = Agent(name="bot", model=model, tools=[FakeTool("weather")])
    await Runner.run(bot, "Plan my trip", checkpoint=at(checkpoints, "trip"))
    fork = await Runner.fork("trip", from_step=1, checkpointer=checkpoints, patch=Patch(append_input="Hurry!"))
    waiting = compare_trajectories(await loaded(checkpoints, "trip"), await loaded(checkpoints, fork.run_id))
    assert (waiting.diverged_at, rows(waiting)) == (1, ["~ 1 1", "- 2 ."])
    await Runner.run(bot, checkpoint=at(checkpoints, fork.run_id))
    done = compare_trajectories(await loaded(checkpoints, "trip"), await loaded(checkpoints, fork.run_id))
    assert (done.diverged_at, rows(done)) == (1, ["~ 1 1", "= 2 2"])
