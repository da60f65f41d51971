"""The SQLite store: runs, sessions and archived outputs as rows of one file, or of several.

`SQLiteStore` opens one file for all; `SQLiteSession`, `SQLiteCheckpointer` and `SQLiteResultStore` do so on their own.
The tables, and what a save costs, are in ``docs/store-sqlite.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stores.sqlite.results import SQLiteResultStore
    from stores.sqlite.runs import SQLiteCheckpointer
    from stores.sqlite.sessions import SQLiteSession
    from stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteCheckpointer", "SQLiteResultStore", "SQLiteSession", "SQLiteStore"]

_PLACES = {
    "SQLiteCheckpointer": "runs",
    "SQLiteResultStore": "results",
    "SQLiteSession": "sessions",
    "SQLiteStore": "store",
}


def __getattr__(name: str) -> Any:
    """Each of them is loaded when it is first asked for: a shell that completes ids needs none, and no event loop."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
