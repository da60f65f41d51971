"""Whole runs on both wires: a kill in the middle, a resume, a second run, and every fault at every place."""

from __future__ import annotations

from typing import Any

import pytest

from lovia_cli.agent import Agent
from lovia_cli.engine.options import CheckpointOptions, RunResult
from lovia_cli.engine.runner import Runner
from lovia_cli.models.anthropic import AnthropicModel
from lovia_cli.models.base import Model
from lovia_cli.models.openai import OpenAIModel
from lovia_cli.models.provider import ProviderModel
from lovia_cli.tools.base import ToolContext
from stores.memory import InMemoryCheckpointer, InMemorySession
from tests.engine.kit import Crash, FakeTool
from tests.models.kit import StartFaulty, StartStrict
from tests.models.test_faults import FAULTS

pytestmark = pytest.mark.anyio

WIRES = [(kind, stream) for kind in (OpenAIModel, AnthropicModel) for stream in (True, False)]


class Desk:
    """One session and one store; each call is a new process as far as the model is concerned."""

    def __init__(self, tool: FakeTool) -> None:
        self.tool, self.runs, self.session = tool, InMemoryCheckpointer(), InMemorySession()

    async def run(self, model: Model, text: str, run_id: str) -> RunResult:
        agent = Agent(name="a", model=model, instructions="Be brief.", tools=[self.tool])
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
