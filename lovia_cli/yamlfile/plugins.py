"""pydantic's plugins, which lovia's own models do without.

To find them, pydantic loads importlib.metadata and reads what every installed package declares. That happens when the
first validator of a process is built, and takes longer than all that lovia does with an agent file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import get_ident
from types import ModuleType
from typing import Any

_LOADER = "pydantic.plugin._loader"


@contextmanager
def without_plugins() -> Iterator[None]:
    """Validators that this thread builds meanwhile have no plugins, and nothing is searched for any.

    A module that knows of none stands in for pydantic's private one, and is gone afterwards, so that the models of a
    user's tools have their plugins. (The variable PYDANTIC_DISABLE_PLUGINS would take those away too, and be inherited
    by the programs that tools start.) Where plugins have been looked for already, or a later pydantic has no such
    module, nothing changes.
    """
    if _LOADER in sys.modules:
        yield
        return
    sys.modules[_LOADER] = stand_in = _StandIn(_LOADER)
    try:
        yield
    finally:
        stand_in.leave()


class _StandIn(ModuleType):
    """Knows of no plugins when asked by the thread that made it; for any other it makes way."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._thread = get_ident()

    def get_plugins(self) -> Iterable[Any]:
        if get_ident() == self._thread:
            return ()
        self.leave()
        plugins: Iterable[Any] = import_module(self.__name__).get_plugins()
        return plugins

    def leave(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
