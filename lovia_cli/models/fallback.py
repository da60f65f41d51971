"""Several models as one: the next is asked only when the one before it failed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from lovia_cli.models.base import Delta, Model, ModelRequest
from lovia_cli.models.retry import RetryPolicy, with_retries


class FallbackModel:
    """Asks ``models`` in turn until one answers; which one did is in ``ModelResponse.model``.

    Its ``id`` is the first one's: that is the model the agent means. `with_retries` gives each model its own
    retries before it goes on to the next; asked directly, each is asked once.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ValueError("a fallback model needs at least one model")
        self.models = tuple(models)

    @property
    def id(self) -> str:
        return self.models[0].id

    def __repr__(self) -> str:
        return f"FallbackModel([{', '.join(model.id for model in self.models)}])"

    def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The first answer. Raises `ProviderError` when every model failed."""
        return with_retries(self, request, policy=RetryPolicy(retries=0))
