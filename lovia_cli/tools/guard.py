"""The guard: a small process that outlives us, to kill the commands which we would leave behind when killed with -9.

A call that was cut off runs again when its run goes on; the command of the first time must not be at work beside it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import threading

_SCRIPT = """
groups=
while read -r sign group; do
  rest=
  for other in $groups; do
    [ "$other" = "$group" ] || rest="$rest $other"
  done
  groups=$rest
  [ "$sign" = - ] || groups="$groups $group"
done
for group in $groups; do
  kill -s KILL -- "-$group"
done
"""
"""Each line is a group that begins (+) or has ended (-). The lines end when we do, however that comes."""


_PATIENCE = 1.0
"""Seconds that a program which ends waits for its guard, which then has nothing left to do."""


class Guard:
    """Knows the process groups that run. It stands from before the first of them until this process ends.

    Where there is no ``/bin/sh`` nobody guards. A group whose command has begun just before we are killed, so that the
    guard has not heard of it (some microseconds, on a busy machine milliseconds), lives on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._groups: set[int] = set()
        self._has_stood = False

    def stand(self) -> None:
        """Be there. To be called before a group is begun: to start a process takes longer than to tell of one."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:  # it may have been killed
                self._close()
                self._start()
                for group in list(self._groups):
                    self._tell("+", group)
            if not self._has_stood:
                self._has_stood = True
                os.register_at_fork(after_in_child=self._leave)
                atexit.register(self._dismiss)

    def watch(self, group: int) -> None:
        """Kill the group when this process ends before `release`."""
        self._groups.add(group)
        self._tell("+", group)

    def release(self, group: int) -> None:
        """The leader of the group has ended; what it left in the background is nobody's business."""
        self._groups.discard(group)
        self._tell("-", group)

    def _tell(self, sign: str, group: int) -> None:
        with contextlib.suppress(OSError):  # it was killed itself, or could not be started
            os.write(self._pipe, f"{sign} {group}\n".encode())

    def _start(self) -> None:
        """In a session of its own: neither Ctrl-C nor the end of the terminal reaches it before its work is done."""
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            assert self._process.stdin is not None
            self._pipe = self._process.stdin.fileno()

    def _leave(self) -> None:
        """In a child that was forked: the guard is the parent's, and must see its end though the child lives on."""
        self._lock = threading.Lock()  # a thread that is not here may have held it
        self._groups = set()
        self._close()
        if self._process:
            self._process.returncode, self._process = 0, None  # nobody's to wait for

    def _dismiss(self) -> None:
        if self._process:
            self._close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)

    def _close(self) -> None:
        self._pipe = -1
        if self._process and self._process.stdin:
            self._process.stdin.close()
