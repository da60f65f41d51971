"""What models cost: the providers' list prices, as they stood on `PRICES_OF`.

A price is what the provider publishes for its own address at its standard tier. Discounts, other tiers and
resellers are not known here; a model that is not listed has no price, which is not the same as costing nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lovia_cli.errors import UserError
from lovia_cli.models.base import Model, asked
from stores.records import Usage

PRICES_OF = "2026-11-06"

_MILLION = 1_000_000
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


@dataclass(slots=True, frozen=True)
class Price:
    """US dollars for a million tokens.

    Cached input that is read or written has its own price; None is that of other input. A request with more
    than ``long_over`` input tokens costs ``long_input`` times as much for input, ``long_output`` for output.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    long_over: int | None = None
    long_input: float = 1.0
    long_output: float = 1.0

    def of(self, usage: Usage) -> float | None:
        """What one request with ``usage`` costs; None when its tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        read, write = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        fresh = max(0, usage.input_tokens - read - write)
        read_price = self.input if self.cache_read is None else self.cache_read
        write_price = self.input if self.cache_write is None else self.cache_write
        taken = fresh * self.input + read * read_price + write * write_price
        given = usage.output_tokens * self.output
        if self.long_over is not None and usage.input_tokens > self.long_over:
            taken, given = taken * self.long_input, given * self.long_output
        return (taken + given) / _MILLION


def cost_usd(model: str, usage: Usage, prices: Mapping[str, Price] | None = None) -> float | None:
    """What one request to ``model`` (``provider:name``) costs, or None when that is not known.

    ``prices`` come before the list; of neither, a dated name has the price of the name without the date.
    """
    price = price_of(model, prices)
    return None if price is None else price.of(usage)


def price_of(model: str, prices: Mapping[str, Price] | None = None) -> Price | None:
    """The price of ``model``, or None when it is not known: then a cost limit cannot be kept."""
    for table in (prices or {}, PRICES):
        price = table.get(model) or table.get(_SNAPSHOT.sub("", model))
        if price is not None:
            return price
    return None


def unpriced(model: Model) -> list[UserError]:
    """What forbids a cost limit, which could not be kept: each model to be asked whose price is not known."""
    hint = "limit tokens instead: max_total_tokens; or take a model with a listed price"
    ids = dict.fromkeys(one.id for one in asked(model) if price_of(one.id) is None)
    return [UserError(f"max_cost_usd is set, and the price of {id} is not known", hint=hint) for id in ids]


def _tiered(input: float, output: float, cache_read: float, cache_write: float | None = None) -> Price:
    """The models whose long requests cost more."""
    return Price(input, output, cache_read, cache_write, long_over=272_000, long_input=2.0, long_output=1.5)


PRICES: Mapping[str, Price] = {
    "anthropic:claude-fable-5-1": Price(10, 50, 0.25, 12.5),
    "anthropic:claude-fable-5": Price(10, 50, 1, 12.5),
    "anthropic:claude-opus-5-5": Price(4, 20, 0.2, 5),
    "anthropic:claude-opus-5": Price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-8": Price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-7": Price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-6": Price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-5": Price(5, 25, 0.5, 6.25),
    "anthropic:claude-sonnet-5-5": Price(2, 10, 0.1, 2.5),
    "anthropic:claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "anthropic:claude-sonnet-4-6": Price(3, 15, 0.3, 3.75),
    "anthropic:claude-sonnet-4-5": Price(3, 15, 0.3, 3.75),
    "anthropic:claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, long_over=100_000, long_input=5.0, long_output=5.0),
    "anthropic:claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
    "openai:gpt-6.1-sol": _tiered(2, 10, 0.1, 2.5),
    "openai:gpt-6-astra": _tiered(10, 50, 1),
    "openai:gpt-6-sol": _tiered(2, 10, 0.2, 2.5),
    "openai:gpt-6-luna": _tiered(0.1, 0.5, 0.01, 0.125),
    "openai:gpt-5.6-sol": _tiered(5, 30, 0.5, 6.25),
    "openai:gpt-5.6-terra": _tiered(2, 12, 0.2, 2.5),
    "openai:gpt-5.6-luna": _tiered(0.2, 1.2, 0.02, 0.25),
    "openai:gpt-5.5": _tiered(5, 30, 0.5),
    "openai:gpt-5.4": _tiered(2.5, 15, 0.25),
    "openai:gpt-5.4-mini": Price(0.75, 4.5, 0.075),
    "openai:gpt-5.4-nano": Price(0.2, 1.25, 0.02),
    "openai:gpt-5.2": Price(1.75, 14, 0.175),
    "openai:gpt-5.1": Price(1.25, 10, 0.125),
    "openai:gpt-5": Price(1.25, 10, 0.125),
    "openai:gpt-5-mini": Price(0.25, 2, 0.025),
    "openai:gpt-5-nano": Price(0.05, 0.4, 0.005),
    "openai:gpt-4.1": Price(2, 8, 0.5),
    "openai:gpt-4.1-mini": Price(0.4, 1.6, 0.1),
    "openai:gpt-4.1-nano": Price(0.1, 0.4, 0.025),
    "openai:gpt-4o": Price(2.5, 10, 1.25),
    "openai:gpt-4o-mini": Price(0.15, 0.6, 0.075),
    "openai:o3": Price(2, 8, 0.5),
    "openai:o4-mini": Price(1.1, 4.4, 0.275),
}
