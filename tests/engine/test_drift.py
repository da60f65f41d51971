"""An agent that has changed since the run was saved (Z7)."""

import pytest

from lovia_cli.engine.runner import Runner
from lovia_cli.errors import AgentDriftError, ResumeToolMissingError, UserError
from lovia_cli.models.scripted import ScriptedModel
from tests.engine.kit import Crash, CrashingCheckpointer, Events, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a"), calls("b"), "done"]


async def killed(crash_at: int):
    store = CrashingCheckpointer(crash_at)
    with pytest.raises(Crash):
        await Runner.run(agent(TURNS, FakeTool(), instructions="old"), "go", checkpoint=at(store, "r1"))
    return store


def changed(*tools, **more):
    bot = agent(TURNS, *tools, **{"instructions": "new", **more})
    bot.model = ScriptedModel(TURNS, id="scripted:other")
    return bot


CHANGES = {
    "model": ["scripted", "scripted:other"],
    "tools_added": ["extra"],
    "instructions": True,
}
SAID = "model scripted is now scripted:other; tools added: extra; instructions changed"


async def test_z7_warn_names_what_changed_and_goes_on_with_the_new_fingerprint():
    store, events = await killed(4), Events()
    bot = changed(FakeTool(), FakeTool("extra"))
    result = await Runner.run(bot, "go", checkpoint=at(store, "r1"), on_event=events)
    assert result.output == "done"
    assert result.warnings == [f"the agent has changed since this run was saved: {SAID}"]
    assert events.of("agent.drift") == [{"changes": CHANGES}]
    assert events.types().index("agent.drift") < events.types().index("model.started")
    assert result.snapshot is not None
    assert result.snapshot.head.fingerprint["model"] == "scripted:other"


async def test_z7_error_refuses_before_anything_runs_and_leaves_the_checkpoint_as_it_was():
    store, tool, asked = await killed(4), FakeTool(), Requests()
    before = await store.history("r1")
    bot = agent(TURNS, tool, asked=asked, instructions="new", on_drift="error")
    with pytest.raises(AgentDriftError, match="instructions changed"):
        await Runner.run(bot, "go", checkpoint=at(store, "r1"))
    assert (await store.history("r1"), dict(tool.ran), asked.numbers) == (before, {}, [])
    assert (await Runner.run(bot, "go", checkpoint=at(store, "r1"), on_drift="ignore")).warnings == []


async def test_z7_without_a_change_nothing_is_said():
    store = await killed(4)
    result = await Runner.run(agent(TURNS, FakeTool(), instructions="old"), "go", checkpoint=at(store, "r1"))
    assert result.warnings == []


async def test_c35_z7_a_pending_call_whose_tool_is_gone_is_refused_whatever_the_policy_and_works_when_it_is_back():
    store = await killed(3)
    before = await store.history("r1")
    with pytest.raises(
        ResumeToolMissingError, match=r"call 1\.1 is pending, and the agent no longer has its tool 'work'"
    ) as caught:
        await Runner.run(agent(TURNS, instructions="old"), "go", checkpoint=at(store, "r1"), on_drift="ignore")
    assert caught.value.hint == "put the tool 'work' back and resume, or end the run: lovia runs finalize r1"
    assert await store.history("r1") == before
    assert (await Runner.run(agent(TURNS, FakeTool(), instructions="old"), "go", checkpoint=at(store, "r1"))).steps == 3


async def test_c35_a_tool_that_was_answered_in_the_past_may_be_gone():
    store = await killed(4)
    result = await Runner.run(agent([calls("a"), "done"], FakeTool("other")), "go", checkpoint=at(store, "r1"))
    assert result.output == "done"


async def test_z7_a_pending_name_that_the_agent_never_had_gets_the_unknown_tool_result():
    store, turns = CrashingCheckpointer(3), [calls("a", name="nosuch"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns), "go", checkpoint=at(store, "r1"))
    result = await Runner.run(agent(turns), "go", checkpoint=at(store, "r1"))
    assert transcript(result.entries)[2] == "error:1.1 there is no tool 'nosuch'; the tools are: none"


async def test_z7_a_replay_of_a_completed_run_is_not_compared():
    store = CrashingCheckpointer()
    await Runner.run(agent(["done"], instructions="old"), "go", checkpoint=at(store, "r1"))
    replay = await Runner.run(agent(["done"], instructions="new", on_drift="error"), "go", checkpoint=at(store, "r1"))
    assert (replay.output, replay.replayed, replay.warnings) == ("done", True, [])


async def test_an_unknown_drift_policy_is_a_usage_error():
    with pytest.raises(UserError, match="on_drift is warn, error or ignore"):
        await Runner.run(agent(["x"]), "go", on_drift="shout")
