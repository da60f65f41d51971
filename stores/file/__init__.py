"""The file store: runs and sessions as atomically replaced JSON files under one ``.lovia`` folder.

`FileStore` opens a folder; `FileSession`, `FileCheckpointer` and `FileResultStore` do so on their own. The format, and
why no crash can hurt it, is in ``docs/store.md``.
"""

from stores.file.results import FileResultStore
from stores.file.runs import FileCheckpointer
from stores.file.sessions import FileSession
from stores.file.store import FileStore

__all__ = ["FileCheckpointer", "FileResultStore", "FileSession", "FileStore"]
