"""One request to a provider and its answer, as JSON values, through the vendor's SDK.

The SDK brings authentication, connections and server-sent events. Its types are not used, since they drop what
they do not know, and redirects are not followed, since the key would go with them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from typing import Any, TypeVar

from lovia_cli.errors import ProviderError
from lovia_cli.models.faults import Faults
from lovia_cli.models.wire import BadAnswer, ErrorBody

MAX_BODY = 64 * 1024 * 1024
"""The largest answer that is read when it is not streamed, in bytes."""

MAX_STREAM = 4 * MAX_BODY
"""The same of a stream, in which a word of the answer is wrapped in some hundred bytes."""

T = TypeVar("T")
_END: Any = object()


class Exchange:
    """Sends one body and yields what comes; `error` says what went wrong.

    ``timeout`` bounds all of it, from the first byte sent to the last received; ``read_timeout`` is the client's
    own, and named in messages only. Both are in seconds. ``status`` is the answer's, once it has begun.
    """

    def __init__(
        self, sdk: Any, client: Any, faults: Faults, *, timeout: float, read_timeout: float, keyless: bool = False
    ) -> None:
        self._sdk, self._client, self._faults = sdk, client, faults
        # Without a key no credentials go out at all, not even others that the SDK would find by itself.
        self._options: dict[str, Any] = {"follow_redirects": False}
        if keyless:
            self._options["headers"] = {"Authorization": sdk.Omit()}
        self._timeout, self._read_timeout = timeout, read_timeout
        self._end = asyncio.get_running_loop().time() + timeout
        self.status: int | None = None

    async def events(self, path: str, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The events of a stream, or one whole answer: a server that was asked for a stream may send either.

        Raises `ProviderError`, and `BadAnswer` for what is no answer at all.
        """
        response = await self._in_time(self._post(path, body))
        self.status = response.status_code
        streamed = "text/event-stream" in response.headers.get("content-type", "")
        pieces = response.aiter_bytes  # which the SDK reads a stream by, too
        response.aiter_bytes = lambda: _capped(pieces(), MAX_STREAM if streamed else MAX_BODY)
        try:
            if not streamed:
                yield await self._in_time(_whole_body(response))
                return
            stream = aiter(self._sdk.AsyncStream(cast_to=object, response=response, client=self._client))
            while (event := await self._in_time(anext(stream, _END))) is not _END:
                yield event
        finally:
            await response.aclose()

    def error(self, error: BadAnswer | ErrorBody) -> ProviderError:
        """The error of an answer that cannot be taken for one, or of a request that cannot be made."""
        if self.status is None and isinstance(error, BadAnswer):
            return ProviderError(error.message, hint=error.hint)
        return self._faults.bad_answer(error, self.status or 200)

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        import httpx2

        return await self._client.post(
            path,
            cast_to=httpx2.Response,
            body=body,
            options=self._options,
            stream=True,
            stream_cls=self._sdk.AsyncStream[object],
        )

    async def _in_time(self, step: Awaitable[T]) -> T:
        """Await ``step``, but not past the end; whatever the SDK raises becomes a `ProviderError`.

        It is not chained: an SDK's message repeats what the server said, and that may be the key.
        """
        import httpx2

        try:
            async with asyncio.timeout_at(self._end):
                return await step
        except (self._sdk.APIError, httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            raise self._converted(error) from None

    def _converted(self, error: BaseException) -> ProviderError:
        import httpx2

        sdk, faults, status = self._sdk, self._faults, self.status
        if isinstance(error, TimeoutError):
            return faults.overdue(self._timeout, "did not finish its answer", status)
        if isinstance(error, sdk.APITimeoutError | httpx2.TimeoutException):
            return faults.overdue(self._read_timeout, "sent nothing", status)
        if isinstance(error, sdk.APIStatusError) and error.status_code != 200:
            return faults.status(error.status_code, error.response.headers, error.body)
        if isinstance(error, sdk.APIConnectionError | httpx2.HTTPError):
            return faults.connection(error, status)
        if isinstance(error, sdk.APIError):
            return faults.body(error.body)
        if status is None:
            return ProviderError(f"the request to {faults.label} cannot be written as JSON: {error}")
        return faults.bad_answer(BadAnswer("its answer is not valid JSON"), status)


async def _capped(pieces: AsyncIterator[bytes], cap: int) -> AsyncIterator[bytes]:
    """The pieces. Raises `BadAnswer` when they are more than ``cap`` bytes: a server may never end."""
    read = 0
    async for piece in pieces:
        read += len(piece)
        if read > cap:
            raise BadAnswer(f"its answer is longer than {cap // 1024 // 1024} MB")
        yield piece


async def _whole_body(response: Any) -> Any:
    """The body as JSON. Raises ValueError when it is none, `BadAnswer` when it is empty."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
    if not body.strip():
        raise BadAnswer("its answer is empty")
    return json.loads(body)
