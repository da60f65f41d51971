"""A vendor's SDK, loaded when first needed, and its HTTP client, bound to one event loop and closed with it."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import TYPE_CHECKING, Any

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


_KEPT: dict[tuple[AbstractEventLoop, Hashable], AsyncGenerator[Any, None]] = {}
"""What keeps each loop's clients open. It goes when its loop ends, so that nothing of the loop is left here."""


async def loop_client(kind: Hashable, make: Callable[[], Any]) -> Any:
    """The running loop's HTTP client of that ``kind``, which all models of it share; ``make`` makes it for the first.

    A connection belongs to the loop that opened it, so another loop gets another client. It lives in an async
    generator, which the loop itself closes when it shuts down: no owner has to remember it.
    """
    from asyncio import get_running_loop  # a model that is only checked has no event loop

    place = (get_running_loop(), kind)
    if place not in _KEPT:
        _KEPT[place] = _keep(place, make())
    return await anext(_KEPT[place])


async def _keep(place: tuple[AbstractEventLoop, Hashable], client: Any) -> AsyncGenerator[Any, None]:
    try:
        while True:
            yield client
    finally:
        del _KEPT[place]
        await client.aclose()
