"""A vendor's client: loaded when first needed, bound to one event loop, and closed with it."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lovia_cli.errors import AgentFileError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


async def load_sdk(module: str, extra: str) -> Any:
    """Import a vendor's SDK off the event loop. Raises `AgentFileError`, naming the extra, when it is missing.

    One that is there already is imported all the same: another run may be at it, and then this waits for the whole.
    """
    from asyncio import to_thread

    try:
        return await to_thread(importlib.import_module, module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module:
            raise
        raise AgentFileError(
            f"the {module} package is not installed", hint=f"install it with: pip install 'lovia-cli[{extra}]'"
        ) from error


_KEPT: WeakKeyDictionary[AbstractEventLoop, set[AsyncGenerator[Any, None]]] = WeakKeyDictionary()
"""The open clients of each loop. A model may be dropped before its loop ends; its connections wait to be closed."""


class LoopClient:
    """Holds one client per event loop, and closes it with the loop.

    A connection belongs to the loop that opened it, so another loop gets another client. The client lives in
    an async generator, which the loop itself closes when it shuts down: no owner has to remember it.
    """

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None
        self._keeper: AsyncGenerator[Any, None] | None = None
        self._client: Any = None

    async def get(self, make: Callable[[], Any]) -> Any:
        """The client of the running loop; ``make`` makes it when there is none."""
        from asyncio import get_running_loop  # a model that is only checked has no event loop

        loop = get_running_loop()
        if self._loop is not loop:
            self._keeper = _keep(make())
            self._client = await anext(self._keeper)
            self._loop = loop
            _KEPT.setdefault(loop, set()).add(self._keeper)
        return self._client

    async def close(self) -> None:
        """Close the client now; the next `get` makes a new one."""
        keeper, loop = self._keeper, self._loop
        self._keeper = self._client = self._loop = None
        if keeper is not None and loop is not None:
            _KEPT[loop].discard(keeper)
            await keeper.aclose()


async def _keep(client: Any) -> AsyncGenerator[Any, None]:
    try:
        yield client
    finally:
        await client.close()
