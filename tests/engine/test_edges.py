"""Cancellations, odd moments and odd tools: what a second look at the engine found."""

import asyncio
from dataclasses import replace

import pytest

from lovia_cli.engine.runner import CheckpointOptions, Runner, StopSwitch
from lovia_cli.errors import SignalReceived, StoreBusyError, StoreWriteError, UserError
from lovia_cli.models.base import ModelResponse
from stores.entries import AssistantTextEntry, ReasoningEntry
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.records import RunHead, RunSnapshot
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls, transcript

pytestmark = pytest.mark.anyio


async def test_r7_a_task_cancelled_while_it_completes_leaves_the_run_completed():
    store, task = InMemoryCheckpointer(), None

    def on_event(event):
        if event.type == "run.saved" and event.data["event"] == "completed":
            task.cancel()

    task = asyncio.ensure_future(Runner.run(agent(["done"]), "go", checkpoint=at(store, "r1"), on_event=on_event))
    await asyncio.wait({task})
    assert [save.event for save in await store.history("r1")] == ["completed", "response", "started"]
    assert (await store.load("r1")).status == "completed"


async def test_z8_variables_given_on_resume_are_those_of_the_prompt():
    store, asked, turns = CrashingCheckpointer(4), Requests(), [calls("a"), "done"]
    env = {"instructions": lambda variables: f"env={variables['env']}"}
    with pytest.raises(Crash):
        await Runner.run(agent(turns, FakeTool(), **env), "go", checkpoint=at(store, "r1"), variables={"env": "old"})
    bot = agent(turns, FakeTool(), asked=asked, **env)
    await Runner.run(bot, "go", checkpoint=at(store, "r1"), variables={"env": "new"})
    assert asked.systems == ["env=new"]


async def test_r4_a_restart_without_a_session_given_stays_in_the_runs_own():
    store, session = CrashingCheckpointer(2), InMemorySession()
    with pytest.raises(Crash):
        await Runner.run(agent(["x"]), "old", checkpoint=at(store, "r1"), session=session, session_id="u1")
    bot = agent(["done"])
    result = await Runner.run(bot, "new", checkpoint=at(store, "r1", "restart"), session=session)
    assert result.session_id == "u1"
    assert transcript(await session.load("u1")) == ["user:new", "assistant:done"]


async def test_s6_queued_input_is_stored_behind_the_step_it_waited_for():
    store = CrashingCheckpointer(3)
    with pytest.raises(Crash):
        await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", checkpoint=at(store, "r1"))
    store.crash_at = store.count + 3
    with pytest.raises(Crash):
        await Runner.run(agent([calls("a"), "done"], FakeTool()), [], checkpoint=at(store, "r1"), steer="hurry")
    result = await Runner.finalize("r1", checkpointer=store)
    assert [(entry.type, entry.step) for entry in result.entries] == [
        ("input", 0),
        ("tool_call", 1),
        ("tool_result", 1),
        ("input", 1),
    ]


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
async def test_x13_what_a_tool_raises_never_ends_the_run(raised, said):
    def work(arguments, context):
        raise raised

    result = await Runner.run(agent([calls("a"), "done"], FakeTool(action=work)), "go")
    assert transcript(result.entries)[2:] == [f"error:1.1 {said}", "assistant:done"]


async def test_r1_an_answer_is_kept_without_the_private_parts_that_no_store_can_hold():
    asked = Requests()

    class Odd:
        id = "odd"

        async def respond(self, request):
            asked(request)
            kept, deep = {"name": "odd", "n": 1}, {}
            for _ in range(300):
                deep = {"name": "odd", "in": deep}
            entries = [ReasoningEntry(text="hm", provider=deep), AssistantTextEntry(text="paid for", provider=kept)]
            yield ModelResponse(entries=entries, finish_reason="stop", extra={"raw": object()})

    store, odd = InMemoryCheckpointer(), replace(agent(["x"]), model=Odd())
    results = [await Runner.outcome(odd, "go", checkpoint=at(store, "r1")) for _ in range(2)]
    assert [(result.status, result.output) for result in results] == [("completed", "paid for")] * 2
    assert asked.numbers == [1]
    assert [entry.provider for entry in results[0].entries[1:]] == [None, {"name": "odd", "n": 1}]
    assert "response" not in (await store.history("r1"))[1].info


async def test_r8_a_snapshot_without_entries_is_refused():
    empty = RunSnapshot(run_id="r1", head=RunHead(agent="bot"), entries=[])
    store = InMemoryCheckpointer()
    with pytest.raises(UserError, match="has no entries"):
        await Runner.run(agent(["x"]), "go", checkpoint=CheckpointOptions(store, resume_from=empty))
    assert await store.runs() == []


class Busy(InMemoryCheckpointer):
    """Its session lock is never free, and says that somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = asyncio.Event()

    def open_runs(self, session_id):
        return self

    async def __aenter__(self):
        self.awaited.set()
        await asyncio.Event().wait()

    async def __aexit__(self, *error):
        """Nothing is held."""


class Unsettled(InMemoryCheckpointer):
    """The marks of its open ends cannot be removed."""

    async def settle(self, run_id):
        """It stays."""


async def test_a_run_whose_open_end_stays_is_an_error_and_not_looked_after_for_ever():
    place = {"session": InMemorySession(), "session_id": "u1"}
    store = Unsettled()
    await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r1"), **place)
    with pytest.raises(StoreWriteError, match="run 'r1' is complete, and the mark of its open end stays"):
        await Runner.run(agent(["x"]), "go", checkpoint=at(store, "r2"), **place)


async def test_z1_a_stop_is_heard_while_the_run_waits_for_its_session():
    store, switch = Busy(), StopSwitch()
    place = {"session": InMemorySession(), "session_id": "u1", "checkpoint": at(store), "stop": switch}
    running = asyncio.ensure_future(Runner.outcome(agent(["x"]), "go", **place))
    await store.awaited.wait()
    switch.stop(SignalReceived(15, "SIGTERM"))
    with pytest.raises(SignalReceived):
        await running
    assert await store.runs() == []


class Forgetful(InMemoryCheckpointer):
    """Whether a cancel was asked for cannot be read the first time."""

    def lease(self, run_id):
        return _ForgetfulLease(super().lease(run_id))


class _ForgetfulLease:
    def __init__(self, context) -> None:
        self._context, self._asked = context, 0

    async def __aenter__(self):
        self._lease = await self._context.__aenter__()
        self.load, self.save = self._lease.load, self._lease.save
        return self

    async def __aexit__(self, *error):
        return await self._context.__aexit__(*error)

    async def cancel_requested(self):
        self._asked += 1
        if self._asked == 1:
            raise StoreBusyError("busy")
        return await self._lease.cancel_requested()


async def test_z9_a_look_that_fails_does_not_make_the_run_deaf():
    store, started = Forgetful(), asyncio.Event()

    async def work(arguments, context):
        started.set()
        await asyncio.Event().wait()

    bot = agent([calls("a"), "done"], FakeTool(action=work))
    running = asyncio.ensure_future(Runner.outcome(bot, "go", checkpoint=at(store, "r1")))
    await started.wait()
    assert await Runner.cancel("r1", checkpointer=store) is True
    assert (await running).stop == {"reason": "cancelled"}
