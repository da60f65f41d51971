"""Starting `lovia` without its imports: forks of a process that has them done. Six times as many crashes a minute.

The tools call this with --warm. What runs is what the installed script runs: `lovia_cli.__main__.main`.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

import verify


def become(command: str, env: dict[str, str]) -> NoReturn:
    """Be that command: `lovia ...`, `PYTHON verify.py ...` or `PYTHON TOOL ...`. For a fork, with its streams set."""
    words = shlex.split(command.removeprefix("exec "))
    os.environ.clear()
    os.environ.update(env | {"SWEEP_WARM": "1"})
    sys.argv = words
    code = 70
    try:
        if words[0] == "lovia":
            from lovia_cli.__main__ import main

            main()
        code = verify.main(words[2:]) if Path(words[1]).name == "verify.py" else _tool(words[1:])
        sys.stdout.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    os._exit(code)


def _tool(argv: list[str]) -> int:
    """Run one of tools/ as a program: its crashes are forks of this process, too."""
    sys.argv = argv
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as end:
        if not isinstance(end.code, str):
            return int(end.code or 0)
        print(end.code)
        return 1
    return 0


def check(command: str, *, cwd: str, env: dict[str, str], timeout: float) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a fork and give what it printed; raises `subprocess.TimeoutExpired`."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.chdir(cwd)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            become(command, env)

        def expired(_number: int, _frame: FrameType | None) -> NoReturn:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise subprocess.TimeoutExpired(command, timeout)

        before = signal.signal(signal.SIGALRM, expired)
        signal.alarm(int(timeout))
        try:
            _, status = os.waitpid(child, 0)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        output.seek(0)
        return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), output.read(), b"")


def _preload() -> None:
    """Import whatever a run imports: one is made in a fork, and says what it has loaded."""
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        child = os.fork()
        if child == 0:
            from lovia_cli.cli.app import main

            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os.chdir(here)
            shutil.copytree(Path(__file__).parent / "agent", here / "agent")
            main(["run", "agent/agent.yaml", "go", "--max-steps", "1", "-o", "ndjson"])
            main(["history"])
            main(["doctor"])
            named = [name for name, module in list(sys.modules.items()) if getattr(module, "__spec__", None)]
            (here / "modules").write_text("\n".join(named), encoding="utf-8")
            os._exit(0)
        os.waitpid(child, 0)
        for name in (here / "modules").read_text(encoding="utf-8").splitlines():
            if name.split(".")[0] in sys.stdlib_module_names or importlib.util.find_spec(name.split(".")[0]):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


_preload()
