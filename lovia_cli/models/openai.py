"""OpenAI, and every server that speaks its chat completions: Ollama, vLLM, llama.cpp, OpenRouter."""

from __future__ import annotations

from typing import Any, ClassVar

from lovia_cli.models.openai_wire import OpenAIWire
from lovia_cli.models.provider import READ_TIMEOUT, TIMEOUT, Endpoint, ProviderModel, key_variable
from stores.entries import JSON

API_KEY_ENV = "OPENAI_API_KEY"


class OpenAIModel(ProviderModel):
    """The chat model ``name``. With a ``base_url`` it is asked there, and then a key is needed only when named.

    ``settings`` go into each request as they are, under those of the agent. Of the options, see `Endpoint` and
    `OpenAIWire`.
    """

    sdk: ClassVar[str] = "openai"

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        provider: str = "openai",
        settings: dict[str, JSON] | None = None,
        stream: bool = True,
        timeout: float = TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
        finish_optional: bool = False,
        native_schema: bool = True,
        stream_usage: bool = True,
        replay_extra: bool = True,
    ) -> None:
        endpoint = Endpoint(
            provider=provider,
            base_url=base_url,
            api_key_env=key_variable(API_KEY_ENV, api_key_env, base_url=base_url),
            stream=stream,
            timeout=timeout,
            read_timeout=read_timeout,
        )
        wire = OpenAIWire(
            model=name,
            provider=provider,
            settings=settings or {},
            finish_optional=finish_optional,
            # OpenAI's newer models know only the new name, most other servers only the old one.
            max_tokens_field="max_completion_tokens" if base_url is None else "max_tokens",
            native_schema=native_schema,
            stream_usage=stream_usage,
            replay_extra=replay_extra,
        )
        super().__init__(name, endpoint, wire)

    def _make_client(self, sdk: Any, options: dict[str, Any]) -> Any:
        client = sdk.AsyncOpenAI(**options)
        if self.endpoint.base_url is not None:
            client.organization = client.project = None
            client._custom_headers = {}
        return client
