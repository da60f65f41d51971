"""The seam between the engine and a model: one method, a transcript in, a streamed turn out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from stores.entries import JSON, AssistantTextEntry, Entry, ReasoningEntry, ToolCallEntry
    from stores.records import Usage


@dataclass(slots=True, frozen=True, kw_only=True)
class ToolSpec:
    """What the model is told of a tool; ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, JSON]


@dataclass(slots=True, kw_only=True)
class ModelRequest:
    """One request. ``entries`` is the whole conversation and valid as it stands (Z4):

    results directly follow their calls in call order, every call has one, ``arguments`` of each call is
    the text of a JSON object, call ids are unique within the request. Models send it as it is; what
    belongs to another provider (``entry.provider["name"]``) they leave out.

    ``number`` counts this agent's responses in the run from 1; ``run_id`` and ``agent`` are for logs.
    """

    run_id: str
    agent: str
    number: int
    system: str | None
    entries: Sequence[Entry]
    tools: Sequence[ToolSpec] = ()
    settings: dict[str, JSON] = field(default_factory=dict)
    output_schema: dict[str, JSON] | None = None


@dataclass(slots=True, frozen=True)
class TextDelta:
    """A piece of the answer, for the eye; the whole text comes in the `ModelResponse`."""

    text: str


@dataclass(slots=True, frozen=True)
class ReasoningDelta:
    """A piece of the reasoning, for the eye."""

    text: str


def _unknown_usage() -> Usage:
    from stores.records import Usage

    return Usage(requests=1, unknown=1)


@dataclass(slots=True, kw_only=True)
class ModelResponse:
    """The whole turn, yielded last. Entries stand in the model's order, without step or position.

    ``finish_reason`` is one of ``stop``, ``tool_calls``, ``length``, or the provider's own word. ``model`` is the one
    that answered. A response that was cut off before its end, refused or filtered is no answer: the model raises
    `ProviderError` instead of yielding it, and one that says so by its ``finish_reason`` is not taken by the engine.
    """

    entries: list[AssistantTextEntry | ReasoningEntry | ToolCallEntry]
    finish_reason: str
    usage: Usage = field(default_factory=_unknown_usage)
    model: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


Delta = TextDelta | ReasoningDelta | ModelResponse


@runtime_checkable
class Model(Protocol):
    """A model. ``id`` is what the fingerprint and the listings show, such as ``openai:gpt-5``."""

    @property
    def id(self) -> str: ...

    def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Stream the next turn: deltas, then exactly one `ModelResponse` as the last item.

        Raises `lovia_cli.errors.ProviderError`. Closing the iterator abandons the request.
        """
        ...


@runtime_checkable
class Chain(Protocol):
    """A model that stands for several, each asked when the one before it failed (see `FallbackModel`)."""

    @property
    def models(self) -> Sequence[Model]: ...


def asked(model: Model) -> list[Model]:
    """Whom to ask for ``model``, in order: itself, or the models of a `Chain`, which may be chains as well."""
    return [one for part in model.models for one in asked(part)] if isinstance(model, Chain) else [model]
