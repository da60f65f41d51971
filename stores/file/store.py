"""One ``.lovia`` folder as a whole."""

from __future__ import annotations

from pathlib import Path

from stores.file.results import FileResultStore
from stores.file.root import Root
from stores.file.runs import FileCheckpointer
from stores.file.sessions import FileSession


class FileStore:
    """The file store: one folder, one writer thread, sessions and runs in it.

    Nothing is read or written before it is asked for. The first write makes the folder, unless ``create`` is
    False: then it raises `StoreError`. Reading never makes anything; a store that is not there is empty.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        root = Root(path, create=create)
        self.path = Path(root.path)
        self.session = FileSession(root)
        self.checkpointer = FileCheckpointer(root)
        self.results = FileResultStore(root)
