"""What the tests of the file store share: saves, and a look at the files."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stores.entries import AssistantTextEntry, Entry, InputEntry
from stores.file import FileCheckpointer
from stores.protocols import RunLease
from stores.records import Save


def say(text: str, step: int = 0) -> Entry:
    return InputEntry(text=text) if step == 0 else AssistantTextEntry(text=text, step=step)


def first(session: str | None = None, **head: object) -> Save:
    """Save 1 of a run: its input."""
    head = {"status": "running", "agent": "a", "started_at": 1.0} | ({"session_id": session} if session else {}) | head
    return Save(number=1, step=0, at=1.0, event="started", entries=[say("go")], head=head)


def later(number: int, text: str = "yes", **head: object) -> Save:
    """Save ``number``: one more answer."""
    step = number - 1
    return Save(
        number=number,
        step=step,
        at=float(number),
        event="response",
        entries=[say(text, step)] if text else [],
        head=head,
    )


async def write_run(
    store: FileCheckpointer,
    run_id: str = "r",
    saves: int = 3,
    *,
    session: str | None = None,
    text: str = "yes",
    **end: object,
) -> None:
    """A run of so many saves; ``end`` is what the last one changes in the head."""
    async with store.lease(run_id) as lease:
        await lease.save(first(session))
        for number in range(2, saves + 1):
            await lease.save(later(number, text, **(end if number == saves else {})))


async def go_on(lease: RunLease, *saves: Save) -> None:
    for save in saves:
        await lease.save(save)


def files(store: Path, pattern: str = "**/*") -> list[Path]:
    """The files of the store that match, by path."""
    return sorted(path for path in store.glob(pattern) if path.is_file() and not path.is_symlink())


def exists(path: Path) -> bool:
    return path.exists()


def make(folder: Path) -> None:
    folder.mkdir(parents=True)


def entries(folder: Path) -> list[str]:
    """The names in one folder."""
    return sorted(entry.name for entry in folder.iterdir())


def modes(store: Path) -> set[tuple[bool, str]]:
    """Whether it is a folder, and its mode, of everything in the store."""
    return {(entry.is_dir(), oct(entry.stat().st_mode & 0o7777)) for entry in (store, *store.rglob("*"))}


def only(store: Path, pattern: str) -> Path:
    """The one file that matches."""
    found = files(store, pattern)
    assert len(found) == 1, found
    return found[0]


def chunk(store: Path, number: int) -> Path:
    return only(store, f"data/*/{number:06d}.json")


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


def rewrite(path: Path, **changes: object) -> None:
    """Change fields of a document and seal it again, as another version of lovia would have written it."""
    document = read(path) | changes
    del document["sum"]
    body = json.dumps(document, ensure_ascii=False).encode()[:-1]
    path.write_bytes(body + b',"sum":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n')


def reseal(path: Path, old: bytes, new: bytes) -> None:
    """Replace some bytes of a document, and seal it again with all else as it was."""
    before, found, after = path.read_bytes().rpartition(b',"sum":"')[0].partition(old)
    assert found
    body = before + new + after
    path.write_bytes(body + b',"sum":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n')


def everything(store: Path) -> dict[str, bytes]:
    """Every file's bytes, to see that nothing changed. Locks hold nothing."""
    return {str(path.relative_to(store)): path.read_bytes() for path in files(store) if path.suffix != ".lock"}


@contextmanager
def other_process(store: Path, code: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs ``code`` with ``store``, and has printed its first line; killed in the end."""
    source = "import asyncio, sys\nfrom stores.file import FileStore\nfrom tests.store_file.kit import *\n"
    source += "async def main(store):\n" + "".join(f"    {line}\n" for line in code.splitlines())
    source += "asyncio.run(main(FileStore(sys.argv[1])))\n"
    command = [sys.executable, "-c", source, str(store)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def kill(process: subprocess.Popen[str]) -> None:
    """Kill it without asking for it: to the system it is still there, as a zombie."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def freeze(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
