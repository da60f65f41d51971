"""A model behind a vendor's SDK: a `Wire` says what is sent and read, an `Exchange` sends it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lovia_cli.errors import CredentialsError, ProviderError
from lovia_cli.models.base import Delta, ModelRequest
from lovia_cli.models.client import load_sdk, loop_client
from lovia_cli.models.wire import BadAnswer, ErrorBody, Wire
from lovia_cli.tools.arguments import clean_json

if TYPE_CHECKING:
    from lovia_cli.models.exchange import Exchange

CONNECT_TIMEOUT = 20.0
TIMEOUT, READ_TIMEOUT = 1200.0, 300.0
"""Seconds for a whole request, and for each wait for its next bytes, where nobody says otherwise."""

GiveWay = Callable[[ProviderError, dict[str, Any]], bool]
"""Told that a body was refused; True when the next body will leave out what the provider would not have."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Endpoint:
    """Where a model is asked, and how long for.

    ``api_key_env`` names the variable that holds the key; it is read when the model is first asked. ``timeout`` bounds
    a whole request, ``read_timeout`` each wait for the next bytes; both in seconds.
    """

    provider: str
    base_url: str | None = None
    api_key_env: str | None = None
    stream: bool = True
    timeout: float = TIMEOUT
    read_timeout: float = READ_TIMEOUT

    @property
    def key_needed(self) -> bool:
        """False where a server may do without a key: none was named for it."""
        return self.api_key_env is not None

    def key(self) -> str:
        """The key, or an empty text where there is none and none is needed. Raises `CredentialsError`."""
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        if not key and self.key_needed:
            raise CredentialsError(
                f"no key for {self.provider}: the environment variable {self.api_key_env} is not set",
                hint=f"export {self.api_key_env}=..., or name another variable as api_key_env",
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise CredentialsError(
                f"the key for {self.provider} in {self.api_key_env} is no key: it holds a character that none has",
                hint=f"set {self.api_key_env} again, to the key alone",
            )
        return key

    @property
    def label(self) -> str:
        """The provider as messages name it: with its address, where it is not the usual one."""
        return f"{self.provider} ({self.base_url})" if self.base_url else self.provider


def key_variable(vendors: str, named: str | None, *, base_url: str | None) -> str | None:
    """The variable with the key: the one that was named, else the vendor's at the vendor's own address.

    A server elsewhere, whatever its name, does not get the vendor's key.
    """
    return named or (vendors if base_url is None else None)


class ProviderModel(ABC):
    """The base of the models behind an SDK. The SDK is loaded, and the key read, when the model is first asked."""

    sdk: ClassVar[str]
    """The SDK's module, and the extra that installs it."""

    def __init__(self, name: str, endpoint: Endpoint, wire: Wire, *, give_way: GiveWay | None = None) -> None:
        self.name, self.endpoint = name, endpoint
        self._wire, self._give_way = wire, give_way

    @property
    def id(self) -> str:
        return f"{self.endpoint.provider}:{self.name}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def check(self) -> None:
        """Raise what would keep it from being asked at all: no key, no SDK. Asks nobody."""
        self.endpoint.key()
        await load_sdk(self.sdk, self.sdk)

    async def respond(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Stream the next turn. Raises `ProviderError` for all that is no complete answer."""
        exchange = await self._exchange()
        body = self._body(request, exchange)
        try:
            async for delta in self._answer(exchange, body):
                yield delta
            return
        except ProviderError as error:
            if self._give_way is None or not self._give_way(error, body):
                raise
        async for delta in self._answer(exchange, self._body(request, exchange)):
            yield delta

    def _body(self, request: ModelRequest, exchange: Exchange) -> dict[str, Any]:
        try:
            body: dict[str, Any] = clean_json(self._wire.body(request, stream=self.endpoint.stream))
        except BadAnswer as error:
            raise exchange.error(error) from None
        return body

    async def _answer(self, exchange: Exchange, body: dict[str, Any]) -> AsyncIterator[Delta]:
        reader = self._wire.reader()
        try:
            async with aclosing(exchange.events(self._wire.path, body)) as events:
                async for event in events:
                    for delta in reader.feed(event):
                        yield delta
            yield reader.response()
        except (BadAnswer, ErrorBody) as error:
            raise exchange.error(error) from None

    async def _exchange(self) -> Exchange:
        from lovia_cli.models.exchange import Exchange
        from lovia_cli.models.faults import Faults

        endpoint = self.endpoint
        key = endpoint.key()
        sdk = await load_sdk(self.sdk, self.sdk)
        # The connections are what costs, and are shared by all models that send this key to this address.
        http_client = await loop_client((self.sdk, endpoint.base_url, key), sdk.DefaultAsyncHttpxClient)
        client = self._make_client(sdk, {**self._client_options(key), "http_client": http_client})
        faults = Faults(label=endpoint.label, key_env=endpoint.api_key_env if key else None, secret=key)
        return Exchange(
            sdk, client, faults, timeout=endpoint.timeout, read_timeout=endpoint.read_timeout, keyless=not key
        )

    @abstractmethod
    def _make_client(self, sdk: Any, options: dict[str, Any]) -> Any:
        """The SDK's async client with these options.

        What the SDK finds in the environment for its vendor (account, further headers, which may hold a key) stays
        with the vendor: a client with a ``base_url`` has none of it. The SDKs have no option for that.
        """

    def _client_options(self, key: str) -> dict[str, Any]:
        """What the clients of both SDKs take. Their own retries are off: those end where a stream begins."""
        import httpx2

        endpoint = self.endpoint
        return {
            "api_key": key or "none",
            "base_url": endpoint.base_url,
            "max_retries": 0,
            "timeout": httpx2.Timeout(endpoint.read_timeout, connect=min(CONNECT_TIMEOUT, endpoint.read_timeout)),
        }
