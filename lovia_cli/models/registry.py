"""From the name before the colon to a model: the providers there are, and those that an agent file adds.

Nothing is loaded here but what is needed to name a model; an SDK is loaded when its model is first asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lovia_cli.models.spec import ModelFactory, ModelSpec

if TYPE_CHECKING:
    from lovia_cli.models.base import Model


@dataclass(slots=True, frozen=True, kw_only=True)
class ProviderSpec:
    """A provider by the wire it speaks (``type``) and where it is; a row of the agent file's ``providers:``.

    The options are those of `OpenAIWire`, `AnthropicWire` and `Endpoint`; what is None is as the wire has it.
    """

    type: Literal["openai", "anthropic"]
    base_url: str | None = None
    api_key_env: str | None = None
    stream: bool | None = None
    timeout: float | None = None
    read_timeout: float | None = None
    native_schema: bool | None = None
    finish_optional: bool | None = None
    stream_usage: bool | None = None
    replay_extra: bool | None = None
    prompt_cache: bool | None = None


PROVIDERS: Mapping[str, ProviderSpec] = {
    "openai": ProviderSpec(type="openai"),
    "anthropic": ProviderSpec(type="anthropic"),
    "ollama": ProviderSpec(type="openai", base_url="http://127.0.0.1:11434/v1"),
    "openrouter": ProviderSpec(
        type="openai", base_url="https://openrouter.ai/api/v1", api_key_env="OPENROUTER_API_KEY"
    ),
}
"""The providers that need no entry in the agent file."""


_OPTIONS = ("stream", "timeout", "read_timeout", "native_schema")
_OPENAI_OPTIONS = ("finish_optional", "stream_usage", "replay_extra")
_ANTHROPIC_OPTIONS = ("prompt_cache",)


def provider_factories(more: Mapping[str, ProviderSpec] | None = None) -> dict[str, ModelFactory]:
    """A factory for each provider by name; those in ``more`` come before ours of the same name."""
    return {name: _factory(name, provider) for name, provider in {**PROVIDERS, **(more or {})}.items()}


def _factory(name: str, provider: ProviderSpec) -> ModelFactory:
    def make(spec: ModelSpec, _folder: Path) -> Model:
        return make_model(name, provider, spec)

    return make


def make_model(name: str, provider: ProviderSpec, spec: ModelSpec) -> Model:
    """The model of ``spec`` at ``provider``, known as ``name``; the spec's own address and key come first.

    A key goes where it was named for: with an address of its own, the spec needs a key of its own.
    """
    own = _ANTHROPIC_OPTIONS if provider.type == "anthropic" else _OPENAI_OPTIONS
    given: dict[str, Any] = {
        option: value for option in (*_OPTIONS, *own) if (value := getattr(provider, option)) is not None
    }
    given["base_url"] = spec.base_url or provider.base_url
    elsewhere = given["base_url"] != provider.base_url
    given["api_key_env"] = spec.api_key_env or (None if elsewhere else provider.api_key_env)
    if provider.type == "anthropic":
        from lovia_cli.models.anthropic import AnthropicModel

        return AnthropicModel(spec.name, provider=name, **given)
    from lovia_cli.models.openai import OpenAIModel

    return OpenAIModel(spec.name, provider=name, **given)
