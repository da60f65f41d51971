"""One folder of the store on disk: read a file, place a file durably, and never follow a link.

`Folder.write` is the only way state reaches the disk: write beside, flush, rename over, flush the
folder. A reader therefore sees the old file or the new one, and what was acknowledged survives a
power cut. Everything goes through the folder's own descriptor, so a save opens one file.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

from stores.errors import StoreDamagedError, StoreError, StoreUnreadableError, StoreWriteError

TEMP = ".tmp"
"""What the names of unfinished files end with; no record's name does."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 16
_HINTS = {
    errno.ENOSPC: "free some disk space, then run the same command again",
    errno.EDQUOT: "free some of your disk quota, then run the same command again",
    errno.EROFS: "the file system is read-only: choose another place with --store",
    errno.EACCES: "make the store writable for this user, or choose another with --store",
    errno.EPERM: "make the store writable for this user, or choose another with --store",
    errno.EIO: "the disk reported an error: check it before you go on",
    errno.ENOENT: "it was removed or moved meanwhile: put it back before you go on, or what was in it is lost",
}


class Folder:
    """An open folder of the store. Close it, or use it as a context."""

    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    @staticmethod
    def open(path: str) -> Folder | None:
        """The folder at ``path``, which must be a real one and belong to this user; None when missing."""
        try:
            fd = os.open(path, _FOLDER)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(error, path, "not a folder that can be read") from error
        try:
            check_owner(os.fstat(fd), path)
        except BaseException:
            os.close(fd)
            raise
        return Folder(fd, path)

    @staticmethod
    def make(path: str, *, lasting: bool = True) -> Folder:
        """The folder at ``path``, created with mode 0700 when missing, and durable in its parent.

        An empty one may be what a killed process has made: its parent is flushed before the first file goes in, unless
        nothing ``lasting`` does.
        """
        if found := Folder.open(path):
            if lasting and found.is_empty():
                found._settle()
            return found
        try:
            os.mkdir(path, 0o700)
            if os.stat(path).st_mode & 0o777 != 0o700:
                os.chmod(path, 0o700)  # an odd umask took even that away
            flush_parent(path)
        except FileExistsError:
            pass  # another process was faster
        except OSError as error:
            raise write_error(error, path) from error
        made = Folder.open(path)
        if made is None:
            raise StoreWriteError("the folder vanished while it was made", where=path)
        return made

    def _settle(self) -> None:
        """Make it durable in its parent, unless it was made for us in one that we may not read."""
        try:
            with suppress(PermissionError):
                flush_parent(self.path)
        except OSError as error:
            self.close()
            raise write_error(error, self.path) from error

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def where(self, name: str) -> str:
        """``name`` as errors show it."""
        return f"{self.path}/{name}"

    def names(self) -> list[str]:
        """Everything in it, unfinished files included, in no order."""
        try:
            return os.listdir(self.fd)
        except OSError as error:
            raise _unreadable(error, self.path, "the folder cannot be read") from error

    def is_empty(self) -> bool:
        """True when nothing is in it, not even an unfinished file."""
        try:
            with os.scandir(self.fd) as found:
                return next(found, None) is None
        except OSError as error:
            raise _unreadable(error, self.path, "the folder cannot be read") from error

    def read(self, name: str) -> bytes | None:
        """All bytes of a regular file; None when there is none.

        Anything else in its place (a folder, a link, a pipe), or a file that cannot be read, is damage.
        """
        try:
            fd = os.open(name, _READ, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(error, self.where(name), "the file cannot be read") from error
        try:
            data = os.read(fd, _BLOCK)
            return data if len(data) < _BLOCK else data + self._rest(fd, name)
        except OSError as error:
            raise _unreadable(error, self.where(name), "the file cannot be read") from error
        finally:
            os.close(fd)

    def _rest(self, fd: int, name: str) -> bytes:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise StoreDamagedError("not a regular file", where=self.where(name))
        return b"".join(iter(lambda: os.read(fd, 1 << 20), b""))

    def write(self, name: str, data: bytes, *, by: Folder | None = None) -> None:
        """Place a file whole and durably, over an older one. Six system calls and a chmod, two flushes.

        The unfinished file stands in ``by`` (default: here), where the next owner sweeps it after a kill.
        Raises `StoreWriteError`. A failed flush is not tried again: the kernel may have dropped the data.
        """
        self._place(name, data, by or self, durable=True)

    def write_open(self, name: str, data: bytes) -> int:
        """`write`, and the descriptor of the new file: for one that is going to be replaced soon.

        As long as a replaced file is open, nothing of it is freed. Where it is not, the rename frees its blocks before
        it returns, which takes as long as a flush.
        """
        return self._place(name, data, self, durable=True, stays_open=True)

    def put(self, name: str, data: bytes) -> None:
        """Place a file whole but not durably: for what no other process than a living one reads."""
        self._place(name, data, self, durable=False)

    def _place(self, name: str, data: bytes, by: Folder, *, durable: bool, stays_open: bool = False) -> int:
        temp = f".{os.urandom(10).hex()}{TEMP}"
        try:
            fd = os.open(temp, _CREATE, 0o600, dir_fd=by.fd)
            try:
                _fill(fd, data, durable=durable)
                os.rename(temp, name, src_dir_fd=by.fd, dst_dir_fd=self.fd)
                if durable:
                    flush(self.fd)
            except BaseException:
                os.close(fd)
                by._forget(temp)
                raise
            if not stays_open:
                os.close(fd)
        except OSError as error:
            raise write_error(error, self.where(name)) from error
        return fd

    def _forget(self, name: str) -> None:
        """Remove what may not even be there, while something worse is on its way to the caller."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self.fd)

    def unlink(self, name: str) -> bool:
        """Remove a file; False when there was none. Durable only after `sync`."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise write_error(error, self.where(name)) from error
        return True

    def sync(self) -> None:
        """Make what was renamed and removed here durable, by whomever: also a process that was killed in between."""
        try:
            flush(self.fd)
        except OSError as error:
            raise write_error(error, self.path) from error

    def sweep(self) -> None:
        """Remove the unfinished files of killed writers. Only the owner of the folder's lock may."""
        for name in self.names():
            if name.endswith(TEMP):
                self.unlink(name)

    def records(self) -> Iterator[str]:
        """The names of the records here, ``.json`` left out, sorted."""
        return (name[:-5] for name in sorted(self.names()) if name.endswith(".json"))


def _fill(fd: int, data: bytes, *, durable: bool) -> None:
    """Write all of ``data``, and flush it."""
    os.fchmod(fd, 0o600)  # the umask may have taken even that away
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    if durable:
        flush(fd)


def flush(fd: int) -> None:
    """fsync, or what is meant by it: on macOS only F_FULLFSYNC reaches the disk itself."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fsync(fd)


def flush_parent(path: str) -> None:
    """Make what stands at ``path`` durable in its folder. Raises the system's own error."""
    parent = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush(parent)
    finally:
        os.close(parent)


def check_owner(found: os.stat_result, path: str) -> None:
    """A store is one user's own; another's could be swapped under our hands."""
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"the folder belongs to user {found.st_uid}, not to this one ({os.geteuid()})",
            where=path,
            hint="use a store of your own with --store, or change its owner",
        )


def _unreadable(error: OSError, where: str, what: str) -> StoreError:
    """``error`` on reading as the store's own: damage, unless the system is what stands in the way."""
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return StoreUnreadableError(f"cannot read: {error.strerror}", where=where, hint="close other programs")
    if error.errno in (errno.EACCES, errno.EPERM):
        return StoreUnreadableError(f"{what}: {error.strerror}", where=where)
    what = "a link, not a file" if error.errno == errno.ELOOP else f"{what}: {error.strerror}"
    return StoreDamagedError(what, where=where)


def write_error(error: OSError, where: str) -> StoreWriteError:
    """``error`` with the file it happened to, its reason, and what can be done."""
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "what was saved before is safe: run the same command again")
    return StoreWriteError(f"cannot write: {reason}", where=where, hint=hint)


def remove_folder(path: str, *, last: str | None = None) -> None:
    """Remove a folder of plain files, and the folders in it; the file ``last`` last. Missing: nothing happens."""
    try:
        with os.scandir(path) as found:
            for item in sorted(found, key=lambda item: item.name == last):
                if item.is_dir(follow_symlinks=False):
                    remove_folder(item.path)
                else:
                    os.unlink(item.path)
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise write_error(error, path) from error
