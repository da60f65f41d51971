"""Who may do what: one OS lock a run and one a session, and who holds it.

The lock is the truth; the system frees it when its process dies, however that happens. Beside it the owner
writes down who it is, for messages and for readers, who thus never need to touch the lock of a living run.
Lock files are never removed: a waiter would hold a lock on a file that no longer has a name.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from stores import codec
from stores.entries import JSON
from stores.errors import RunLockedError, StoreBusyError, StoreError
from stores.file.disk import write_error
from stores.file.names import name_of
from stores.records import Owner

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from stores.file.root import Root

RUNS, SESSIONS, OWNERS = ("locks", "runs"), ("locks", "sessions"), ("locks", "owners")

START_PATIENCE = 0.25
"""Seconds for which a starter retries a lock that no living owner explains: a reader may be probing it."""

SESSION_PATIENCE = 30.0
"""Seconds that a session's lock is waited for."""


class Lock:
    """An OS lock on one file, held by this object and nobody else, in this process or another."""

    def __init__(self, folder: str, name: str) -> None:
        self._path = f"{folder}/{name}.lock"
        self._held: BaseFileLock | None = None

    def try_take(self) -> bool:
        """Take the lock if it is free. The folder must be there."""
        from filelock import FileLock, Timeout  # 30 ms, and most commands take no lock

        lock = FileLock(
            self._path,
            timeout=0,
            mode=0o600,
            thread_local=False,  # it is taken in one thread and released in another
            blocking=False,
            fallback_to_soft=False,  # a soft lock outlives its process
            preserve_lock_file=True,
        )
        try:
            lock.acquire()
        except Timeout:
            return False
        except NotImplementedError as error:
            raise StoreError("this file system has no locks", where=self._path, hint="use a local disk") from error
        except OSError as error:
            raise write_error(error, self._path) from error
        self._held = lock
        return True

    def release(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            held.release()

    @staticmethod
    def is_held(folder: str, name: str) -> bool:
        """Try the lock for a moment, without making its file. One that cannot be tried counts as free."""
        lock = Lock(folder, name)
        if not os.path.exists(lock._path):
            return False
        try:
            if not lock.try_take():
                return True
        except StoreError:
            return False
        lock.release()
        return False


class RunLock:
    """The right to execute one run (R11), with its owner's name beside it."""

    def __init__(self, root: Root, run_id: str) -> None:
        self._root = root
        self._run_id = run_id
        self._name = name_of(run_id)
        self._lock: Lock | None = None
        self.owner: dict[str, JSON] = {}

    def try_take(self) -> bool:
        """Take it if it is free, and void what was asked of an earlier owner.

        Raises `RunLockedError` while a living process holds it; False: held by a reader, or one just starting.
        """
        with self._root.make_folder(*RUNS) as folder:
            lock = Lock(folder.path, self._name)
        if not lock.try_take():
            if owner := read_owner(self._root, self._name):
                raise self.refusal(owner)
            return False
        try:
            self.owner = this_process() | {"since": time.time()}
            with self._root.make_folder(*OWNERS) as owners:
                owners.put(f"{self._name}.json", codec.encode({"kind": "owner", "id": self._run_id, **self.owner}))
            clear_cancel(self._root, self._name)
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        return True

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
            lock, self._lock = self._lock, None
            lock.release()

    def refusal(self, owner: Owner | None = None) -> RunLockedError:
        """The error that names the owner."""
        owner = owner or read_owner(self._root, self._name)
        who = f"process {owner.pid} on {owner.host}" if owner and owner.pid else "another process"
        return RunLockedError(
            f"run {self._run_id!r} is being executed by {who}",
            hint=f"wait for it, or stop it with: lovia cancel {self._run_id}",
        )


def read_owner(root: Root, name: str) -> Owner | None:
    """The living process that executes the run of this name, or None. Creates nothing (R11).

    A living process of this host is believed; its lock is left alone, so that readers never get in the way
    of an owner. In all other cases (another host, a dead process, a damaged note) the lock itself is tried.
    """
    note = _read_note(root, name)
    if note is None:
        return None
    owner = Owner(pid=note.get("pid", 0), host=note.get("host", ""), since=note.get("since"))
    if _is_alive(note) and owner.pid != os.getpid():
        return owner
    return owner if Lock.is_held("/".join((root.path, *RUNS)), name) else None


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


def this_process() -> dict[str, JSON]:
    """What tells this process from every other: pid, host, and when it started."""
    pid = os.getpid()
    return {"pid": pid, "host": os.uname().nodename, "start": _start_of(pid)}


def _start_of(pid: int) -> str | None:
    """When the process started, as text that only ever matches itself; None when it is dead or cannot be known."""
    if sys.platform != "linux":
        return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id", "rb") as boot:
            # The command's name may hold spaces and brackets; the fields behind it do not.
            fields = stat.read().rpartition(b")")[2].split()
            # A killed process whose parent has not asked for it yet is still listed.
            return None if fields[0] in (b"Z", b"X") else f"{boot.read(8).decode()}-{fields[19].decode()}"
    except (OSError, IndexError):
        return None


def _is_alive(note: dict[str, JSON]) -> bool:
    """True when the process is of this host and surely alive."""
    pid, start = note.get("pid"), note.get("start")
    if not isinstance(pid, int) or start is None or note.get("host") != os.uname().nodename:
        return False
    return _start_of(pid) == str(start)


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
