"""Who may do what: one OS lock a run and one a session, and who holds it.

The lock is the truth. Beside it the owner writes down who it is, for messages and for readers, who thus never
need to touch the lock of a living run.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from stores import codec
from stores.entries import JSON
from stores.errors import RunLockedError, StoreBusyError, StoreError, StoreWriteError
from stores.file.names import name_of
from stores.file.root import Root
from stores.lines import Owner, locked_error
from stores.oslock import Lock, is_alive, this_process
from stores.worker import wait_for

RUNS, SESSIONS, OWNERS = ("locks", "runs"), ("locks", "sessions"), ("locks", "owners")
ARCHIVED = ("locks", "results")

SESSION_PATIENCE = 30.0
"""Seconds that a session's lock is waited for, and that of a run's archived outputs."""


def lock_of(folder: str, name: str) -> Lock:
    """The lock of that name in one of the lock folders."""
    return Lock(Path(folder, f"{name}.lock"))


@asynccontextmanager
async def waited_for(
    root: Root, lock: Lock, take: Callable[[], bool], refusal: Callable[[], StoreError]
) -> AsyncIterator[None]:
    """The lock, once ``take`` gets it; `SESSION_PATIENCE` without that raise the ``refusal``."""
    try:
        await wait_for(root.worker, take, refusal, SESSION_PATIENCE)
        yield
    finally:  # also for a caller that was cancelled while it got the lock
        await root.worker.call(lock.release)


def lock_path(root: Root, run_id: str) -> str:
    """The file of a run's lock. It stays for good: where there is none, the run was never executed."""
    return root.part(*RUNS, f"{name_of(run_id)}.lock")


class RunLock:
    """The right to execute one run (R11), with its owner's name beside it."""

    def __init__(self, root: Root, run_id: str) -> None:
        self._root = root
        self._run_id = run_id
        self._name = name_of(run_id)
        self._lock: Lock | None = None
        self._is_signed = False
        self.owner: dict[str, JSON] = {}
        self.is_first = False
        """True once it is taken for the first time ever."""

    def try_take(self) -> bool:
        """Take it if it is free, and void what was asked of an earlier owner.

        Raises `RunLockedError` while a living process holds it; False: held by a reader, or one just starting.
        """
        with self._root.make_folder(*RUNS) as folder:
            lock = lock_of(folder.path, self._name)
            self.is_first = not os.path.lexists(lock_path(self._root, self._run_id))
        if not lock.try_take():
            if owner := read_owner(self._root, self._name):
                raise self.refusal(owner)
            return False
        self._lock = lock
        self.owner = this_process() | {"since": time.time()}
        try:
            with suppress(StoreWriteError):  # who only reads needs no name there; who writes asks for it again
                self.sign()
        except BaseException:
            self.release()
            raise
        return True

    def sign(self) -> None:
        """Say who has the lock, once. Without it nobody sees the run executed, so nothing is written before."""
        if self._is_signed:
            return
        with self._root.make_folder(*OWNERS) as owners:
            owners.put(f"{self._name}.json", codec.encode({"kind": "owner", "id": self._run_id, **self.owner}))
        clear_cancel(self._root, self._name)
        self._is_signed = True

    def release(self) -> None:
        """Give it back. That the owner's name may stay behind does no harm: the lock is the truth."""
        if self._lock is None:
            return
        try:
            with self._root.make_folder(*OWNERS) as owners:
                owners.unlink(f"{self._name}.json")
        except StoreError:
            pass
        finally:
            lock, self._lock, self._is_signed = self._lock, None, False
            lock.release()

    def is_held(self) -> bool:
        """True while a process executes the run. Nothing is changed by asking."""
        return read_owner(self._root, self._name) is not None

    def refusal(self, owner: Owner | None = None) -> RunLockedError:
        """The error that names the owner."""
        return locked_error(self._run_id, owner or read_owner(self._root, self._name))


def read_owner(root: Root, name: str) -> Owner | None:
    """The living process that executes the run of this name, or None. Creates nothing (R11).

    A living process of this host is believed; its lock is left alone, so that readers never get in the way
    of an owner. In all other cases (another host, a dead process, a damaged note) the lock itself is tried.
    """
    note = _read_note(root, name)
    if note is None:
        return None
    owner = Owner(pid=note.get("pid", 0), host=note.get("host", ""), since=note.get("since"))
    if is_alive(note) and owner.pid != os.getpid():
        return owner
    return owner if lock_of(root.part(*RUNS), name).is_held() else None


def _read_note(root: Root, name: str) -> dict[str, JSON] | None:
    """What the owner wrote; empty when it cannot be read, None when there is none."""
    with root.open_folder(*OWNERS) as folder:
        if folder is None:
            return None
        try:
            data = folder.read(f"{name}.json")
            return None if data is None else codec.decode(data, "owner", where=folder.where(name))
        except StoreError:
            return {}


def owned_names(root: Root) -> frozenset[str]:
    """The names of all runs that have an owner, living or dead."""
    with root.open_folder(*OWNERS) as folder:
        return frozenset(folder.records()) if folder else frozenset()


def leave_cancel(root: Root, run_id: str) -> Owner | None:
    """Ask the run's owner to stop (Z9); None when nobody executes it."""
    name = name_of(run_id)
    owner = read_owner(root, name)
    if owner is None:
        return None
    note = _read_note(root, name) or {}
    request = {"kind": "cancel", "id": run_id} | {field: note.get(field) for field in ("pid", "host", "start", "since")}
    with root.make_folder("cancel") as folder:
        folder.put(f"{name}.json", codec.encode(request))
    return owner


def is_cancelled(root: Root, run_id: str, owner: dict[str, JSON]) -> bool:
    """True when a request is there and meant for ``owner``. Nothing there costs one stat."""
    name = f"{name_of(run_id)}.json"
    if not os.path.lexists(f"{root.path}/cancel/{name}"):
        return False
    with root.open_folder("cancel") as folder:
        try:
            data = folder.read(name) if folder else None
            request = codec.decode(data or b"", "cancel", where=name)
        except StoreError:
            return False  # nothing that could be meant for us
    return owner.items() <= request.items()


def clear_cancel(root: Root, name: str) -> None:
    """Forget a request that was meant for an earlier owner."""
    if os.path.lexists(f"{root.path}/cancel/{name}.json"):
        with root.make_folder("cancel") as folder:
            folder.unlink(f"{name}.json")


def busy_session(session_id: str) -> StoreBusyError:
    return StoreBusyError(
        f"session {session_id!r} stayed locked for {SESSION_PATIENCE:g} s",
        hint="another lovia is writing to it; try again",
    )
