"""Placing files in a session's folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stores import codec
from stores.codec import Lines
from stores.file.disk import Folder
from stores.file.markers import marker_folder
from stores.file.places import session_folder
from stores.file.root import Root
from stores.file.session_json import SESSION


class SessionWriter:
    """A session's ``folder``, and the one beside it in which files stand until they are whole."""

    __slots__ = ("_unfinished", "folder")

    def __init__(self, folder: Folder, unfinished: Folder) -> None:
        self.folder = folder
        self._unfinished = unfinished

    def write(self, name: str, lines: Lines) -> None:
        """Place a segment, durably; afterwards ``lines.sum`` is its checksum."""
        self.folder.write(name, lines.bytes(), by=self._unfinished)

    def write_session(self, fields: dict[str, Any]) -> None:
        """Place session.json, durably: it says which segments count."""
        self.folder.write(SESSION, codec.encode(fields), by=self._unfinished)


@contextmanager
def writing(root: Root, session_id: str) -> Iterator[SessionWriter]:
    """The session, whose lock is held, to be written; what a killed process has left unfinished there is gone."""
    with (
        root.make_folder(*session_folder(session_id)) as folder,
        root.make_folder(*marker_folder(session_id)) as unfinished,
    ):
        unfinished.sweep()
        yield SessionWriter(folder, unfinished)
