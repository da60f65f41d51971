"""The script without its start: forks of a process that has lovia imported. Most of what a small command costs is that.

    python -m tests.cli.warm SOCKET     serves until the other end of its stdin is closed

A request is one connection: JSON with ``argv``, ``cwd``, ``env`` and the files for the three streams, answered by
the exit code. What runs is `lovia_cli.__main__.main`, as in the script. Where it names a file under ``trace``, that
gets a line for each file or folder that is opened, and for each call of a function of a store.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
AT_START = ("PYTHON", "LC_", "LANG")
"""Variables that Python reads when it starts; the server has started."""


class Server:
    """The process, and calls to it. One for each test process, ended with it."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = {key: value for key, value in env.items() if key.startswith(AT_START)}
        self._path = tempfile.mktemp(prefix="lovia-warm-")
        command = [sys.executable, "-m", "tests.cli.warm", self._path]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def can(self, env: dict[str, str]) -> bool:
        """True where a fork of the server is what a process of its own would be."""
        return {key: value for key, value in env.items() if key.startswith(AT_START)} == self._env

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str],
        stdin: bytes | None,
        timeout: float,
        trace: Path | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """The command's exit code and what it printed. Raises `subprocess.TimeoutExpired`."""
        with tempfile.TemporaryDirectory(prefix="lovia-warm-") as folder:
            given, *printed = (Path(folder, name) for name in ("in", "out", "err"))
            if stdin is None:
                given = Path(os.devnull)
            else:
                given.write_bytes(stdin)
            streams = [str(path) for path in (given, *printed)]
            request = {"argv": argv, "cwd": str(cwd), "env": env, "streams": streams}
            request["trace"] = str(trace) if trace else None
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(timeout)
                connection.connect(self._path)
                connection.sendall(json.dumps(request).encode() + b"\n")
                try:
                    answer = connection.makefile("r").readline()
                except TimeoutError:
                    raise subprocess.TimeoutExpired(list(argv), timeout) from None
            return subprocess.CompletedProcess(argv, int(answer), *(path.read_bytes() for path in printed))


def serve(path: str) -> None:
    """Fork for each connection, until stdin ends."""
    _preload()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                Path(path).unlink()
                return
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                if os.fork() == 0:  # nobody's child, so that nobody has to wait for it
                    _answer(connection)
                os._exit(0)
            os.wait()
            connection.close()


def _answer(connection: socket.socket) -> NoReturn:
    request = json.loads(connection.makefile("r").readline())
    child = os.fork()
    if child == 0:
        connection.close()
        _become(request)
    _, status = os.waitpid(child, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(request: dict[str, Any]) -> NoReturn:
    """Be the script, with these words, streams and surroundings."""
    flags = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
    for number, (name, flag) in enumerate(zip(request["streams"], flags, strict=True)):
        file = os.open(name, flag, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = request["argv"]
    from lovia_cli.__main__ import main

    if request["trace"]:
        _trace(os.open(request["trace"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    main()


def _trace(log: int) -> None:
    """Write down in ``log`` what is opened and called from now on, in all threads."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir"):
            os.write(log, f"{event} {args[0]}\n".encode())

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and f"{ROOT}/stores/" in code.co_filename:
            os.write(log, f"call {code.co_filename.removeprefix(str(ROOT))} {code.co_qualname}\n".encode())

    sys.addaudithook(hook)
    threading.setprofile(profile)
    sys.setprofile(profile)


def _preload() -> None:
    """Import what is ours, and with it what it needs."""
    import lovia_cli
    import stores

    for package in (lovia_cli, stores):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and ".conformance" not in module.name:
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    serve(sys.argv[1])
