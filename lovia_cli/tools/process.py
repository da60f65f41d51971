"""One command in a process group of its own: no stdin, output capped while it streams, nothing left when stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lovia_cli.tools.guard import Guard
from lovia_cli.tools.output import DEFAULT_OUTPUT_LIMIT, CappedOutput
from lovia_cli.tools.threads import in_thread

STOP_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

DRAIN_GRACE = 0.2
"""Seconds that the output is still read when the command has ended but others hold its pipe."""

_CHUNK = 256 * 1024  # more than a pipe holds

_PROC = Path("/proc")

_groups: set[int] = set()
_guard = Guard()


@dataclass(slots=True, frozen=True)
class Finished:
    """How a command ended: stdout and stderr as they came, and its exit code, or minus the signal."""

    output: str
    returncode: int


async def run_group(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output_limit: int = DEFAULT_OUTPUT_LIMIT,
) -> Finished:
    """Run ``argv`` as the leader of a new session and process group, and wait for it (not for its children).

    Background children of a command that has ended are left alone, and do not delay the result by more
    than `DRAIN_GRACE`; nobody reads what they write later, so a lasting one should redirect its output.

    When cancelled, the whole group gets SIGTERM, then, after `STOP_GRACE` or a second cancellation, SIGKILL
    (C37). When this process is killed with -9 the guard kills the group at once. A child that has made a session
    of its own is out of reach. Raises OSError when the command cannot be started.
    """
    _guard.stand()
    reader, writer = os.pipe()
    try:
        child = _start(argv, writer, env=env, cwd=cwd)
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    _groups.add(child.pid)
    _guard.watch(child.pid)
    pipe = _Pipe(reader, CappedOutput(output_limit))
    exited = asyncio.ensure_future(in_thread(child.wait, name=f"lovia wait {child.pid}"))
    try:
        returncode = await asyncio.shield(exited)
        await pipe.drain(DRAIN_GRACE)
    except BaseException:
        await _stop(child.pid, exited)
        raise
    finally:
        pipe.close()
        _groups.discard(child.pid)
        _guard.release(child.pid)
    return Finished(pipe.output.text(), returncode)


def kill_groups() -> None:
    """SIGKILL to every group that is still running, for a process that leaves at once (a second Ctrl-C)."""
    for group in list(_groups):
        _signal(group, signal.SIGKILL)


def _start(
    argv: Sequence[str], writer: int, *, env: Mapping[str, str] | None, cwd: Path | None
) -> subprocess.Popen[bytes]:
    """Not asyncio's subprocess: there, a cancellation while it starts leaves the group to itself."""
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env=env, cwd=cwd, start_new_session=True
    )


async def _stop(group: int, exited: asyncio.Future[int]) -> None:
    try:
        _signal(group, signal.SIGTERM)
        await _wait_until_gone(group, exited)
    finally:
        _signal(group, signal.SIGKILL)
    await asyncio.wait({exited}, timeout=STOP_GRACE)


async def _wait_until_gone(group: int, exited: asyncio.Future[int]) -> None:
    """Until no process of the group is left, at most `STOP_GRACE`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STOP_GRACE
    while loop.time() < deadline and (not exited.done() or _lives(group)):  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.02)


def _lives(group: int) -> bool:
    """True when the group has a process that is no zombie. A container's init may leave zombies for ever."""
    if not _signal(group, 0):
        return False
    if not _PROC.is_dir():
        return True
    for stat in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group, *_ = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(of_group) == group and state not in "ZX":
                return True
    return False


def _signal(group: int, number: int) -> bool:
    """True when the group has a process, be it a zombie."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    return True


class _Pipe:
    """The reading end of the command's output; it is drained as long as it is open, whatever is kept."""

    def __init__(self, descriptor: int, output: CappedOutput) -> None:
        self.output = output
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    async def drain(self, grace: float) -> None:
        """Read to the end; when others keep the pipe open, for ``grace`` seconds.

        What was written before is read in any case: the loop serves descriptors before it serves its clock.
        """
        await asyncio.wait({self._ended}, timeout=grace)

    def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError, InterruptedError):
            data = os.read(self._descriptor, _CHUNK)
            self.output.feed(data)
            if not data:
                self._ended.set_result(None)
                self._loop.remove_reader(self._descriptor)
