"""`Runner.preview`: the same decisions as a run, behind glass."""

import pytest

from lovia_cli.agent import Agent
from lovia_cli.engine.runner import CheckpointOptions, Runner
from lovia_cli.errors import RunLockedError, UserError
from lovia_cli.models.scripted import ScriptedModel
from stores.errors import StoreWriteError
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import FakeTool, calls

pytestmark = pytest.mark.anyio


def agent(*turns: object, **more: object) -> Agent:
    return Agent(name="a", model=ScriptedModel(list(turns)), tools=[FakeTool()], **more)


async def test_without_a_checkpoint_it_is_a_new_run() -> None:
    found = await Runner.preview(agent("hi"), "go")
    assert (found.case, found.run_id, found.input, found.history) == ("start", None, "starts", 0)


async def test_it_asks_no_model_runs_no_tool_and_writes_nothing() -> None:
    runs, session = InMemoryCheckpointer(), InMemorySession()
    one = agent(calls("x"), "done")
    found = await Runner.preview(
        one, "go", session=session, session_id="u1", checkpoint=CheckpointOptions(runs, run_id="r1")
    )
    assert (found.case, found.run_id, found.session_id) == ("start", "r1", "u1")
    assert (await runs.runs(), await session.segments("u1")) == ([], [])


async def test_r11_a_run_that_is_executed_is_refused() -> None:
    runs = InMemoryCheckpointer()
    await Runner.outcome(agent(calls("x")), "go", checkpoint=CheckpointOptions(runs, run_id="r1"))
    async with runs.lease("r1"):
        with pytest.raises(RunLockedError):
            await Runner.preview(agent("hi"), "go", checkpoint=CheckpointOptions(runs, run_id="r1"))


async def test_r7_what_would_be_healed_first_counts_as_history_and_is_not_written() -> None:
    class Full(InMemorySession):
        async def append(self, *args, **named):
            raise StoreWriteError("no space left")

    runs, session = InMemoryCheckpointer(), InMemorySession()
    options = {"session_id": "u1", "checkpoint": CheckpointOptions(runs)}
    await Runner.outcome(agent("hi"), "go", session=Full(), **options)
    found = await Runner.preview(agent("hi"), "more", session=session, **options)
    assert (found.case, found.history) == ("start", 1)
    assert await session.segments("u1") == []
    await Runner.run(agent("hi"), "more", session=session, **options)
    assert len(await session.segments("u1")) == 2


async def test_a_store_that_lists_no_runs_cannot_be_previewed() -> None:
    class Blind:
        """No `RunIndex`."""

    with pytest.raises(UserError):
        await Runner.preview(agent("hi"), "go", checkpoint=CheckpointOptions(Blind()))
