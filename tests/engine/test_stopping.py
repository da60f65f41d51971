"""Limits, timeouts, stops, cancel, failures: how a run ends before its end, and goes on (R3, Z1, Z2, Z9)."""

import asyncio
from dataclasses import replace

import pytest

from lovia_cli.agent import Limits
from lovia_cli.engine.runner import Runner, StopSwitch
from lovia_cli.engine.stopping import unless_stopped
from lovia_cli.errors import ConflictError, LimitReached, ProviderError, RunNotFoundError, SignalReceived, UserError
from lovia_cli.models.base import ModelResponse
from stores.entries import AssistantTextEntry
from stores.memory import InMemoryCheckpointer
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

SPENDING = [{**calls("a", "b", "c"), "usage": {"input_tokens": 90, "output_tokens": 10}}, "done"]


@pytest.mark.parametrize(
    ("limits", "stop", "ran"),
    [
        ({"max_steps": 1}, {"limit": "max_steps", "value": 1, "used": 1}, 3),
        ({"max_tool_calls": 2}, {"limit": "max_tool_calls", "value": 2, "used": 2}, 2),
        ({"max_total_tokens": 100}, {"limit": "max_total_tokens", "value": 100, "used": 100}, 0),
        ({"max_seconds": 0}, {"limit": "max_seconds", "value": 0}, 0),
    ],
)
async def test_z1_a_used_up_limit_interrupts_and_a_higher_one_goes_on(limits, stop, ran):
    store, tool, asked = InMemoryCheckpointer(), FakeTool(), Requests()
    bot = agent(SPENDING, tool, asked=asked)
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), limits=limits)
    assert (result.status, isinstance(result.error, LimitReached)) == ("interrupted", True)
    assert {"reason": "limit", **stop}.items() <= result.stop.items()
    assert sum(tool.ran.values()) == ran
    [name] = limits
    result = await Runner.run(bot, "go", checkpoint=at(store, "r1"), limits={name: 1000})
    assert dict(tool.ran) == {"a": 1, "b": 1, "c": 1}
    assert result.output == "done"
    assert asked.numbers == [1, 2]


async def test_z1_limits_count_all_processes_of_the_run_and_hold_on_resume():
    store, tool = CrashingCheckpointer(4), FakeTool()
    bot = agent([calls("a"), calls("b"), "done"], tool, limits=Limits(max_tool_calls=1))
    with pytest.raises(Crash):
        await Runner.run(bot, "go", checkpoint=at(store, "r1"), limits={"max_tool_calls": 2, "max_steps": 2})
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"))
    assert result.stop == {"reason": "limit", "limit": "max_steps", "value": 2, "used": 2}
    assert result.tool_calls == 2


async def test_an_unknown_limit_is_a_usage_error():
    with pytest.raises(UserError, match="unknown limit 'max_stesp'"):
        await Runner.run(agent(["x"]), "go", limits={"max_stesp": 3})


async def test_z1_a_timeout_stops_a_call_under_way_and_notes_it():
    store = InMemoryCheckpointer()
    bot = agent([calls("a", "b"), "done"], FakeTool(action=lambda a, c: asyncio.Event().wait() if a["x"] == "a" else 1))
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), timeout=0.05)
    assert (result.status, result.stop) == ("interrupted", {"reason": "timeout", "seconds": 0.05})
    stored = await store.load("r1")
    assert stored is not None
    assert stored.head.stopped_calls == ["1.1"]
    assert transcript(stored.entries)[-1] == "ok:1.2 1"
    again = await Runner.run(agent([calls("a", "b"), "done"], FakeTool()), "go", checkpoint=at(store, "r1"))
    assert transcript(again.entries)[-3:] == ["ok:1.1 did a", "ok:1.2 1", "assistant:done"]


async def test_z1_a_timeout_stops_a_model_call_and_leaves_no_entry_of_it():
    store = InMemoryCheckpointer()
    slow = agent([{"text": "never seen", "delay": 60, "chunks": 3}])
    result = await Runner.outcome(slow, "go", checkpoint=at(store, "r1"), timeout=0.05)
    assert (result.status, transcript(result.entries), result.steps) == ("interrupted", ["user:go"], 0)


async def test_z2_a_tool_cleans_up_before_the_run_is_saved_as_interrupted():
    store, switch, order = InMemoryCheckpointer(), StopSwitch(), []

    async def work(arguments, context):
        switch.stop(SignalReceived(2, "SIGINT"))
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("cleaned up")

    def on_event(event):
        if event.type == "run.saved" and event.data["event"] == "interrupted":
            order.append("saved")

    bot = agent([calls("a"), "done"], FakeTool(action=work))
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), stop=switch, on_event=on_event)
    assert order == ["cleaned up", "saved"]
    assert result.stop == {"reason": "signal", "signal": 2, "name": "SIGINT"}


async def test_r3_cancelling_the_task_interrupts_the_run_and_is_raised():
    store, started = InMemoryCheckpointer(), asyncio.Event()

    async def work(arguments, context):
        started.set()
        await asyncio.Event().wait()

    bot = agent([calls("a"), "done"], FakeTool(action=work))
    task = asyncio.ensure_future(Runner.run(bot, "go", checkpoint=at(store, "r1")))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await store.load("r1")).status == "interrupted"
    assert (
        await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", checkpoint=at(store, "r1"))
    ).output == "done"


@pytest.mark.parametrize("batch", [("a",), ("a", "b")])
@pytest.mark.parametrize("store", [InMemoryCheckpointer, CrashingCheckpointer])
async def test_r1_what_is_done_when_the_task_is_cancelled_is_kept(store, batch):
    store, running = store(), asyncio.Event()

    async def work(arguments, context):
        if len(batch) == 2 and arguments["x"] == "b":
            running.set()
            await asyncio.Event().wait()
        elif len(batch) == 2:
            await running.wait()
        asyncio.get_running_loop().call_soon(task.cancel)
        return "paid for"

    bot, tool = agent([calls(*batch), "done"], FakeTool(action=work)), FakeTool()
    task = asyncio.ensure_future(Runner.run(bot, "go", checkpoint=at(store, "r1")))
    with pytest.raises(asyncio.CancelledError):
        await task
    stored = await store.load("r1")
    assert (stored.status, transcript(stored.entries)[-1]) == ("interrupted", "ok:1.1 paid for")
    result = await Runner.run(agent([calls(*batch), "done"], tool), "go", checkpoint=at(store, "r1"))
    assert (result.output, list(tool.ran)) == ("done", list(batch[1:]))


async def test_r1_a_response_that_is_there_when_the_task_is_cancelled_is_kept():
    store, asked = CrashingCheckpointer(), Requests()

    class Model:
        id = "m"

        async def respond(self, request):
            asked(request)
            asyncio.get_running_loop().call_soon(task.cancel)
            yield ModelResponse(entries=[AssistantTextEntry(text="done")], finish_reason="stop")

    bot = replace(agent(["x"]), model=Model())
    task = asyncio.ensure_future(Runner.run(bot, "go", checkpoint=at(store, "r1")))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await Runner.run(bot, "go", checkpoint=at(store, "r1"))).output == "done"
    assert asked.numbers == [1]


async def test_a_timeout_around_work_that_is_done_in_time_stays_a_timeout():
    async def work(scope):
        asyncio.get_running_loop().call_soon(scope.reschedule, 0)
        await asyncio.sleep(0)
        return "done"

    async def in_time():
        async with asyncio.timeout(60) as scope:
            assert await unless_stopped(StopSwitch(), work(scope)) == "done"
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await in_time()
    assert asyncio.current_task().cancelling() == 0


async def test_z9_cancel_stops_the_owner_and_waits_for_it():
    store, started = InMemoryCheckpointer(), asyncio.Event()

    async def work(arguments, context):
        started.set()
        await asyncio.Event().wait()

    bot = agent([calls("a"), "done"], FakeTool(action=work))
    running = asyncio.ensure_future(Runner.outcome(bot, "go", checkpoint=at(store, "r1")))
    await started.wait()
    assert await Runner.cancel("r1", checkpointer=store) is True
    result = await running
    assert (result.status, result.stop) == ("interrupted", {"reason": "cancelled"})
    assert await Runner.cancel("r1", checkpointer=store) is False
    again = await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", checkpoint=at(store, "r1"))
    assert again.output == "done"


async def test_z9_cancel_of_an_unknown_run_is_not_found():
    with pytest.raises(RunNotFoundError):
        await Runner.cancel("nosuch", checkpointer=InMemoryCheckpointer())


async def test_z9_an_owner_that_does_not_stop_in_time_is_a_conflict():
    store, started, release = InMemoryCheckpointer(), asyncio.Event(), asyncio.Event()

    async def work(arguments, context):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await release.wait()

    bot = agent([calls("a"), "done"], FakeTool(action=work))
    running = asyncio.ensure_future(Runner.outcome(bot, "go", checkpoint=at(store, "r1")))
    await started.wait()
    with pytest.raises(ConflictError, match="still executed by process"):
        await Runner.cancel("r1", checkpointer=store, wait=0.1)
    release.set()
    await running


@pytest.mark.parametrize(
    ("fail", "status", "stop", "code"),
    [
        ({"status": 503, "times": 9}, "interrupted", {"reason": "provider"}, "provider"),
        ({"status": 400, "times": 9}, "failed", None, "provider"),
        ({"status": 401, "times": 9}, "failed", None, "credentials"),
    ],
)
async def test_r3_provider_errors_interrupt_when_they_may_pass_and_fail_otherwise(fail, status, stop, code):
    store = InMemoryCheckpointer()
    result = await Runner.outcome(agent([{"text": "x", "fail": fail}]), "go", checkpoint=at(store, "r1"))
    assert (result.status, result.stop) == (status, stop)
    assert result.error is not None
    assert result.error.code == code
    stored = await store.load("r1")
    assert stored is not None
    assert (stored.status, stored.head.error["code"]) == (status, code)
    with pytest.raises(ProviderError):
        result.raise_for_status()
    assert (await Runner.run(agent(["fine"]), "go", checkpoint=at(store, "r1"))).output == "fine"


async def test_a_provider_error_that_passes_is_retried_within_the_run():
    result = await Runner.run(agent([{"text": "fine", "fail": {"status": 503, "times": 1}}]), "go")
    assert (result.output, result.steps) == ("fine", 1)


async def test_a_response_cut_off_while_streaming_is_no_step():
    store, turns = InMemoryCheckpointer(), [{"text": "a long answer", "chunks": 4, "cut_after": 2}]
    result = await Runner.run(agent(turns), "go", checkpoint=at(store, "r1"))
    assert (transcript(result.entries), result.steps) == (["user:go", "assistant:a long answer"], 1)
    assert [save.event for save in await store.history("r1")] == ["completed", "response", "started"]


async def test_any_other_error_fails_the_run_and_it_can_be_resumed():
    class Broken:
        id = "broken"

        def respond(self, request):
            raise RuntimeError("bug")

    store = InMemoryCheckpointer()
    bot = agent(["fine"])
    bot.model = Broken()
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"))
    assert (result.status, result.error.message) == ("failed", "RuntimeError: bug")
    assert (await Runner.run(agent(["fine"]), "go", checkpoint=at(store, "r1"))).output == "fine"
