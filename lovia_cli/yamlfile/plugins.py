"""pydantic's plugins, which lovia's own models do without.

To find them, pydantic loads importlib.metadata and reads what every installed package declares. That happens when the
first validator of a process is built, and takes longer than all that lovia does with an agent file.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_LOADER = "pydantic.plugin._loader"


@contextmanager
def without_plugins() -> Iterator[None]:
    """Validators that are built within have no plugins, and nothing was searched for any.

    A module that knows of none stands in for pydantic's private one meanwhile, and is gone afterwards, so that the
    models of a user's tools have their plugins. (The variable PYDANTIC_DISABLE_PLUGINS would take those away as well,
    from the programs that tools start too.) Nothing is done where plugins have been looked for already, where another
    thread could be building models of its own, or where a later pydantic has no such module.
    """
    if _LOADER in sys.modules or threading.active_count() > 1:
        yield
        return
    stand_in = ModuleType(_LOADER)
    stand_in.__dict__["get_plugins"] = tuple
    sys.modules[_LOADER] = stand_in
    try:
        yield
    finally:
        del sys.modules[_LOADER]
