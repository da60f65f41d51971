"""The SQLite store: runs and sessions as rows of one file, or of two.

`SQLiteStore` opens one file for both; `SQLiteSession` and `SQLiteCheckpointer` do so on their own. The tables, and
what a save costs, are in ``docs/store-sqlite.md``.
"""

from stores.sqlite.runs import SQLiteCheckpointer
from stores.sqlite.sessions import SQLiteSession
from stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteCheckpointer", "SQLiteSession", "SQLiteStore"]
