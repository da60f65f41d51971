"""Errors of hooks, guardrails, models and tools with a text that no store holds as it is (D4)."""

import pytest

from lovia_cli.engine.runner import Runner, StopSwitch
from lovia_cli.errors import GuardrailTripped, ProviderError, SignalReceived
from lovia_cli.hooks import AgentHooks
from lovia_cli.tools.base import ToolError
from stores.file import FileStore
from tests.engine.kit import FakeTool, agent, at, calls, transcript

pytestmark = pytest.mark.anyio

TURNS = [calls("a"), "done"]
MOMENTS = ["on_start", "before_model", "after_model", "before_tool", "after_tool", "on_end"]


class Unsayable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class UnsayableValue(Unsayable, ValueError):
    pass


def raising(error):
    def act(*anything):
        raise error

    return act


async def stored(path, bot, **more):
    """How the run ended, as a store has it that holds clean text only."""
    store = FileStore(path).checkpointer
    outcome = await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), **more)
    run = await store.load("r1")
    assert outcome.error is None or run.head.error in (None, outcome.error.as_json())
    return run


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("bad \udce9"), "ValueError: bad \ufffd"),
        (Unsayable(), "Unsayable"),
        (SystemExit("\udce9"), "RuntimeError: SystemExit: \ufffd"),
    ],
)
@pytest.mark.parametrize("moment", [*MOMENTS, "guardrail act"])
async def test_d4_a_hook_fails_its_run_whatever_its_error_says(tmp_path, moment, error, said):
    hooks = type("Hooks", (AgentHooks,), {moment: raising(error)})()
    guardrails = [raising(error)] if moment == "guardrail act" else []
    run = await stored(tmp_path / "s", agent(TURNS, FakeTool(), hooks=hooks, output_guardrails=guardrails))
    assert (run.status, run.head.error["code"]) == ("failed", "hook")
    assert run.head.error["message"] == f"{moment}: {said}"


class Torn:
    """Neither true nor false, as arrays are."""

    def __bool__(self):
        raise ValueError("ambiguous")


@pytest.mark.parametrize(
    ("guardrail", "code", "message"),
    [
        (lambda output, context: "no \udce9", "guardrail", "output guardrail: no \ufffd"),
        (raising(GuardrailTripped(OSError("bad \udce9"))), "guardrail", "OSError: bad \ufffd"),
        (raising(GuardrailTripped(object())), "guardrail", "object"),
        (lambda output, context: Torn(), "hook", "guardrail <lambda>: ValueError: ambiguous"),
    ],
)
async def test_d4_what_a_guardrail_says_is_stored_clean(tmp_path, guardrail, code, message):
    run = await stored(tmp_path / "s", agent(["done"], output_guardrails=[guardrail]))
    assert (run.status, run.head.error["code"], run.head.error["message"]) == ("failed", code, message)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("\udce9"), "error", "ValueError: \ufffd"),
        (Unsayable(), "error", "Unsayable"),
        (ProviderError("\udce9", where="\udce8", hint="\ud800"), "provider", "\ufffd (\ufffd)"),
    ],
)
async def test_d4_what_a_model_raises_is_stored_clean(tmp_path, error, code, message):
    run = await stored(tmp_path / "s", agent(TURNS, asked=raising(error)))
    assert (run.status, run.head.error["code"], run.head.error["message"]) == ("failed", code, message)
    assert run.head.error["hint"] == ("\ufffd" if code == "provider" else None)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("\udce9"), "ValueError: \ufffd"),
        (Unsayable(), "Unsayable"),
        (ToolError("\udce9"), "\ufffd"),
        (ToolError(ValueError("no")), "ValueError: no"),
    ],
)
async def test_d4_what_a_tool_raises_is_its_result(tmp_path, error, said):
    run = await stored(tmp_path / "s", agent(TURNS, FakeTool(action=raising(error))))
    assert transcript(run.entries)[2:] == [f"error:1.1 {said}", "assistant:done"]


@pytest.mark.parametrize(("error", "said"), [(ValueError("\udce9"), "\ufffd"), (UnsayableValue(), "UnsayableValue")])
async def test_d4_what_an_output_is_refused_for_is_told_to_the_model_and_stored_clean(tmp_path, error, said):
    run = await stored(tmp_path / "s", agent(["a", "b"], parse_output=raising(error)))
    message = f"the answer is not the output asked for: {said}"
    assert transcript(run.entries)[2] == f"user:{message}\nAnswer again, with nothing but the output itself."
    assert (run.status, run.head.error["message"]) == ("failed", message)


async def test_d4_the_reason_of_a_stop_is_stored_clean(tmp_path):
    switch = StopSwitch()
    stopping = agent(TURNS, asked=lambda request: switch.stop(SignalReceived(15, "\udce9")))
    run = await stored(tmp_path / "s", stopping, stop=switch)
    assert (run.status, run.head.stop) == ("interrupted", {"reason": "signal", "signal": 15, "name": "\ufffd"})
