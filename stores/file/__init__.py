"""The file store: runs and sessions as atomically replaced JSON files under one ``.lovia`` folder.

`FileStore` opens a folder; `FileSession`, `FileCheckpointer` and `FileResultStore` do so on their own. The format, and
why no crash can hurt it, is in ``docs/store.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stores.file.results import FileResultStore
    from stores.file.runs import FileCheckpointer
    from stores.file.sessions import FileSession
    from stores.file.store import FileStore

__all__ = ["FileCheckpointer", "FileResultStore", "FileSession", "FileStore"]

_PLACES = {"FileCheckpointer": "runs", "FileResultStore": "results", "FileSession": "sessions", "FileStore": "store"}


def __getattr__(name: str) -> Any:
    """Each of them is loaded when it is first asked for: a shell that completes ids needs none, and no event loop."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
