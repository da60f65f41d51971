"""A recorded run as a script: a scripted model that plays it says the same, word for word."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.agent import Agent
from lovia_cli.engine.patching import Patch
from lovia_cli.engine.runner import CheckpointOptions, Runner
from lovia_cli.engine.transfer import export_run
from lovia_cli.errors import AgentFileError, ConflictError
from lovia_cli.models.base import Delta, ModelRequest, ModelResponse
from lovia_cli.models.recorded import given_later, script_of
from lovia_cli.models.scripted import ScriptedModel
from stores.entries import AssistantTextEntry, Entry, InputEntry, ReasoningEntry, ToolCallEntry, ToolResultEntry
from stores.lines import SaveInfo
from stores.memory import InMemoryCheckpointer
from stores.records import RunHead, RunSnapshot, Usage
from tests.engine.kit import FakeTool

pytestmark = pytest.mark.anyio


class Real:
    """A model as a provider gives it: blocks of its own, in an order of its own."""

    id = "real:1"

    def __init__(self, *responses: ModelResponse) -> None:
        self._responses: Iterator[ModelResponse] = iter(responses)

    async def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        del request
        yield next(self._responses)


ODD = [
    ModelResponse(
        entries=[
            ReasoningEntry(text="Hm.", provider={"name": "real", "block": {"type": "thinking", "signature": "s1"}}),
            ReasoningEntry(text="", provider={"name": "real", "block": {"type": "hologram", "data": [1, {"a": None}]}}),
            AssistantTextEntry(text="Let me"),
            ToolCallEntry(
                id="c", name="work", arguments='{"x": "a"}', provider={"name": "real", "block": {"extra": 1}}
            ),
            AssistantTextEntry(text="look."),
            ToolCallEntry(id="c", name="work", arguments="{broken"),
        ],
        finish_reason="tool_use",
        usage=Usage(input_tokens=5, output_tokens=7, cache_read_tokens=1, requests=1),
    ),
    ModelResponse(
        entries=[
            ToolCallEntry(id="c", name="work", arguments='{"x":"é","n":1e5}'),
            ToolCallEntry(id="", name="no such", arguments=""),
        ],
        finish_reason="tool_calls",
    ),
    ModelResponse(entries=[], finish_reason="eos", usage=Usage(output_tokens=3, requests=1, unknown=1)),
]


async def played(model: Any, store: InMemoryCheckpointer) -> RunSnapshot:
    bot = Agent(name="bot", model=model, tools=[FakeTool()])
    await Runner.run(bot, "go", checkpoint=CheckpointOptions(store, "r1"))
    run = await store.load("r1")
    assert run is not None
    return run


async def test_what_a_provider_said_is_played_again_from_a_file(tmp_path: Path) -> None:
    """Unknown blocks, order, ids that repeat or are empty, broken arguments, an empty answer, usage, why it ended."""
    store, again = InMemoryCheckpointer(), InMemoryCheckpointer()
    run = await played(Real(*ODD), store)
    script = script_of(run, await store.history("r1"))
    (tmp_path / "s.json").write_text(json.dumps(script, indent=2))
    twin = await played(ScriptedModel.from_file(tmp_path / "s.json"), again)
    assert twin.entries == run.entries
    assert (twin.head.usage, twin.head.finish_reason) == (run.head.usage, "eos")
    finished = [
        [s.info["finish_reason"] for s in await st.history("r1") if s.event == "response"] for st in (store, again)
    ]
    assert finished == [["eos", "tool_calls", "tool_use"]] * 2
    assert script_of(twin, await again.history("r1")) == script


async def test_what_a_turn_has_words_for_reads_as_people_write_it() -> None:
    turns = [
        {
            "reasoning": {"text": "Hm.", "signature": "s"},
            "text": "Let me look.",
            "tool_calls": [
                {"id": "c", "name": "work", "arguments": {"x": "a"}},
                {"id": "c", "name": "work", "arguments": "{"},
            ],
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "finish_reason": "odd",
        },
        {"reasoning": "So.", "text": "Done."},
    ]
    store = InMemoryCheckpointer()
    run = await played(ScriptedModel(turns), store)
    assert script_of(run, await store.history("r1")) == {"turns": turns}


async def test_h2_a_fork_with_another_transcript_is_scripted_with_the_responses_that_it_has() -> None:
    """Not with those of its source, whose steps it counts on from; an answer it has kept keeps what is known of it."""
    store = InMemoryCheckpointer()
    call = {"id": "c", "name": "work", "arguments": {"x": "a"}}
    turn = {"tool_calls": [call], "usage": {"output_tokens": 2}, "finish_reason": "odd"}
    run = await played(ScriptedModel([turn, {"text": "old", "usage": {"output_tokens": 7}}]), store)
    for new_id, messages, before in (
        ("cut", [InputEntry(text="go")], []),
        ("new", [InputEntry(text="go"), AssistantTextEntry(text="hm"), InputEntry(text="so")], [{"text": "hm"}]),
        ("kept", [*run.entries[:3], InputEntry(text="so")], [turn]),
    ):
        step = 1 if new_id == "kept" else 2
        await Runner.fork("r1", from_step=step, new_id=new_id, patch=Patch(messages=messages), checkpointer=store)
        end = {"text": "end", "usage": {"output_tokens": 3}}
        bot = Agent(
            name="bot", model=ScriptedModel(["no", "no", end] if step == 2 else ["no", end]), tools=[FakeTool()]
        )
        await Runner.resume(bot, new_id, checkpointer=store)
        fork = await export_run(new_id, checkpointer=store)
        assert script_of(fork, await store.history(new_id)) == {"turns": [*before, end]}, new_id


def test_what_a_script_cannot_play_is_said() -> None:
    run = RunSnapshot(run_id="r1", head=RunHead(), entries=[InputEntry(text="go")])
    with pytest.raises(ConflictError):
        script_of(run)
    steered: list[Entry] = [
        InputEntry(text="go"),
        AssistantTextEntry(text="no", step=1),
        InputEntry(text="again", step=1, extra={"repair": True}),
        ToolCallEntry(id="c", name="x", step=2, position=1),
        ToolResultEntry(call_id="c", output="", step=2, position=1),
        InputEntry(text="more", step=2),
    ]
    run = RunSnapshot(run_id="r1", head=RunHead(steps=2), entries=steered)
    assert given_later(run) == [2]
    told = SaveInfo(number=2, step=1, at=0.0, status="running", event="response", entries=2, info={})
    assert script_of(run, [told])["turns"][0] == {"text": "no"}


def test_a_script_may_be_long_as_json_and_errors_have_their_place(tmp_path: Path) -> None:
    long = tmp_path / "long.json"
    long.write_text(json.dumps({"turns": [{"text": "x" * 300_000}]}))
    assert ScriptedModel.from_file(long).id == f"scripted:{long}"
    long.write_text(json.dumps({"turns": [{"txt": "x" * 300_000}]}))
    with pytest.raises(AgentFileError, match="txt"):
        ScriptedModel.from_file(long)
    for text, said in [
        ('{"turns": [\n  {"entries": [{"type": "input", "text": "x"}]}]}', "assistant_text"),
        ('{"turns": [\n  {"entries": [{"type": "tool_call", "id": 5, "name": "x"}]}]}', "wrong id"),
        ('{"turns": [\n  {"text": "x", "entries": [{"type": "assistant_text", "text": "x"}]}]}', "keep one"),
        ('{"turns": [\n  {"text": "x", "text": "y"}]}', "duplicate"),
    ]:
        short = tmp_path / "short.json"
        short.write_text(text)
        with pytest.raises(AgentFileError) as caught:
            ScriptedModel.from_file(short)
        assert said in f"{caught.value} {caught.value.hint}", caught.value
        assert str(caught.value.where).startswith(f"{short}:2:")
