"""Whole runs on both wires: a kill in the middle, a resume, a second run, and every fault at every place."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli.agent import Agent
from lovia_cli.agentfile.output import output_parser
from lovia_cli.engine.options import CheckpointOptions, RunResult
from lovia_cli.engine.runner import Runner
from lovia_cli.errors import ProviderError
from lovia_cli.models.anthropic import AnthropicModel
from lovia_cli.models.base import Model
from lovia_cli.models.fallback import FallbackModel
from lovia_cli.models.openai import OpenAIModel
from lovia_cli.models.provider import ProviderModel
from lovia_cli.models.scripted import ScriptedModel
from lovia_cli.tools.base import ToolContext
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, FakeTool
from tests.models.kit import StartFaulty, StartStrict
from tests.models.test_faults import FAULTS

pytestmark = pytest.mark.anyio

WIRES = [(kind, stream) for kind in (OpenAIModel, AnthropicModel) for stream in (True, False)]


class Desk:
    """One session and one store; each call is a new process as far as the model is concerned."""

    def __init__(self, tool: FakeTool, output_schema: dict[str, Any] | None = None) -> None:
        self.tool, self.runs, self.session = tool, InMemoryCheckpointer(), InMemorySession()
        self.schema = output_schema

    async def run(self, model: Model, text: str, run_id: str) -> RunResult:
        parse = output_parser(self.schema) if self.schema else None
        agent = Agent(
            name="a",
            model=model,
            instructions="Be brief.",
            tools=[self.tool],
            output_schema=self.schema,
            parse_output=parse,
        )
        options = CheckpointOptions(store=self.runs, run_id=run_id)
        return await Runner.outcome(agent, text, session=self.session, session_id="s", checkpoint=options)


@pytest.mark.parametrize(("kind", "stream"), WIRES)
async def test_c11_a_kill_between_two_calls_a_resume_and_a_second_run(
    strict: StartStrict, kind: type[ProviderModel], stream: bool
) -> None:
    crashes = [False, True]

    def work(arguments: dict[str, Any], context: ToolContext) -> str:
        if context.position == 2 and crashes.pop():
            raise Crash
        return "" if context.position == 1 else "done"

    two = [{"id": "same", "name": "work", "args": {"x": str(n)}} for n in (1, 2)]
    server = strict([
        {"thinking": {"text": "plan \u00e9 \U0001f7e2", "sig": "SIG=="}, "text": " \n", "calls": two, "usage": None},
        {"text": "first"},
        {"text": None, "calls": [{"id": "same", "name": "work", "args": ""}]},
        {"text": "second"},
    ])  # fmt: skip
    desk = Desk(FakeTool(action=work))

    def model() -> Model:
        return kind("m", base_url=server.url, stream=stream)  # type: ignore[call-arg]  # built by its subclasses

    with pytest.raises(Crash):
        await desk.run(model(), "go", "r1")
    result = await desk.run(model(), "go", "r1")
    assert (result.output, result.steps, desk.tool.ran["1"], desk.tool.ran["2"]) == ("first", 2, 1, 2)
    assert result.usage.unknown == 1
    assert (await desk.run(model(), "more", "r2")).output == "second"
    assert len(server.requests()) == 4


@pytest.mark.parametrize(("kind", "stream"), WIRES)
async def test_a_cut_or_refused_answer_is_none_and_the_run_goes_on_from_before_it(
    strict: StartStrict, kind: type[ProviderModel], stream: bool
) -> None:
    cut, refused = ("length", "content_filter") if kind is OpenAIModel else ("max_tokens", "refusal")
    server = strict([
        {"text": "12", "finish": cut}, {"text": "I would rather not.", "finish": refused}, {"text": "1234"}
    ])  # fmt: skip
    desk = Desk(FakeTool(), output_schema={"type": "integer"})
    model = kind("m", base_url=server.url, stream=stream)  # type: ignore[call-arg]  # built by its subclasses
    for said in ("answered 200, but the answer was cut at the limit of tokens", f"({refused}): I would rather not."):
        result = await desk.run(model, "go", "r1")
        assert (result.status, result.steps, result.output, len(result.entries)) == ("failed", 0, None, 1)
        assert isinstance(result.error, ProviderError)
        assert said in result.error.message
        assert not result.error.retryable
    assert (await desk.run(model, "go", "r1")).output == 1234
    assert len(server.requests()) == 3


@pytest.mark.parametrize(
    ("finish", "said"), [("length", "cut at the limit of tokens"), ("refusal", "refused to answer (refusal): No")]
)
async def test_every_other_model_is_held_to_it_too_and_its_fallback_asked(finish: str, said: str) -> None:
    first = ScriptedModel([{"text": "No", "finish_reason": finish}], id="first")
    result = await Desk(FakeTool()).run(first, "go", "r1")
    assert (result.status, result.steps) == ("failed", 0)
    assert result.error is not None
    assert said in result.error.message
    both = FallbackModel([first, ScriptedModel(["yes"], id="second")])
    assert (await Desk(FakeTool()).run(both, "go", "r1")).output == "yes"


PLACES = ("{fault},{call},{call},ok:done", "{call},{fault},{call},ok:done", "{call},{call},{fault},ok:done")


@pytest.mark.parametrize("fault", [fault[0] for fault in FAULTS] + ["429date", "401", "dup", "huge:70"])
async def test_a_run_gets_over_each_fault_or_stays_resumable(faulty: StartFaulty, fault: str) -> None:
    call = "tool:work:{}"
    server = faulty(",".join(place.format(fault=fault, call=call) for place in PLACES) + ",ok:done")
    read_timeout = 0.3 if "hang" in fault else 60.0
    stream = fault not in {"slow:1", "rstmid", "half:5", "trunc", "badjson"}
    model = OpenAIModel(
        "m", base_url=server.url, stream=stream, timeout=1.0 if fault == "slow:1" else 60.0, read_timeout=read_timeout
    )
    desk = Desk(FakeTool())
    for run_id in ("first", "middle", "last"):
        result = await desk.run(model, "go", run_id)
        if result.error is not None:
            assert result.status in {"interrupted", "failed"}
            result = await desk.run(model, "go", run_id)
        assert (result.status, result.steps) == ("completed", 4 if fault == "dup" else 3)
        assert isinstance(result.output, str)
        assert result.output.startswith("answer" if stream else "done")  # a stream's text is the server's own
