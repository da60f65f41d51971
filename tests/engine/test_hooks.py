"""An agent's hooks and output guardrails: when they run, what they may refuse, and what their faults do (R6, Z1)."""

import asyncio

import pytest

from lovia_cli.engine.runner import Runner, StopSwitch
from lovia_cli.errors import CancelRequested, GuardrailTripped, HookError, LimitReached, StoreWriteError
from lovia_cli.hooks import AgentHooks
from lovia_cli.tools.base import ToolError
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, says, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a", "b"), "done"]


class Diary(AgentHooks):
    """Writes down every moment; ``act`` may raise or wait there."""

    def __init__(self, act=lambda moment: None):
        self.lines = []
        self.contexts = []
        self._act = act

    async def _note(self, context, line):
        self.lines.append(line)
        self.contexts.append(context)
        if (waiting := self._act(line)) is not None:
            await waiting

    async def on_start(self, context):
        await self._note(context, "start again" if context.resumed else "start")

    async def before_model(self, context, request):
        await self._note(context, f"ask {request.number}")

    async def after_model(self, context, response):
        await self._note(context, f"answer {len(response.entries)}")

    async def before_tool(self, context, call, arguments):
        await self._note(context, f"call {arguments['x']}")
        arguments.clear()

    async def after_tool(self, context, call, result):
        await self._note(context, f"result {says(result)}")

    async def on_end(self, context, output):
        await self._note(context, f"end {output}")


def raising(at_line, error):
    def act(line):
        if line == at_line:
            raise error

    return act


async def test_r6_hooks_run_at_their_moments_and_not_on_replay():
    store, diary = InMemoryCheckpointer(), Diary()
    bot = agent(TURNS, FakeTool(), hooks=diary, tool_concurrency=1)
    await Runner.run(bot, "go", checkpoint=at(store, "r1"), deps="shop")
    lines = [
        *("start", "ask 1", "answer 2", "call a", "result ok:1.1 did a", "call b", "result ok:1.2 did b"),
        *("ask 2", "answer 1", "end done"),
    ]
    assert diary.lines == lines
    last = diary.contexts[-1]
    assert (last.run_id, last.session_id, last.agent, last.step, last.resumed, last.deps) == (
        *("r1", None, "bot", 2, False, "shop"),
    )
    assert last.usage.requests == 2
    assert transcript(last.transcript())[-2:] == ["ok:1.2 did b", "assistant:done"]
    assert (await Runner.run(bot, "go", checkpoint=at(store, "r1"))).replayed
    assert diary.lines == lines


async def test_z1_calls_that_a_crash_left_open_go_through_the_hooks():
    store, diary = CrashingCheckpointer(4), Diary()
    with pytest.raises(Crash):
        await Runner.run(agent(TURNS, FakeTool(), tool_concurrency=1), "go", checkpoint=at(store, "r1"))
    await Runner.run(agent(TURNS, FakeTool(), hooks=diary), "go", checkpoint=at(store, "r1"))
    assert diary.lines == ["start again", "call b", "result ok:1.2 did b", "ask 2", "answer 1", "end done"]


async def test_a_tool_error_of_a_hook_is_the_calls_result_and_the_tool_does_not_run():
    tool, diary = FakeTool(), Diary(raising("call a", ToolError("not today")))
    result = await Runner.run(agent(TURNS, tool, hooks=diary), "go")
    assert transcript(result.entries)[-3:] == ["error:1.1 not today", "ok:1.2 did b", "assistant:done"]
    assert dict(tool.ran) == {"b": 1}


async def test_arguments_that_do_not_fit_reach_no_hook_before_the_tool_and_the_hook_after_it():
    diary = Diary()
    turn = {"tool_calls": [{"id": "c", "name": "work", "arguments": "not json"}]}
    await Runner.run(agent([turn, "done"], FakeTool(), hooks=diary), "go")
    assert [line.split(":")[0] for line in diary.lines[3:-3]] == ["result error"]


@pytest.mark.parametrize(
    ("line", "ran_before", "ran_after"),
    [
        ("start", {}, {"a": 1, "b": 1}),
        ("ask 1", {}, {"a": 1, "b": 1}),
        ("answer 2", {}, {"a": 1, "b": 1}),
        ("call a", {}, {"a": 1, "b": 1}),
        ("result ok:1.1 did a", {"a": 1}, {"b": 1}),
        ("ask 2", {"a": 1, "b": 1}, {}),
        ("end done", {"a": 1, "b": 1}, {}),
    ],
)
async def test_r3_a_hook_that_raises_fails_the_run_which_then_goes_on_from_there(line, ran_before, ran_after):
    store, tool, asked, again = InMemoryCheckpointer(), FakeTool(), Requests(), FakeTool()
    hooks = Diary(raising(line, ValueError("boom")))
    bot = agent(TURNS, tool, hooks=hooks, asked=asked, tool_concurrency=1)
    with pytest.raises(HookError, match=r"^(on_|before_|after_)\w+: ValueError: boom$") as failure:
        await Runner.run(bot, "go", checkpoint=at(store, "r1"))
    assert isinstance(failure.value.__cause__, ValueError)
    stored = await store.load("r1")
    assert (stored.status, stored.head.error["code"]) == ("failed", "hook")
    assert dict(tool.ran) == ran_before
    result = await Runner.run(agent(TURNS, again, asked=asked), "go", checkpoint=at(store, "r1"))
    assert dict(again.ran) == ran_after
    assert asked.numbers == [1, 2]
    assert transcript(result.entries)[-3:] == ["ok:1.1 did a", "ok:1.2 did b", "assistant:done"]


async def test_a_hook_that_raises_lets_the_calls_beside_it_end():
    store, going = InMemoryCheckpointer(), asyncio.Event()

    async def work(arguments, context):
        going.set()
        for _ in range(50):  # turns of the loop, in which the other call's hook has long raised
            await asyncio.sleep(0)
        return "kept"

    async def raise_beside_it():
        await going.wait()
        raise ValueError("boom")

    hooks = Diary(lambda line: raise_beside_it() if line == "call b" else None)
    with pytest.raises(HookError):
        await Runner.run(agent(TURNS, FakeTool(action=work), hooks=hooks), "go", checkpoint=at(store, "r1"))
    assert transcript((await store.load("r1")).entries)[-1:] == ["ok:1.1 kept"]


async def test_z2_a_stop_ends_a_hook_and_a_call_it_kept_from_running_is_no_stopped_call():
    store, switch = InMemoryCheckpointer(), StopSwitch()

    async def stopped_meanwhile():
        switch.stop(CancelRequested())
        await asyncio.Event().wait()

    hooks = Diary(lambda line: stopped_meanwhile() if line == "call a" else None)
    bot = agent(TURNS, FakeTool(), hooks=hooks, tool_concurrency=1)
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), stop=switch)
    assert (result.status, result.stop) == ("interrupted", {"reason": "cancelled"})
    assert (await store.load("r1")).head.stopped_calls == []
    result = await Runner.run(agent(TURNS, FakeTool()), [], checkpoint=at(store, "r1"), steer="go on")
    assert transcript(result.entries)[3:5] == ["ok:1.1 did a", "ok:1.2 did b"]


ENDING = [
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    LimitReached("max_steps", 1, 1),
    StoreWriteError("full"),
    HookError("its own"),
]
"""What ends the process, the task or the run when the engine raises it."""


@pytest.mark.parametrize(("line", "hook"), [("call a", "before_tool"), ("result ok:1.1 did a", "after_tool")])
@pytest.mark.parametrize("error", ENDING)
async def test_x13_what_would_end_the_process_is_the_hooks_fault(error, line, hook):
    store = InMemoryCheckpointer()
    bot = agent(TURNS, FakeTool(), hooks=Diary(raising(line, error)))
    result = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"))
    assert (result.status, result.error.code) == ("failed", "hook")
    assert result.error.message.startswith(f"{hook}: RuntimeError: {type(error).__name__}")


@pytest.mark.parametrize("error", ENDING)
async def test_z2_what_would_end_the_run_is_the_tools_fault_and_its_result(error):
    """Such as the outcome of a run that the tool has run itself."""

    def act(arguments, context):
        if arguments["x"] == "a":
            raise error
        return "did b"

    result = await Runner.outcome(agent(TURNS, FakeTool(action=act)), "go")
    assert (result.status, result.output) == ("completed", "done")
    first, second = [says(entry) for entry in result.entries if entry.type == "tool_result"]
    assert first.startswith(f"error:1.1 {type(error).__name__}")
    assert second == "ok:1.2 did b"


class Plain(AgentHooks):
    """Hooks need not be async."""

    ended = None

    def on_end(self, context, output):
        self.ended = output


async def test_a_hook_may_be_a_plain_method():
    hooks = Plain()
    await Runner.run(agent(["done"], hooks=hooks), "go")
    assert hooks.ended == "done"


def cites(output, context):
    return None if "source:" in output else "it names no source"


async def cites_by_raising(output, context):
    if "source:" not in output:
        raise GuardrailTripped("output guardrail: it names no source")


def cites_by_truth(output, context):
    return "source:" not in output


@pytest.mark.parametrize(
    ("guardrail", "message"),
    [
        (cites, "output guardrail: it names no source"),
        (cites_by_raising, "output guardrail: it names no source"),
        (cites_by_truth, "output guardrail: refused by cites_by_truth"),
    ],
)
async def test_r3_a_guardrail_that_refuses_fails_the_run_and_new_input_goes_on(guardrail, message):
    store, session = InMemoryCheckpointer(), InMemorySession()
    place = {"session": session, "session_id": "u1", "checkpoint": at(store)}
    bot = agent(["It rains.", "It rains, source: met."], output_guardrails=[guardrail])
    with pytest.raises(GuardrailTripped) as refusal:
        await Runner.run(bot, "go", **place)
    assert (refusal.value.message, refusal.value.code) == (message, "guardrail")
    assert refusal.value.hint == "resume the run with input that says what to change"
    assert await session.segments("u1") == []
    assert [run.status for run in await store.runs()] == ["failed"]
    with pytest.raises(GuardrailTripped):
        await Runner.run(bot, "go", **place)  # a retry: the model is not asked again
    result = await Runner.run(bot, "Name your source.", **place)
    assert (result.output, result.steps) == ("It rains, source: met.", 2)


async def test_r6_guardrails_check_the_parsed_output_in_order_and_not_on_replay():
    store, seen = InMemoryCheckpointer(), []

    def first(output, context):
        seen.append((output, context.step))

    async def second(output, context):
        seen.append("second")

    bot = agent(["7"], parse_output=int, output_guardrails=[first, second])
    for _ in range(2):
        assert (await Runner.run(bot, "go", checkpoint=at(store, "r1"))).output == 7
    assert seen == [(7, 1), "second"]


async def test_a_guardrail_that_fails_lets_nothing_pass():
    def broken(output, context):
        raise KeyError("x")

    result = await Runner.outcome(agent(["hi"], output_guardrails=[broken]), "go")
    assert (result.status, result.error.code, result.error.message) == (
        *("failed", "hook", "guardrail broken: KeyError: 'x'"),
    )
