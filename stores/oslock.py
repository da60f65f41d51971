"""An OS lock on a file, and what tells one process from every other.

The system frees such a lock when its process dies, however that happens; a frozen process keeps it. Lock files
are never removed: a waiter would hold a lock on a file that no longer has a name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stores.entries import JSON
from stores.errors import StoreError, StoreWriteError

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Lock:
    """The lock on one file, held by this object and nobody else, in this process or another."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: BaseFileLock | None = None

    def try_take(self) -> bool:
        """Take the lock if it is free. Its folder must be there."""
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
            hint = "use a local disk"
            raise StoreError("this file system has no locks", where=str(self._path), hint=hint) from error
        except OSError as error:
            raise lock_error(error, self._path) from error
        self._held = lock
        return True

    def release(self) -> None:
        """Give it back; not held: nothing happens."""
        if self._held is not None:
            held, self._held = self._held, None
            held.release()

    def is_held(self) -> bool:
        """Try the lock for a moment, without making its file. One that cannot be tried counts as free."""
        if not self._path.exists():
            return False
        probe = Lock(self._path)
        try:
            if not probe.try_take():
                return True
        except StoreError:
            return False
        probe.release()
        return False


def lock_error(error: OSError, path: Path) -> StoreWriteError:
    """What is told when a lock or its folder cannot be made."""
    hint = "make the folder writable for this user, or choose another store with --store"
    return StoreWriteError(f"cannot lock: {error.strerror or error}", where=str(path), hint=hint)


def this_process() -> dict[str, JSON]:
    """What tells this process from every other: pid, host, and when it started."""
    pid = os.getpid()
    return {"pid": pid, "host": os.uname().nodename, "start": _start_of(pid)}


def is_alive(process: dict[str, JSON]) -> bool:
    """True when the process (as `this_process` told of itself) is of this host and surely alive."""
    pid = process.get("pid")
    if not isinstance(pid, int) or pid <= 0 or process.get("host") != os.uname().nodename:
        return False
    if process.get("start") is not None:
        return bool(_start_of(pid) == process["start"])
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # it is there, and somebody else's
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _start_of(pid: int) -> str | None:
    """When the process started, as text that only ever matches itself; None when it is dead or cannot be known."""
    if sys.platform != "linux":
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
        # The command's name may hold spaces and brackets; the fields behind it do not.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # A killed process whose parent has not asked for it yet is still listed.
        return None if fields[0] in ("Z", "X") else f"{boot}-{fields[19]}"
    except (OSError, IndexError):
        return None
