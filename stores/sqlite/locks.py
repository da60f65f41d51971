"""Who executes what: OS locks in a folder beside the database, and who holds them.

A lock in the database would outlive a killed process, or need a clock to be called dead, and then a frozen process
would be taken for a dead one. The system frees its own locks at death and at nothing else. Beside a run's lock its
owner writes down who it is, for messages and for readers, who thus never touch the lock of a living run.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from stores.entries import JSON
from stores.errors import RunLockedError, StoreDamagedError, StoreError
from stores.lines import Owner, locked_error
from stores.oslock import Lock, is_alive, lock_error, this_process
from stores.sqlite.folders import make_folder
from stores.sqlite.owner import check_beside
from stores.sqlite.rows import RUNS

if TYPE_CHECKING:
    from stores.sqlite.database import Database


_OWNER = ".owner.json"


def _folder(database: Database) -> Path:
    return database.locks


def _make_folder(database: Database) -> Path:
    folder = _folder(database)
    check_beside(folder)
    try:
        make_folder(folder)
    except OSError as error:
        if os.path.lexists(folder) and not folder.is_dir():
            raise StoreDamagedError("not a folder", where=str(folder)) from error
        raise lock_error(error, folder) from error
    return folder


def _name(record_id: str) -> str:
    """A file name for an id: short, and different for different ids on any disk."""
    return hashlib.sha256(record_id.encode()).hexdigest()[:40]


class SessionLock:
    """The right to choose and to begin runs in a session (K6)."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._lock = Lock(_folder(database) / f"{_name(session_id)}.session.lock")

    def try_take(self) -> bool:
        _make_folder(self._database)
        return self._lock.try_take()

    def release(self) -> None:
        self._lock.release()


class RunLock:
    """The right to execute one run (R11), with its owner's name beside it. ``token`` tells owners apart."""

    def __init__(self, database: Database, run_id: str) -> None:
        folder = _folder(database)
        self._database = database
        self._run_id = run_id
        self._lock = Lock(folder / f"{_name(run_id)}.run.lock")
        self._note = folder / f"{_name(run_id)}{_OWNER}"
        self._is_held = False
        self.token = os.urandom(16).hex()

    def try_take(self) -> bool:
        """Take it if it is free.

        Raises `RunLockedError` while a living process holds it; False: held by a reader, or one just starting.
        """
        folder = _make_folder(self._database)
        if not self._lock.try_take():
            if owner := read_owner(self._database, self._run_id):
                raise self.refusal(owner)
            return False
        self._is_held = True
        note = this_process() | {"since": time.time(), "run_id": self._run_id, "token": self.token}
        temp = folder / f"{self._note.name}.tmp"  # the lock's holder alone writes it
        try:
            _write_private(temp, orjson.dumps(note))
            temp.replace(self._note)
        except OSError as error:
            raise lock_error(error, self._note) from error
        return True

    def release(self) -> None:
        """Give it back; not held: nothing happens. A note that stays behind does no harm: the lock is the truth."""
        if self._is_held:
            self._is_held = False
            with suppress(StoreError):
                self._forget_cancel()
            with suppress(OSError):
                self._note.unlink()
            with suppress(OSError):
                self._note_begun()
            self._lock.release()

    def _note_begun(self) -> None:
        begun = self._database.begun
        if not begun.exists() and self._database.path.stat().st_size:
            _write_private(begun, b"")

    def refusal(self, owner: Owner | None = None) -> RunLockedError:
        """The error that names the owner."""
        return locked_error(self._run_id, owner or read_owner(self._database, self._run_id))

    def is_cancelled(self) -> bool:
        """True when a request is there and meant for this very owner (Z9)."""
        with self._database.reading(RUNS) as connection:
            if connection is None:
                return False
            query = "SELECT 1 FROM lovia_cancels WHERE run_id = ? AND owner = ?"
            return connection.execute(query, (self._run_id, self.token)).fetchone() is not None

    def _forget_cancel(self) -> None:
        if self.is_cancelled():
            with self._database.writing(RUNS) as connection:
                connection.execute("DELETE FROM lovia_cancels WHERE run_id = ?", (self._run_id,))


def read_owner(database: Database, run_id: str) -> Owner | None:
    """The living process that executes the run, or None. Creates nothing."""
    folder, name = _folder(database), _name(run_id)
    note = _read_note(folder / f"{name}{_OWNER}")
    if note is None:
        return None
    owner = Owner(pid=note.get("pid", 0), host=note.get("host", ""), since=note.get("since"))
    if is_alive(note) and owner.pid != os.getpid():
        return owner
    return owner if Lock(folder / f"{name}.run.lock").is_held() else None


def read_owners(database: Database) -> dict[str, Owner]:
    """The living owners of all runs that have one, by run id."""
    folder = _folder(database)
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found if entry.name.endswith(_OWNER)]
    except OSError:
        return {}
    notes = [_read_note(folder / name) or {} for name in names]
    run_ids = [note["run_id"] for note in notes if isinstance(note.get("run_id"), str)]
    return {run_id: owner for run_id in run_ids if (owner := read_owner(database, run_id))}


def _write_private(path: Path, data: bytes) -> None:
    """Write the file for this user's eyes alone, whatever the umask, and through no link."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        os.fchmod(fd, 0o600)
        file.write(data)


def _read_note(path: Path) -> dict[str, JSON] | None:
    """What the owner wrote; empty when it cannot be read, None when there is none."""
    try:
        note = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def leave_cancel(database: Database, run_id: str) -> Owner | None:
    """Ask the run's owner to stop (Z9); None when nobody executes it. Void for whoever executes it next."""
    owner = read_owner(database, run_id)
    note = _read_note(_folder(database) / f"{_name(run_id)}{_OWNER}")
    if owner is None or note is None:
        return None
    with database.writing(RUNS) as connection:
        connection.execute(
            "INSERT OR REPLACE INTO lovia_cancels (run_id, owner) VALUES (?, ?)", (run_id, note.get("token", ""))
        )
    return owner
