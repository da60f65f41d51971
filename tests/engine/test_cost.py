"""What a run costs, and the limit on it."""

import pytest

from lovia_cli.engine.runner import Runner
from lovia_cli.errors import UserError
from lovia_cli.models.fallback import FallbackModel
from lovia_cli.models.prices import cost_usd
from lovia_cli.models.scripted import ScriptedModel
from stores.memory import InMemoryCheckpointer
from stores.records import Usage
from tests.engine.kit import Events, FakeTool, agent, at, calls

pytestmark = pytest.mark.anyio

PRICED = "anthropic:claude-opus-5"
COUNTS = {"input_tokens": 1000, "output_tokens": 100}
TURNS = [{**calls("a"), "usage": COUNTS}, {"text": "done", "usage": COUNTS}]
ONE = cost_usd(PRICED, Usage(input_tokens=1000, output_tokens=100, requests=1))


def priced(turns, *tools):
    bot = agent(turns, *tools)
    bot.model = ScriptedModel(turns, id=PRICED)
    return bot


async def test_the_cost_of_each_response_is_saved_and_summed():
    store, events = InMemoryCheckpointer(), Events()
    result = await Runner.run(priced(TURNS, FakeTool()), "go", checkpoint=at(store, "r1"), on_event=events)
    assert pytest.approx(0.0075) == ONE
    assert result.cost_usd == pytest.approx(2 * ONE)
    assert [data["cost_usd"] for data in events.of("model.finished")] == [ONE, ONE]
    assert [save.info.get("cost_usd") for save in reversed(await store.history("r1"))] == [None, ONE, None, ONE, None]


async def test_c13_a_cost_that_is_not_wholly_known_is_unknown():
    turns = [{**calls("a"), "usage": COUNTS}, "done"]
    result = await Runner.run(priced(turns, FakeTool()), "go")
    assert result.cost_usd is None
    assert result.snapshot is not None
    assert (result.snapshot.head.cost_usd, result.snapshot.head.cost_unknown) == (ONE, 1)


async def test_max_cost_usd_stops_before_the_call_that_would_go_on_spending():
    store = InMemoryCheckpointer()
    limits = {"max_cost_usd": 0.005}
    result = await Runner.outcome(priced(TURNS, FakeTool()), "go", checkpoint=at(store, "r1"), limits=limits)
    assert result.stop == {"reason": "limit", "limit": "max_cost_usd", "value": 0.005, "used": ONE}
    again = await Runner.run(priced(TURNS, FakeTool()), "go", checkpoint=at(store, "r1"), limits={"max_cost_usd": 1})
    assert again.cost_usd == pytest.approx(2 * ONE)


CHAIN = FallbackModel([ScriptedModel(TURNS, id=PRICED), ScriptedModel(TURNS)])


@pytest.mark.parametrize("unpriced", [ScriptedModel(TURNS), CHAIN, FallbackModel([CHAIN])])
async def test_a_cost_limit_with_an_unknown_price_is_refused_before_the_first_call(unpriced):
    store, bot = InMemoryCheckpointer(), agent(TURNS, FakeTool())
    bot.model = unpriced
    with pytest.raises(UserError, match="the price of scripted is not known"):
        await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), limits={"max_cost_usd": 1})
    assert await store.runs() == []


async def test_a_cost_limit_that_cannot_be_kept_leaves_a_stored_run_as_it_was():
    store = InMemoryCheckpointer()
    bot = agent(TURNS, FakeTool())
    await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), limits={"max_steps": 1})
    before = await store.history("r1")
    with pytest.raises(UserError, match="is not known"):
        await Runner.outcome(bot, "go", checkpoint=at(store, "r1"), limits={"max_cost_usd": 1})
    assert await store.history("r1") == before
