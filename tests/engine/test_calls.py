"""The tool calls of a step: side by side, each result durable at once, faults as results."""

import asyncio

import pytest

from lovia_cli.engine.runner import Runner
from stores.memory import InMemoryCheckpointer
from tests.engine.kit import Crash, CrashingCheckpointer, Events, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio


async def test_z3_a_finished_call_is_durable_while_an_earlier_one_runs_and_only_the_lost_one_runs_again():
    store = InMemoryCheckpointer()
    others_done, saved = asyncio.Event(), []

    async def work(arguments, context):
        if arguments["x"] == "slow":
            await others_done.wait()
            saved.extend(transcript((await store.load("r1")).entries))
            raise Crash
        return arguments["x"]

    def on_event(event):
        if event.type == "tool.finished" and event.data["position"] == 3:
            others_done.set()

    tool = FakeTool(action=work)
    turns = [calls("slow", "b", "c"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"), on_event=on_event)
    assert saved[-2:] == ["ok:1.2 b", "ok:1.3 c"]
    again, asked = FakeTool(), Requests()
    result = await Runner.run(agent(turns, again, asked=asked), "go", checkpoint=at(store, "r1"))
    assert dict(again.ran) == {"slow": 1}
    assert asked.numbers == [2]
    assert transcript(result.entries)[-4:] == ["ok:1.1 did slow", "ok:1.2 b", "ok:1.3 c", "assistant:done"]


async def test_tool_concurrency_bounds_how_many_run_at_once():
    running, most = 0, 0

    async def work(arguments, context):
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return "ok"

    bot = agent([calls(*"abcdef"), "done"], FakeTool(action=work), tool_concurrency=2)
    await Runner.run(bot, "go")
    assert most == 2


@pytest.mark.parametrize(
    ("call", "output"),
    [
        ({"name": "nosuch", "arguments": {}}, "there is no tool 'nosuch'; the tools are: work"),
        (
            {"name": "work", "arguments": "[1]"},
            "the call's arguments could not be read: a JSON object is needed, not a list",
        ),
    ],
)
async def test_c07_what_cannot_be_called_is_an_error_result_and_nothing_runs(call, output):
    tool = FakeTool()
    result = await Runner.run(agent([{"tool_calls": [call]}, "done"], tool), "go")
    assert transcript(result.entries)[2] == f"error:1.1 {output}"
    assert not tool.ran


async def test_c07_no_text_as_arguments_is_an_empty_object():
    tool = FakeTool()
    await Runner.run(agent([{"tool_calls": [{"name": "work", "arguments": ""}]}, "done"], tool), "go")
    assert dict(tool.ran) == {"None": 1}


async def test_a_tool_that_raises_gives_an_error_result_and_the_run_goes_on():
    def work(arguments, context):
        raise ValueError("no such city")

    result = await Runner.run(agent([calls("a"), "done"], FakeTool(action=work)), "go")
    assert transcript(result.entries)[2:] == ["error:1.1 ValueError: no such city", "assistant:done"]


async def test_d4_a_result_that_cannot_be_stored_is_an_error_result_and_the_effect_is_not_repeated():
    store, tool = CrashingCheckpointer(4, after=True), FakeTool(action=lambda arguments, context: object())
    with pytest.raises(Crash):
        await Runner.run(agent([calls("a"), calls("b"), "done"], tool), "go", checkpoint=at(store, "r1"))
    result = await Runner.run(agent([calls("a"), calls("b"), "done"], tool), "go", checkpoint=at(store, "r1"))
    assert tool.ran["a"] == 1
    assert "the tool ran, but the value cannot be stored" in transcript(result.entries)[2]


async def test_a_timeout_of_a_tool_is_an_error_result():
    tool = FakeTool(action=lambda arguments, context: asyncio.Event().wait(), timeout=0.01)
    result = await Runner.run(agent([calls("a"), "done"], tool), "go")
    assert (
        transcript(result.entries)[2] == "error:1.1 work timed out after 0.01 s; whether it had an effect is not known"
    )


async def test_a_tool_that_raises_timeout_error_itself_is_not_called_timed_out():
    def work(arguments, context):
        raise TimeoutError("upstream")

    result = await Runner.run(agent([calls("a"), "done"], FakeTool(action=work, timeout=5)), "go")
    assert transcript(result.entries)[2] == "error:1.1 TimeoutError: upstream"


async def test_z5_a_call_knows_its_run_and_has_a_key_of_its_own_that_a_rerun_keeps():
    store, tool = CrashingCheckpointer(4), FakeTool()
    turns = [calls("a", "b"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    assert [context.idempotency_key for context in tool.contexts] == ["r1/1.1", "r1/1.2", "r1/1.2"]
    assert {(context.run_id, context.call_id, context.step) for context in tool.contexts} == {("r1", "call_0", 1)}


async def test_z5_on_resume_fail_marks_the_start_durably_and_does_not_run_the_call_again():
    store = CrashingCheckpointer(4)
    tool = FakeTool(on_resume="fail")
    turns = [calls("a"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    marked = await store.load("r1")
    assert marked is not None
    assert marked.head.started_calls == ["1.1"]
    result = await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    assert dict(tool.ran) == {"a": 1}
    assert transcript(result.entries)[2].startswith("error:1.1 work was started before the run was interrupted")
    assert result.snapshot is not None
    assert result.snapshot.head.started_calls == []


async def test_z5_on_resume_fail_runs_a_call_that_never_started():
    store, tool = CrashingCheckpointer(3), FakeTool(on_resume="fail")
    turns = [calls("a"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    result = await Runner.run(agent(turns, tool), "go", checkpoint=at(store, "r1"))
    assert transcript(result.entries)[2] == "ok:1.1 did a"


async def test_r2_user_state_is_saved_with_the_result_of_the_call_that_changed_it_and_only_then():
    store = InMemoryCheckpointer()

    def work(arguments, context):
        if arguments["x"] == "set":
            context.state["seen"] = {"when": float("nan"), 7: {3, 1}}
        return context.state.get("seen")

    bot = agent([calls("set"), calls("get"), "done"], FakeTool(action=work))
    result = await Runner.run(bot, "go", checkpoint=at(store, "r1"))
    stored = {"seen": {"when": "NaN", "7": [1, 3]}}
    states = [(await store.snapshot("r1", number)).head.state for number in range(1, 7)]
    assert states == [{}, {}, stored, stored, stored, stored]
    assert transcript(result.entries)[4] == 'ok:2.1 {"when":"NaN","7":[1,3]}'


async def test_d4_a_state_that_cannot_be_stored_is_an_error_result_and_is_undone():
    def work(arguments, context):
        context.state["n"] = arguments["x"] if arguments["x"] == "good" else object()
        return "set"

    result = await Runner.run(agent([calls("good"), calls("bad"), "done"], FakeTool(action=work)), "go")
    assert result.snapshot is not None
    assert result.snapshot.head.state == {"n": "good"}
    assert "cannot be stored" in transcript(result.entries)[4]


async def test_the_state_of_an_earlier_process_is_there_after_a_resume():
    store = CrashingCheckpointer(3, after=True)

    def work(arguments, context):
        context.state["count"] = context.state.get("count", 0) + 1
        return context.state["count"]

    turns = [calls("a"), calls("b"), "done"]
    with pytest.raises(Crash):
        await Runner.run(agent(turns, FakeTool(action=work)), "go", checkpoint=at(store, "r1"))
    result = await Runner.run(agent(turns, FakeTool(action=work)), "go", checkpoint=at(store, "r1"))
    assert [line for line in transcript(result.entries) if line.startswith("ok")] == ["ok:1.1 1", "ok:2.1 2"]


async def test_a_tools_progress_is_told_and_not_stored():
    events = Events()
    tool = FakeTool(action=lambda arguments, context: context.progress("half way"))
    await Runner.run(agent([calls("a"), "done"], tool), "go", on_event=events)
    assert events.of("tool.progress") == [{"step": 1, "position": 1, "text": "half way"}]


async def test_r2_a_tool_may_also_replace_its_state():
    def work(arguments, context):
        context.state = {"count": context.state.get("count", 0) + 1}

    result = await Runner.run(agent([calls("a"), calls("b"), "done"], FakeTool(action=work)), "go")
    assert result.snapshot is not None
    assert result.snapshot.head.state == {"count": 2}
