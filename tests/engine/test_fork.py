"""Forks: a run begins where another stood, with something changed (H2, H3; C05, C11, C31)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lovia_cli.comparing import compare_trajectories
from lovia_cli.engine.patching import Patch, apply_patch
from lovia_cli.engine.runner import Runner
from lovia_cli.errors import CallNotFoundError, CheckpointNotFoundError, RunExistsError, RunNotFoundError, UserError
from stores.entries import (
    AssistantTextEntry,
    Entry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    entry_to_json,
)
from stores.errors import StoreWriteError
from stores.fields import changed
from stores.file import FileCheckpointer, FileSession
from stores.lines import RunInfo
from stores.memory import InMemoryCheckpointer, InMemorySession
from stores.records import RunHead, RunSnapshot
from tests.engine.kit import Crash, FakeTool, Requests, agent, at, calls, transcript
from tests.engine.test_kept import Forgetful

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return InMemoryCheckpointer() if request.param == "memory" else FileCheckpointer(tmp_path / ".lovia")


@pytest.fixture(params=["memory", "file"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any]:
    """A store of runs and one of sessions."""
    if request.param == "memory":
        return InMemoryCheckpointer(), InMemorySession()
    return FileCheckpointer(tmp_path / ".lovia"), FileSession(tmp_path / ".lovia")


async def loaded(store: Any, run_id: str) -> RunSnapshot:
    snapshot = await store.load(run_id)
    assert snapshot is not None
    return snapshot


WEATHER = FakeTool("weather", lambda _arguments, _context: {"forecast": "sun"})
TRIP = [
    {"text": "Let me look.", "tool_calls": [{"id": "call_weather", "name": "weather", "arguments": {}}]},
    {"cases": [{"when": "rain", "text": "Museums it is."}, {"text": "To the beach."}]},
]


async def test_h2_the_seeds_example_forks_a_trip_with_another_weather(store: Any) -> None:
    trip = agent(TRIP, WEATHER)
    await Runner.run(trip, "Plan my trip", checkpoint=at(store, "trip"))
    before = [await store.load("trip"), await store.history("trip")]
    fork = await Runner.fork(
        "trip",
        from_step=1,
        checkpointer=store,
        patch=Patch(tool_results={"call_weather": {"forecast": "rain"}}),
    )
    assert (fork.run_id, fork.step, fork.save, fork.patched) == ("trip.fork-1", 1, 3, ["tool_result 1.1"])
    assert (await loaded(store, "trip.fork-1")).status == "interrupted"
    result = await Runner.resume(trip, fork.run_id, checkpointer=store)
    assert result is not None
    assert (result.output, result.steps) == ("Museums it is.", 2)
    assert [await store.load("trip"), await store.history("trip")] == before
    compared = compare_trajectories(before[0], await loaded(store, fork.run_id))
    assert (compared.diverged_at, len(compared.sides[0].steps), len(compared.sides[1].steps)) == (1, 2, 2)
    assert await Runner.resume(trip, fork.run_id, checkpointer=store) is None


async def test_h2_an_appended_input_is_sent_behind_the_calls_without_a_result(store: Any) -> None:
    asked, tool = Requests(), FakeTool()
    bot = agent([calls("a", "b"), "done", "again"], tool, asked=asked)
    await Runner.run(bot, "go", checkpoint=at(store, "r"))
    fork = await Runner.fork("r", from_save=3, checkpointer=store, patch=Patch(append_input="hurry"))
    result = await Runner.resume(bot, fork.run_id, checkpointer=store)
    assert result is not None
    assert transcript(result.entries) == [
        "user:go",
        'call:1.1 {"x":"a"}',
        'call:1.2 {"x":"b"}',
        "ok:1.1 did a",
        "ok:1.2 did b",
        "user:hurry",
        "assistant:done",
    ]
    assert (tool.ran["a"], tool.ran["b"]) == (1, 2), "a recorded result is kept, a missing one is made"
    assert [context.idempotency_key.startswith("r.fork-1/") for context in tool.contexts] == [False, False, True]


async def test_h2_all_four_patches_are_applied_in_their_order(store: Any) -> None:
    bot = agent([calls("a"), calls("b"), "done", "more"], FakeTool())
    await Runner.run(bot, "go", checkpoint=at(store, "r"))
    fork = await Runner.fork(
        "r",
        from_step=2,
        checkpointer=store,
        patch=Patch(
            messages=lambda entries: [entry for entry in entries if entry.step != 2] + entries[-2:],
            state={"budget": 7},
            tool_results=[("2.1", "not b"), ("1.1", ["not", "a"])],
            append_input="and then?",
        ),
    )
    assert fork.patched == ["messages", "state", "tool_result 2.1", "tool_result 1.1", "input"]
    snapshot = await loaded(store, fork.run_id)
    assert transcript(snapshot.entries) == [
        "user:go",
        'call:1.1 {"x":"a"}',
        'ok:1.1 ["not","a"]',
        'call:2.1 {"x":"b"}',
        "ok:2.1 not b",
    ]
    assert (snapshot.head.state, [row["text"] for row in snapshot.head.queued_input]) == (
        {"budget": 7},
        ["and then?"],
    )
    assert snapshot.head.parent == {"run_id": "r", "save": 5, "step": 2}


async def test_h2_messages_are_numbered_as_the_run_is(store: Any) -> None:
    bot = agent([calls("a"), calls("b"), "done"], tool := FakeTool())
    await Runner.run(bot, "go", checkpoint=at(store, "r"))
    mine = [
        {"role": "user", "content": "other"},
        AssistantTextEntry(text="let me see"),
        {"type": "tool_call", "id": "x", "name": "work", "arguments": '{"x": "mine"}', "step": 9, "n": 3},
    ]
    fork = await Runner.fork("r", from_step=2, checkpointer=store, patch=Patch(messages=mine))
    result = await Runner.resume(bot, fork.run_id, checkpointer=store)
    assert result is not None
    assert transcript(result.entries) == [
        "user:other",
        "assistant:let me see",
        'call:2.1 {"x": "mine"}',
        "ok:2.1 did mine",
        "assistant:done",
    ]
    assert (result.steps, tool.ran["mine"]) == (3, 1)


async def test_h3_a_transcript_that_ends_with_the_answer_ends_as_one(store: Any) -> None:
    bot = agent([calls("a"), "done"], FakeTool())
    whole = (await Runner.run(bot, "go", checkpoint=at(store, "r"))).entries
    fork = await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(messages=whole))
    result = await Runner.resume(bot, fork.run_id, checkpointer=store)
    assert result is not None
    assert (result.output, result.finish_reason, result.entries) == ("done", "stop", whole)


CALL, RESULT = ToolCallEntry(id="c", name="work"), ToolResultEntry(call_id="c", output="x")
SAID, ANSWER = InputEntry(text="go"), AssistantTextEntry(text="ok")


async def test_d4_a_transcript_is_clean_text(store: Any) -> None:
    await Runner.run(agent(["done"]), "go", checkpoint=at(store, "r"))
    mine = [{"role": "user", "content": "a\ud800"}, AssistantTextEntry(text="b\ud800"), InputEntry(text="c\ud800")]
    fork = await Runner.fork("r", from_step=0, checkpointer=store, patch=Patch(messages=mine))
    assert transcript((await loaded(store, fork.run_id)).entries) == [
        "user:a\ufffd",
        "assistant:b\ufffd",
        "user:c\ufffd",
    ]


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        ([], "the transcript is empty"),
        ([ANSWER], "message 1: a response stands before any input"),
        ([SAID, RESULT], "message 2: the result of 'c' belongs to no call"),
        ([SAID, CALL, RESULT, RESULT], "message 4: the result of 'c' belongs to no call"),
        ([SAID, CALL, SAID], "message 3: an input stands before the result of 'c'"),
        ([SAID, CALL, CALL, RESULT, ANSWER], "message 5: the next response stands before the result of 'c'"),
        ([SAID, ANSWER, {"role": "system", "content": "x"}], "message 3: a system message stands behind a response"),
        ([SAID, {"role": "robot"}], "message 2: this is no message"),
        (
            [{"role": "user", "content": "go"}, {"role": "assistant", "content": "hm", "tool_calls": [{"id": "c"}]}],
            "message 2: a message has a role and content, and no 'tool_calls'",
        ),
        ([SAID, {"type": "hologram"}], "message 2: unknown entry type 'hologram'"),
        ([SAID, 5], "message 2: this is no message: 5"),
        ([{"type": "input", "text": ["go"]}], r"message 1: a input entry has a wrong text: \['go'\]"),
        ([{"type": "input", "text": "go", "role": "robot"}], "message 1: a input entry has a wrong role: 'robot'"),
        ([SAID, {"type": "tool_call", "id": 5, "name": "work"}], "message 2: a tool_call entry has a wrong id: 5"),
        ([SAID, changed(CALL, arguments=5)], "message 2: a tool_call entry has a wrong arguments: 5"),  # type: ignore[arg-type] # wrong on purpose
        ([SAID, {"type": "tool_call", "id": "c"}], "message 2: a tool_call entry lacks a field: 'name'"),
    ],
)
async def test_h2_a_transcript_that_no_provider_would_take_is_refused(messages: list[Any], what: str) -> None:
    store = InMemoryCheckpointer()
    await Runner.run(agent(["done"]), "go", checkpoint=at(store, "r"))
    with pytest.raises(UserError, match=what):
        await Runner.fork("r", from_step=0, checkpointer=store, patch=Patch(messages=messages))
    assert [run.run_id for run in await store.runs()] == ["r"]


A, B, OTHER = (ToolCallEntry(id=id, name="pay") for id in ("a", "b", "other"))


@pytest.mark.parametrize(
    ("calls", "marks"),
    [
        ([A, B], ["1.1"]),
        ([B, A], ["1.2"]),
        ([OTHER, B], []),
        ([A, A], ["1.1"]),
        ([ToolCallEntry(id="a", name="look"), B], []),
        ([OTHER, changed(RESULT, call_id="other"), A], ["2.1"]),
        ([A, changed(RESULT, call_id="a"), B], []),
    ],
)
def test_z5_what_says_that_a_call_may_have_run_goes_where_the_call_goes(calls: list[Any], marks: list[str]) -> None:
    before = [SAID, *(changed(call, step=1, position=n) for n, call in enumerate((A, B), 1))]
    done = apply_patch(Patch(messages=[SAID, *calls]), RunHead(steps=1, started_calls=["1.1"]), before)
    assert done.head.get("started_calls", ["1.1"]) == marks


async def test_h2_a_missing_result_is_recorded_and_its_tool_does_not_run(store: Any) -> None:
    tool = FakeTool()
    await Runner.run(agent([calls("a", "b"), "done"], tool), "go", checkpoint=at(store, "r"))
    fork = await Runner.fork("r", from_save=2, checkpointer=store, patch=Patch(tool_results={"1.2": {"as": "if"}}))
    result = await Runner.resume(agent([calls("a", "b"), "done"], tool), fork.run_id, checkpointer=store)
    assert result is not None
    assert transcript(result.entries)[3:] == ["ok:1.1 did a", 'ok:1.2 {"as":"if"}', "assistant:done"]
    assert tool.ran == {"a": 2, "b": 1}


async def test_h2_what_cannot_be_patched_is_refused_and_nothing_is_made(store: Any) -> None:
    await Runner.run(agent([calls("a", "b"), "done"], FakeTool()), "go", checkpoint=at(store, "r"))
    with pytest.raises(UserError, match=r"'call_0' names 2 calls: 1\.1 work \('call_0'\), 1\.2 work") as ambiguous:
        await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(tool_results={"call_0": 1}))
    assert ambiguous.value.hint == "name one by its place: 1.1"
    with pytest.raises(CallNotFoundError, match=r"there is no call '2\.1'"):
        await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(tool_results={"2.1": 1}))
    with pytest.raises(CallNotFoundError, match="there is no call '1111"):
        await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(tool_results={"1" * 5000 + ".1": 1}))
    with pytest.raises(UserError, match="the state is no JSON object"):
        await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(state=["x"]))  # type: ignore[arg-type] # wrong on purpose
    assert [run.run_id for run in await store.runs()] == ["r"]


async def test_c31_names_unknown_steps_and_taken_ids(store: Any) -> None:
    await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", checkpoint=at(store, "trip"))
    names = [(await Runner.fork("trip", from_step=1, checkpointer=store)).run_id for _ in range(2)]
    pair = await asyncio.gather(*(Runner.fork("trip", from_step=1, checkpointer=store) for _ in range(2)))
    assert names + sorted(fork.run_id for fork in pair) == [f"trip.fork-{n}" for n in (1, 2, 3, 4)]
    inner = await Runner.fork("trip.fork-2", from_step=0, checkpointer=store, new_id="mine")
    assert (inner.run_id, inner.source) == ("mine", "trip.fork-2")
    for taken in ("mine", "trip"):
        with pytest.raises(RunExistsError, match=f"run '{taken}' exists already") as exists:
            await Runner.fork("trip", from_step=1, checkpointer=store, new_id=taken)
        assert exists.value.hint == f"look at it: lovia history run:{taken}"
    for step in (99, -1, 3):
        with pytest.raises(CheckpointNotFoundError, match=f"run 'trip' has no step {step}") as unknown:
            await Runner.fork("trip", from_step=step, checkpointer=store)
        assert unknown.value.hint == "kept are steps 0 to 2 (saves 1 to 5)"
    with pytest.raises(CheckpointNotFoundError, match="save 1 of run 'trip' is of step 0, not of step 1") as other:
        await Runner.fork("trip", from_step=1, from_save=1, checkpointer=store)
    assert other.value.hint == "leave one of them out; kept are steps 0 to 2 (saves 1 to 5)"
    for name, value in (("from_step", "1"), ("from_step", True), ("from_save", 1.0)):
        with pytest.raises(UserError, match=f"^{name} is a whole number, not {value!r}$"):
            await Runner.fork("trip", **{name: value}, checkpointer=store)
    with pytest.raises(CheckpointNotFoundError, match="save 2 of run 'trip' is of step 1, not of step 2"):
        await Runner.fork("trip", from_step=2, from_save=2, checkpointer=store)
    with pytest.raises(RunNotFoundError, match="no run 'nosuch'"):
        await Runner.fork("nosuch", from_step=1, checkpointer=store)
    assert len(await store.runs()) == 6


async def test_h2_a_fork_that_finds_no_id_asks_for_one(store: Any) -> None:
    await Runner.run(agent(["done"]), "go", checkpoint=at(store, "x" * 250))
    with pytest.raises(UserError, match=r"^the fork's id would have 257 characters, more than 255$") as long:
        await Runner.fork("x" * 250, from_step=0, checkpointer=store)
    assert long.value.hint == "give it a shorter one: --new-id ID"


async def test_h1_what_the_ring_has_dropped_cannot_be_forked(store: Any) -> None:
    for limit, kept in ((2, "steps 2 (saves 4, 5)"), (0, None)):
        bot = agent([calls("a"), "done"], FakeTool(), history_limit=limit)
        await Runner.run(bot, "go", checkpoint=at(store, f"r{limit}"))
        assert len(await store.history(f"r{limit}")) == limit
        with pytest.raises(CheckpointNotFoundError) as unknown:
            await Runner.fork(f"r{limit}", from_step=1, checkpointer=store)
        hint = "kept are steps 2 (saves 4 to 5)" if kept else "its agent has history_limit: 0"
        assert unknown.value.hint == hint


class Vanishing(InMemoryCheckpointer):
    """The run is deleted between two looks at it."""

    async def step_entries(self, run_id: str, save: int) -> tuple[int, list[Entry]] | None:
        await self.delete(run_id)
        return await super().step_entries(run_id, save)


async def test_h2_a_source_that_vanishes_is_no_empty_transcript() -> None:
    store = Vanishing()
    await Runner.run(agent([calls("a"), "done"], FakeTool()), "go", checkpoint=at(store, "r"))
    with pytest.raises(CheckpointNotFoundError, match="save 3 of run 'r' is not kept any longer"):
        await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(tool_results={"1.1": "x"}))


async def test_h1_a_store_without_history_cannot_fork() -> None:
    with pytest.raises(UserError, match="keeps no history to fork from"):
        await Runner.fork("r", from_step=1, checkpointer=Forgetful())


async def test_h3_a_fork_of_a_final_answer_completes_without_the_model(store: Any) -> None:
    asked = Requests()
    await Runner.run(agent(["done"], asked=asked), "go", checkpoint=at(store, "r"))
    fork = await Runner.fork("r", from_step=1, checkpointer=store)
    head = (await loaded(store, fork.run_id)).head
    assert (head.status, head.output, head.steps) == ("interrupted", None, 1)
    result = await Runner.resume(agent(["never"], asked=asked), fork.run_id, checkpointer=store)
    assert result is not None
    assert (result.output, result.finish_reason, len(asked.numbers)) == ("done", "stop", 1)
    more = await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(append_input="and?"))
    result = await Runner.resume(agent(["never", "more"]), more.run_id, checkpointer=store)
    assert result is not None
    assert transcript(result.entries) == ["user:go", "assistant:done", "user:and?", "assistant:more"]


async def test_h3_steps_and_usage_go_on_from_the_sources(store: Any) -> None:
    turns = [{**calls("a"), "usage": {"input_tokens": 5, "output_tokens": 1}}, calls("b"), "done"]
    await Runner.run(agent(turns, FakeTool()), "go", checkpoint=at(store, "r"))
    fork = await Runner.fork("r", from_step=1, checkpointer=store)
    head = (await loaded(store, fork.run_id)).head
    assert (head.steps, head.usage["input_tokens"], head.responses, head.tool_calls) == (1, 5, {"bot": 1}, 1)


async def test_h3_a_fork_in_a_session_sees_what_its_source_started_from(both: tuple[Any, Any]) -> None:
    store, session = both
    asked = Requests()
    place: dict[str, Any] = {"session": session, "session_id": "u1"}
    for number in (1, 2, 3):
        bot = agent([calls("a"), f"answer {number}"], FakeTool(), asked=asked)
        await Runner.run(bot, f"input {number}", checkpoint=at(store, f"r{number}"), **place)
    fork = await Runner.fork("r2", from_step=1, checkpointer=store, session=session)
    assert (fork.run_id, fork.session_id) == ("r2.fork-1", "r2.fork-1")
    assert [segment.run_id for segment in await session.segments("r2.fork-1")] == ["r1"]
    bot = agent(["never", "forked answer"], FakeTool(), asked=asked)
    await Runner.run(bot, "", checkpoint=at(store), session=session, session_id="r2.fork-1")
    assert asked.texts[-1][:5] == [
        "user:input 1",
        'call:1.1 {"x":"a"}',
        "ok:1.1 did a",
        "assistant:answer 1",
        "user:input 2",
    ]
    assert not any("input 3" in text for text in asked.texts[-1])
    assert [segment.run_id for segment in await session.segments("r2.fork-1")] == ["r1", "r2.fork-1"]
    assert [segment.run_id for segment in await session.segments("u1")] == ["r1", "r2", "r3"]
    first = await Runner.fork("r1", from_step=1, checkpointer=store, session=session)
    assert await session.segments(first.run_id) == []
    inner = await Runner.fork("r2.fork-1", from_step=2, checkpointer=store, session=session)
    assert [segment.run_id for segment in await session.segments(inner.run_id)] == ["r1"]
    with pytest.raises(UserError, match="run 'r2' belongs to session 'u1'"):
        await Runner.fork("r2", from_step=1, checkpointer=store)
    with pytest.raises(RunExistsError, match="session 'u1' exists already"):
        await Runner.fork("r2", from_step=1, checkpointer=store, session=session, new_id="u1")


class DiesBehindTheFork(InMemoryCheckpointer):
    """The process is gone when the fork is there and its session is not confirmed yet: it tidies nothing up."""

    dead = False

    async def fork(self, *given: Any) -> None:
        await super().fork(*given)
        self.dead = True
        raise Crash

    async def info(self, run_id: str) -> RunInfo | None:
        if self.dead:
            raise Crash
        return await super().info(run_id)


async def test_h3_a_fork_whose_session_a_crash_left_prepared_begins_with_it_all_the_same() -> None:
    session, store = InMemorySession(), DiesBehindTheFork()
    place: dict[str, Any] = {"session": session, "session_id": "u1"}
    for number in (1, 2):
        await Runner.run(agent(["hi"]), "go", checkpoint=at(store, f"r{number}"), **place)
    with pytest.raises(Crash):
        await Runner.fork("r2", from_step=0, checkpointer=store, session=session)
    store.dead = False
    assert await session.segments("r2.fork-1") == []
    await Runner.run(agent(["there"]), "other", checkpoint=at(store, "x"), session=session, session_id="r2.fork-1")
    assert [segment.run_id for segment in await session.segments("r2.fork-1")] == ["r1", "x"]


class StoppedAtTheCommit(InMemoryCheckpointer):
    """Ctrl-C comes, or the disk fails, just ``before`` the fork is there or just behind."""

    def __init__(self, error: type[BaseException], *, before: bool) -> None:
        super().__init__()
        self._error, self._before = error, before

    async def fork(self, *given: Any) -> None:
        if not self._before:
            await super().fork(*given)
        raise self._error("stopped")


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, StoreWriteError])
@pytest.mark.parametrize("before", [True, False])
def test_h3_a_fork_that_is_stopped_has_its_beginning_or_there_is_neither(
    error: type[BaseException], before: bool
) -> None:
    store, session = StoppedAtTheCommit(error, before=before), InMemorySession()

    async def go() -> tuple[list[str], list[str]]:
        for number in (1, 2):
            await Runner.run(agent(["hi"]), "go", checkpoint=at(store, f"r{number}"), session=session, session_id="u1")
        with pytest.raises(error):
            await Runner.fork("r2", from_step=0, checkpointer=store, session=session)
        await session.confirm_fork("r2.fork-1")
        segments = await session.segments("r2.fork-1")
        return sorted(run.run_id for run in await store.runs()), [segment.run_id for segment in segments]

    there = (["r1", "r2"], []) if before else (["r1", "r2", "r2.fork-1"], ["r1"])
    assert asyncio.run(go()) == there


async def test_c05_results_of_calls_with_one_id_are_never_mixed_up(store: Any) -> None:
    bot = agent([calls("r0"), calls("r1"), calls("r2"), "done"], FakeTool())
    await Runner.run(bot, "go", checkpoint=at(store, "r"))
    with pytest.raises(UserError, match=r"'call_0' names 2 calls: 1\.1 work \('call_0'\), 2\.1 work \('call_0'\)"):
        await Runner.fork("r", from_step=2, checkpointer=store, patch=Patch(tool_results={"call_0": "x"}))
    fork = await Runner.fork("r", from_step=2, checkpointer=store, patch=Patch(tool_results={"1.1": "other"}))
    result = await Runner.resume(bot, fork.run_id, checkpointer=store)
    assert result is not None
    results = [text for text in transcript(result.entries) if text.startswith("ok")]
    assert results == ["ok:1.1 other", "ok:2.1 did r1", "ok:3.1 did r2"]


async def test_c11_signed_thinking_is_the_same_in_a_fork(store: Any) -> None:
    thought = {"text": "plan é 🟢", "signature": "SIG==", "of_a_later_version": [1]}
    bot = agent([{"reasoning": thought, **calls("a", "b")}, "done"], FakeTool())
    await Runner.run(bot, "go", checkpoint=at(store, "r"))
    fork = await Runner.fork("r", from_step=1, checkpointer=store, patch=Patch(tool_results={"1.2": "other"}))
    snapshots = [await loaded(store, run_id) for run_id in ("r", fork.run_id)]
    blocks = [[entry_to_json(entry) for entry in one.entries if isinstance(entry, ReasoningEntry)] for one in snapshots]
    assert blocks[0] == blocks[1]
    assert json.dumps(blocks[1], ensure_ascii=False).count("SIG==") == 1


@pytest.mark.parametrize("new_id", ["", " ", "a\nb", "\x00", "x" * 256])
async def test_c23_what_is_no_id_is_no_name_of_a_fork(store: Any, new_id: str) -> None:
    await Runner.run(agent(["done"]), "go", checkpoint=at(store, "r"))
    with pytest.raises(UserError, match="the run id"):
        await Runner.fork("r", from_step=0, checkpointer=store, new_id=new_id)


async def test_c23_ids_that_look_like_paths_are_forks_like_any_other(store: Any) -> None:
    await Runner.run(agent(["done"]), "go", checkpoint=at(store, "../x"))
    ids = ["../../etc/x", "/etc/x", ".", "..", "-x", "con", "x.json", "X", "x"]
    for new_id in ids:
        await Runner.fork("../x", from_step=0, checkpointer=store, new_id=new_id)
    assert (await Runner.fork("../x", from_step=0, checkpointer=store)).run_id == "../x.fork-1"
    for new_id in ids:
        assert transcript((await loaded(store, new_id)).entries) == ["user:go"]


SHAPES = st.lists(st.integers(0, 3), min_size=1, max_size=5)


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(SHAPES, st.data())
def test_h4_a_fork_diverges_nowhere_and_a_patched_one_at_its_own_step(shape: list[int], data: st.DataObject) -> None:
    """``shape`` has the number of calls of each step before the last, which answers."""
    turns = [
        calls(*(f"{step}.{n}" for n in range(count))) if count else calls("one") for step, count in enumerate(shape)
    ]
    step = data.draw(st.integers(0, len(turns) + 1))
    patched = data.draw(st.integers(1, len(turns)))
    asyncio.run(_check_divergence([*turns, "done"], step, patched))


async def _check_divergence(turns: list[Any], step: int, patched: int) -> None:
    store, bot = InMemoryCheckpointer(), agent(turns, FakeTool())
    await Runner.run(bot, "go", checkpoint=at(store, "r"))
    source = await loaded(store, "r")
    plain = await Runner.fork("r", from_step=step, checkpointer=store)
    other = await Runner.fork(
        "r", from_step=patched, checkpointer=store, patch=Patch(tool_results={f"{patched}.1": "other"})
    )
    for fork, parted in ((plain, None), (other, patched)):
        await Runner.resume(bot, fork.run_id, checkpointer=store)
        forked = await loaded(store, fork.run_id)
        assert forked.status == "completed"
        assert compare_trajectories(source, forked).diverged_at == parted
        same = [entry for entry in source.entries if parted is None or entry.step < parted]
        assert forked.entries[: len(same)] == same
