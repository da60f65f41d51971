"""A changed agent driven along a recorded run (H5): what differs, where, and nothing when nothing does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lovia_cli.agent import Agent, Limits
from lovia_cli.engine.events import Event
from lovia_cli.engine.patching import Patch
from lovia_cli.engine.recording import recording_of
from lovia_cli.engine.retracing import Retrace
from lovia_cli.engine.runner import Runner
from lovia_cli.engine.transfer import import_run
from lovia_cli.errors import InvalidOutputError, LimitReached, RunNotFoundError
from lovia_cli.tools.base import ToolArgumentsError
from stores.memory import InMemoryCheckpointer
from stores.records import RunSnapshot
from tests.engine.kit import Crash, CrashingCheckpointer, FakeTool, Requests, agent, at, calls

pytestmark = pytest.mark.anyio

TURNS = [calls("a", "b"), calls("c"), "done"]


class Strict(FakeTool):
    """A tool that refuses some arguments."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused

    def check(self, arguments: dict[str, Any]) -> None:
        if arguments.get("x") in self.refused:
            raise ToolArgumentsError(f"the arguments of work do not fit:\n- x: not {arguments['x']!r}")


def tool(name: str = "work", **spec: Any) -> FakeTool:
    made = FakeTool(name)
    made.spec = type(made.spec)(**{"name": name, "description": name, "parameters": {"type": "object"}, **spec})
    return made


def killed_at(saves: int) -> Any:
    """A sink with which the process is gone once so many saves are durable."""

    def sink(event: Event) -> None:
        nonlocal saves
        saves -= event.type == "run.saved"
        if not saves:
            raise Crash

    return sink


async def recorded(*tools: FakeTool, turns: Any = TURNS, **more: Any) -> InMemoryCheckpointer:
    store = InMemoryCheckpointer()
    await Runner.outcome(agent(turns, *(tools or (FakeTool(),)), **more), "go", checkpoint=at(store, "r1"))
    return store


async def retraced(store: InMemoryCheckpointer, bot: Agent, run_id: str = "r1") -> Retrace:
    return await Runner.retrace(bot, run_id, checkpointer=store)


def told(found: Retrace) -> list[tuple[Any, ...]]:
    return [(one.step, one.until, one.position, one.part, one.name) for one in found.differences]


async def test_h5_an_unchanged_agent_differs_nowhere_on_a_run_killed_twice_and_forked() -> None:
    store = InMemoryCheckpointer()
    for saves in (2, 2):
        with pytest.raises(Crash):
            await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=at(store, "r1"), on_event=killed_at(saves))
    unfinished = await retraced(store, agent(TURNS, FakeTool()))
    assert {one.part for one in unfinished.differences} == {"result"}
    await Runner.run(agent(TURNS, FakeTool()), "go", checkpoint=at(store, "r1"))
    patch = Patch(tool_results=[("1.1", "rain")])
    forked = await Runner.fork("r1", checkpointer=store, from_step=1, patch=patch)
    await Runner.run(agent(TURNS, FakeTool()), checkpoint=at(store, forked.run_id))
    for run_id in ("r1", forked.run_id):
        found = await retraced(store, agent(TURNS, FakeTool()), run_id)
        assert (told(found), found.diverged_at, found.without_result, found.model) == ([], None, None, None)
        assert (found.steps, found.status, found.has_fingerprint) == (3, "completed", True)


async def test_h5_nothing_is_written_no_model_asked_and_no_tool_run() -> None:
    store, asked, work = await recorded(), Requests(), FakeTool()
    before = await store.history("r1")
    await retraced(store, agent(TURNS, work, asked=asked, instructions="new"))
    assert (await store.history("r1"), asked.numbers, dict(work.ran)) == (before, [], {})
    with pytest.raises(RunNotFoundError):
        await retraced(store, agent(TURNS), "nosuch")


async def test_h5_instructions_tools_descriptions_and_schemas_differ_from_the_first_step_on() -> None:
    store = await recorded(tool(), tool("gone"), output_schema={"type": "object"}, instructions="old")
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    found = await retraced(store, agent(TURNS, tool(parameters=schema), tool("new"), instructions="new"))
    assert told(found) == [
        (1, 3, None, "instructions", None),
        (1, 3, None, "tools", "gone"),
        (1, 3, None, "tools", "new"),
        (1, 3, None, "schema", "work"),
        (1, 3, None, "schema", None),
    ]
    described = await retraced(
        store, agent(TURNS, tool(description="x"), tool("gone"), output_schema={"type": "object"}, instructions="old")
    )
    assert told(described) == [(1, 3, None, "tools", "work")]


async def test_h5_a_step_is_compared_with_what_was_sent_then() -> None:
    """A run that was resumed with a changed agent (Z7) fits neither of both all the way."""
    store = CrashingCheckpointer(6)
    with pytest.raises(Crash):
        await Runner.run(agent(TURNS, FakeTool(), instructions="old"), "go", checkpoint=at(store, "r1"))
    await Runner.run(agent(TURNS, FakeTool(), instructions="new"), "go", checkpoint=at(store, "r1"))
    assert told(await retraced(store, agent(TURNS, FakeTool(), instructions="old"))) == [
        (3, 3, None, "instructions", None)
    ]
    assert told(await retraced(store, agent(TURNS, FakeTool(), instructions="new"))) == [
        (1, 2, None, "instructions", None)
    ]


async def test_h5_variables_are_those_of_the_run() -> None:
    def greet(variables: dict[str, Any]) -> str:
        return f"Greet {variables['name']}."

    store = InMemoryCheckpointer()
    bot = agent(["hi"], instructions=greet)
    await Runner.run(bot, "go", checkpoint=at(store, "r1"), variables={"name": "Ada"})
    assert told(await retraced(store, bot)) == []
    assert told(await retraced(store, agent(["hi"], instructions="Greet Bob."))) == [(1, 1, None, "instructions", None)]


async def test_h5_a_call_of_a_removed_tool_and_arguments_refused_now() -> None:
    store = await recorded()
    assert told(await retraced(store, agent(TURNS)))[1:] == [
        (1, 1, 1, "tools", "work"),
        (1, 1, 2, "tools", "work"),
        (2, 2, 1, "tools", "work"),
    ]
    found = await retraced(store, agent(TURNS, Strict("c")))
    assert told(found) == [(2, 2, 1, "arguments", "work")]
    assert (
        found.differences[0].message == "call 2.1 work: would be refused: the arguments of work do not fit: x: not 'c'"
    )
    assert found.without_result is None


async def test_h5_what_was_refused_then_and_would_run_now_has_no_recorded_result() -> None:
    turns = [calls("b", name="later"), calls("c"), "done"]
    store = await recorded(Strict("c"), turns=turns)
    assert told(await retraced(store, agent(turns, Strict("c")))) == []
    found = await retraced(store, agent(turns, FakeTool(), FakeTool("later")))
    assert told(found)[1:] == [(1, 1, 1, "arguments", "later"), (2, 2, 1, "arguments", "work")]
    assert found.without_result is not None
    assert (found.without_result.step, found.without_result.position) == (1, 1)


async def test_h5_a_pending_call_is_the_first_without_a_recorded_result() -> None:
    store = CrashingCheckpointer(4)  # before the second result of step 1
    with pytest.raises(Crash):
        await Runner.run(agent(TURNS, FakeTool(), tool_concurrency=1), "go", checkpoint=at(store, "r1"))
    found = await retraced(store, agent(TURNS, FakeTool()))
    assert told(found) == [(1, 1, 2, "result", "work")]
    assert (found.without_result and found.without_result.position) == 2


async def test_h5_limits_differ_where_they_would_stop_the_run_or_no_longer_do() -> None:
    store = await recorded(limits=Limits(max_steps=5, max_tool_calls=9))
    assert told(await retraced(store, agent(TURNS, FakeTool(), limits=Limits(max_steps=4)))) == []
    found = await retraced(store, agent(TURNS, FakeTool(), limits=Limits(max_steps=2, max_tool_calls=2)))
    assert told(found) == [(2, 2, None, "limits", "max_tool_calls"), (3, 3, None, "limits", "max_steps")]
    stopped = await recorded(limits=Limits(max_steps=1))
    assert told(await retraced(stopped, agent(TURNS, FakeTool(), limits=Limits(max_steps=1)))) == []
    assert told(await retraced(stopped, agent(TURNS, FakeTool()))) == [(1, 1, None, "limits", "max_steps")]


async def test_h5_a_limit_that_was_given_to_the_run_itself_still_holds() -> None:
    """As after ``--max-steps``: the agent is the same, and so is the run."""
    store = InMemoryCheckpointer()
    small = agent(TURNS, FakeTool(), limits=Limits(max_steps=1))
    with pytest.raises(LimitReached):
        await Runner.run(small, "go", checkpoint=at(store, "r1"))
    await Runner.run(small, "go", checkpoint=at(store, "r1"), limits={"max_steps": 9})
    assert told(await retraced(store, small)) == []


async def test_h5_tokens_are_counted_as_the_history_tells_them() -> None:
    turns = [{**calls("a"), "usage": {"input_tokens": 60, "output_tokens": 40}}, "done"]
    store = await recorded(turns=turns)
    found = await retraced(store, agent(turns, FakeTool(), limits=Limits(max_total_tokens=100)))
    assert told(found) == [(2, 2, None, "limits", "max_total_tokens")]


async def test_h5_an_answer_that_is_made_into_something_else_or_refused() -> None:
    def refuse(text: str) -> Any:
        raise InvalidOutputError("not this")

    store = await recorded(turns=['{"a": 1}'])
    assert told(await retraced(store, agent(["x"], FakeTool(), parse_output=json.loads))) == [
        (1, 1, None, "output", None)
    ]
    found = await retraced(store, agent(["x"], FakeTool(), parse_output=refuse))
    assert [(one.part, one.message) for one in found.differences] == [("output", "not this")]
    repaired = await recorded(turns=["no", '{"a": 1}'], parse_output=json.loads)
    assert told(await retraced(repaired, agent(["x"], FakeTool(), parse_output=json.loads))) == []
    assert [one[:4] for one in told(await retraced(repaired, agent(["x"], FakeTool())))] == [
        (1, 1, None, "output"),
        (2, 2, None, "output"),
    ]


async def test_h5_another_model_or_name_is_said_and_is_no_difference() -> None:
    store = await recorded()
    bot = agent(TURNS, FakeTool(), name="new")
    bot.model = type(bot.model)(TURNS, id="scripted:other")
    found = await retraced(store, bot)
    assert (told(found), found.model) == ([], ("scripted", "scripted:other"))
    assert (found.agent, found.recorded_agent) == ("new", "bot")


async def test_d2_without_a_fingerprint_calls_and_output_are_compared_all_the_same() -> None:
    store = InMemoryCheckpointer()
    source = await (await recorded()).load("r1")
    assert source is not None
    source.head.fingerprint = None
    await import_run(source, checkpointer=store)
    found = await retraced(store, agent(TURNS, instructions="new"))
    assert not found.has_fingerprint
    assert {one.part for one in found.differences} == {"tools"}


class Long(InMemoryCheckpointer):
    """A store that cannot read a whole transcript for each save."""

    async def snapshot(self, run_id: str, save: int) -> RunSnapshot | None:
        raise AssertionError("a transcript was read")


async def test_h5_what_was_in_force_is_read_without_the_transcripts() -> None:
    store = Long()
    bot = agent(TURNS, FakeTool())
    await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), limits={"max_steps": 1})
    await Runner.outcome(bot, "", checkpoint=at(store, "r1"), limits={"max_steps": 9})
    recording = await recording_of("r1", store, None, None)
    assert [recording.head_at(step).limits["max_steps"] for step in (1, 2, 3)] == [1, 9, 9]
