"""Two processes at one session: nothing lost, nothing doubled."""

import subprocess
import sys
from pathlib import Path

import pytest

from stores.conformance.samples import say
from stores.file import FileSession
from stores.file.doctor.check import check

ROOT = Path(__file__).parent.parent.parent
COUNT = 500

APPEND = """
import asyncio, sys
from stores.conformance.samples import say
from stores.file import FileSession
async def main(path, name, count):
    session = FileSession(path)
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(count)):
        await session.append("s", [say(f"{name} {n}")], run_id=f"{name} {n}")
        if n % 50 == 0:
            await session.append("s", [say(f"both {n}")], run_id=f"both {n}")
asyncio.run(main(*sys.argv[1:]))
"""


def append_side_by_side(path: Path, *names: str) -> None:
    """Each name is a process; all of them begin at once."""
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", APPEND, path, name, str(COUNT)], stdin=pipe, stdout=pipe, cwd=ROOT)
        for name in names
    ]
    try:
        assert [process.stdout.readline() if process.stdout else b"" for process in started] == [b"ready\n"] * 2
        for process in started:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert [process.wait(timeout=240) for process in started] == [0, 0]
    finally:
        for process in started:
            process.kill()
            process.communicate()


@pytest.mark.anyio
async def test_s3_two_processes_append_500_times_each_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    path = tmp_path / ".lovia"
    append_side_by_side(path, "a", "b")
    found = await FileSession(path).segments("s")
    both = [f"both {n}" for n in range(0, COUNT, 50)]
    alone = {name: [f"{name} {n}" for n in range(COUNT)] for name in ("a", "b")}
    assert sorted(segment.run_id for segment in found) == sorted([*both, *alone["a"], *alone["b"]])
    assert all([say(segment.run_id)] == segment.entries for segment in found)
    for name, expected in alone.items():
        assert [segment.run_id for segment in found if segment.run_id.startswith(f"{name} ")] == expected
    [listed] = await FileSession(path).sessions()
    assert (listed.segments, listed.entries) == (len(found), len(found))
    assert check(path) == []
