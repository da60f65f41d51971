"""What an agent and its limits may be."""

import re
from dataclasses import replace

import pytest

from lovia_cli.agent import Limits
from lovia_cli.engine.runner import Runner
from lovia_cli.errors import UserError
from stores.memory import InMemoryCheckpointer
from tests.engine.kit import FakeTool, agent, at, calls

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_steps": float("nan")}, "max_steps must be a whole number from 0, not nan"),
        ({"max_steps": "3"}, "max_steps must be a whole number from 0, not '3'"),
        ({"max_tool_calls": True}, "max_tool_calls must be a whole number from 0, not True"),
        ({"max_cost_usd": float("inf")}, "max_cost_usd must be a number from 0, not inf"),
        ({"max_seconds": -1}, "max_seconds must be a number from 0, not -1"),
    ],
)
async def test_z1_what_nothing_can_be_held_to_is_no_limit(limits, message):
    store = InMemoryCheckpointer()
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        Limits(**limits)
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        await Runner.run(agent(["done"]), "go", checkpoint=at(store, "r1"), limits=limits)
    assert await store.load("r1") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": " "}, "an agent needs a name"),
        ({"model": None}, "agent 'bot' has no model: None"),
        ({"tools": [len]}, "<built-in function len> is no tool of agent 'bot'"),
        ({"tools": [FakeTool(), FakeTool()]}, "agent 'bot' has two tools named 'work'"),
        ({"on_drift": "eror"}, "on_drift is warn, error or ignore, not 'eror'"),
        ({"history_limit": -3}, "history_limit must be a whole number from 0, not -3"),
        ({"tool_concurrency": 0}, "tool_concurrency must be a whole number from 1, not 0"),
    ],
)
async def test_what_is_no_agent_is_refused_at_once(changes, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        replace(agent(["done"]), **changes)


@pytest.mark.parametrize("seconds", ["5", float("nan"), -1])
async def test_z9_what_is_no_timeout_is_refused_and_nothing_is_stored(seconds):
    store = InMemoryCheckpointer()
    with pytest.raises(UserError, match=f"^timeout must be a number from 0, not {seconds!r}$"):
        await Runner.run(agent(["done"]), "go", checkpoint=at(store, "r1"), timeout=seconds)
    assert await store.load("r1") is None


SHAPE = "an input's parts are no list of objects: "


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ("abc", SHAPE),
        (["abc"], SHAPE),
        ({"type": "file"}, SHAPE),
        (
            [{"media_type": "image/tiff", "name": "a\udce9", "data": "SUkq"}],
            "the attachment 'a\ufffd' is image/tiff, which",
        ),
        ([{"media_type": "image/png", "data": b"\x89PNG"}], "the attachment 'attachment' is not stored as base64"),
    ],
)
async def test_attachments_that_cannot_be_sent_are_refused_and_nothing_is_stored(parts, said):
    store = InMemoryCheckpointer()
    message = {"role": "user", "content": "look", "parts": parts}
    with pytest.raises(UserError, match=f"^{said}"):
        await Runner.run(agent(["done"]), [message], checkpoint=at(store, "r1"))
    assert await store.load("r1") is None


async def test_z1_limits_are_given_by_name_or_as_they_are_made():
    result = await Runner.outcome(agent([calls("a")], FakeTool(), loop=True), "go", limits=Limits(max_tool_calls=2))
    assert result.stop == {"reason": "limit", "limit": "max_tool_calls", "value": 2, "used": 2}
    bot = agent([calls("a")], FakeTool(), loop=True, limits=Limits(max_steps=3))
    assert (await Runner.outcome(bot, "go", limits=Limits(max_tool_calls=9))).steps == 3, "the agent's own still hold"
    with pytest.raises(UserError, match=r"^limits are no int$"):
        await Runner.run(bot, "go", limits=5)
