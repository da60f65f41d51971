"""`cost_usd`: exact where the price and the tokens are known, None where either is not."""

import pytest

from lovia_cli.models.prices import PRICES, Price, cost_usd, price_of
from stores.records import Usage


def used(given: int | None, taken: int | None, read: int | None = None, write: int | None = None) -> Usage:
    return Usage(input_tokens=given, output_tokens=taken, cache_read_tokens=read, cache_write_tokens=write)


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("openai:gpt-5", used(1_000_000, 0), 1.25),
        ("openai:gpt-5", used(0, 1_000_000), 10.0),
        ("openai:gpt-5-2025-08-07", used(1_000_000, 0), 1.25),
        ("anthropic:claude-haiku-4-5-20251001", used(1_000_000, 1_000_000), 6.0),
        ("anthropic:claude-sonnet-4-5", used(1_000_000, 0, 500_000, 100_000), 1.2 + 0.15 + 0.375),
        ("openai:gpt-5.4", used(272_000, 0), 0.68),
        ("openai:gpt-5.4", used(400_000, 100_000), 2.0 + 2.25),
        ("openai:gpt-6-astra", used(100_000, 0, 0, 100_000), 1.0),
    ],
)
def test_the_cost_is_that_of_the_list(model: str, usage: Usage, cost: float) -> None:
    assert cost_usd(model, usage) == pytest.approx(cost)


@pytest.mark.parametrize("usage", [used(None, 5), used(5, None), Usage(requests=1, unknown=1)])
def test_c13_unknown_tokens_have_an_unknown_cost(usage: Usage) -> None:
    assert cost_usd("openai:gpt-5", usage) is None


@pytest.mark.parametrize("model", ["local:qwen3", "openai:gpt-5-turbo", "anthropic:gpt-5", "gpt-5", ""])
def test_a_model_that_is_not_listed_has_no_price(model: str) -> None:
    assert price_of(model) is None
    assert cost_usd(model, used(1, 1)) is None


def test_prices_that_are_given_come_first() -> None:
    mine = {"local:qwen3": Price(0, 0), "openai:gpt-5": Price(1, 1)}
    assert cost_usd("local:qwen3", used(9, 9), mine) == 0.0
    assert cost_usd("openai:gpt-5", used(1_000_000, 0), mine) == 1.0


def test_every_price_of_the_list_is_sane() -> None:
    for price in PRICES.values():
        assert 0 < price.input < price.output
        assert price.cache_read is not None
        assert price.cache_read < price.input
        assert price.cache_write is None or price.cache_write >= price.input
