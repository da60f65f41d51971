"""Anthropic's models, and servers that speak its messages."""

from __future__ import annotations

from typing import Any, ClassVar

from lovia_cli.models.anthropic_wire import AnthropicWire
from lovia_cli.models.provider import READ_TIMEOUT, TIMEOUT, Endpoint, ProviderModel, key_variable
from stores.entries import JSON

API_KEY_ENV = "ANTHROPIC_API_KEY"


class AnthropicModel(ProviderModel):
    """The model ``name``. With a ``base_url`` it is asked there, and then a key is needed only when named.

    ``settings`` go into each request as they are, under those of the agent. Of the options, see `Endpoint` and
    `AnthropicWire`.
    """

    sdk: ClassVar[str] = "anthropic"

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        provider: str = "anthropic",
        settings: dict[str, JSON] | None = None,
        stream: bool = True,
        timeout: float = TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
        prompt_cache: bool = True,
        native_schema: bool = False,
    ) -> None:
        endpoint = Endpoint(
            provider=provider,
            base_url=base_url,
            api_key_env=key_variable(API_KEY_ENV, api_key_env, base_url=base_url),
            stream=stream,
            timeout=timeout,
            read_timeout=read_timeout,
        )
        wire = AnthropicWire(
            model=name,
            provider=provider,
            settings=settings or {},
            prompt_cache=prompt_cache,
            native_schema=native_schema,
            # The SDK's addresses end before the version; one that a user gives often ends after it.
            path="/messages" if base_url and base_url.rstrip("/").endswith("/v1") else "/v1/messages",
        )
        super().__init__(name, endpoint, wire, give_way=wire.give_way)

    def _make_client(self, sdk: Any, options: dict[str, Any]) -> Any:
        client = sdk.AsyncAnthropic(**options)
        if self.endpoint.base_url is not None:
            client._custom_headers = {}
        return client
