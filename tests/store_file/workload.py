"""A run and its session, driven straight through the file store, for the crash and power-loss sweeps.

    workload.py run      start or go on, up to the end; each line on stdout was durable before it was printed
    workload.py check    what CRASH_STDOUT acknowledged is there and nothing else; then go on to the end and compare
    workload.py serve    the same check for many states: one JSON line {dir, stdout} in, one line "ok" or "FAIL why" out

The run meets everything that is written in more than one step: a fresh run, a seal, a stop and a resume, its
completion, the append of its segment, a second run that is begun anew, and one that is deleted.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from stores.entries import AssistantTextEntry, Entry, InputEntry
from stores.errors import LoviaError
from stores.file import FileStore
from stores.file.doctor.check import check as doctor
from stores.protocols import RunLease
from stores.records import RunSnapshot, Save

ENTRIES = 7
STOP_AT = 4
SESSION = "talk"
QUIET = "run" not in sys.argv[1:]
"""Only a run that may be cut off acknowledges what it has done."""


def entry(number: int) -> Entry:
    """Entry ``number``, from 1: large enough that three of them fill a chunk."""
    return InputEntry(text="go") if number == 1 else AssistantTextEntry(text=f"{number} " * 5_000, step=number - 1)


def say(*words: object) -> None:
    if not QUIET:
        print(*words, flush=True)


async def run(store: FileStore) -> None:
    await drive(store, "main", ENTRIES)
    await begin_anew(store)
    await forget(store)
    say("done")


async def drive(store: FileStore, run_id: str, entries: int) -> None:
    """The whole life of one run of the session."""
    async with store.checkpointer.open_runs(SESSION):
        pass  # what a crash left half done is cleared here
    async with store.checkpointer.lease(run_id) as lease:
        snapshot = await lease.load()
        if snapshot is None or snapshot.head.status != "completed":
            await go_on(lease, snapshot, entries)
        await finish(store, lease, run_id)


async def go_on(lease: RunLease, snapshot: RunSnapshot | None, entries: int) -> None:
    done = len(snapshot.entries) if snapshot else 0
    number = snapshot.head.save if snapshot else 0
    status = snapshot.head.status if snapshot else ""

    async def save(event: str, new: list[Entry], **head: object) -> None:
        nonlocal number
        number += 1
        await lease.save(Save(number=number, step=done, at=float(number), event=event, entries=new, head=head))

    if snapshot is None:
        await save("started", [entry(1)], status="running", session_id=SESSION, agent="a", started_at=1.0)
        done, status = 1, "running"
        say("entries", 1)
    while done < entries:
        if status != "running":
            await save("resumed", [], status="running")
            status = "running"
        await save("response", [entry(done + 1)])
        done += 1
        say("entries", done)
        if done == STOP_AT:
            await save("interrupted", [], status="interrupted", stop={"reason": "signal"})
            status = "interrupted"
            say("stopped")
    await save("completed", [], status="completed", output="end")
    say("completed")


async def finish(store: FileStore, lease: RunLease, run_id: str) -> None:
    """The segment of a completed run, and then its marker: both may be there already."""
    snapshot = await lease.load()
    assert snapshot is not None
    await store.session.append(SESSION, snapshot.entries, run_id=run_id, meta={"n": 1})
    say("appended")
    await store.checkpointer.settle(run_id)
    say("settled")


async def begin_anew(store: FileStore) -> None:
    """A run that is begun, begun anew and never finished."""
    async with store.checkpointer.lease("other") as lease:
        snapshot = await lease.load()
        if snapshot is None:
            await lease.save(
                Save(number=1, step=0, at=1.0, event="started", entries=[entry(1)], head={"session_id": SESSION})
            )
            say("begun")
        if snapshot is None or len(snapshot.entries) == 1:
            head = {"session_id": SESSION, "status": "failed"}
            await lease.save(Save(number=1, step=0, at=2.0, event="started", entries=[entry(1), entry(2)], head=head))
        say("anew")


async def forget(store: FileStore) -> None:
    """A run that is gone in the end; whoever goes on cannot know whether it was there."""
    async with store.checkpointer.lease("gone") as lease:
        await lease.save(Save(number=1, step=0, at=1.0, event="started", entries=[entry(1)], head={"status": "failed"}))
    await store.checkpointer.delete("gone")
    say("deleted")


async def verify(store: FileStore, printed: list[str], crashes: int) -> None:
    """The state that a crash left, and then where going on leads."""
    await verify_state(store, printed, crashes)
    await run(store)
    snapshot = await store.checkpointer.load("main")
    assert snapshot is not None
    assert snapshot.status == "completed"
    assert snapshot.entries == [entry(number) for number in range(1, ENTRIES + 1)]
    assert [segment.run_id for segment in await store.session.segments(SESSION)] == ["main"]
    async with store.checkpointer.open_runs(SESSION) as runs:
        assert [info.run_id for info in runs] == ["other"], runs
    left = [finding for finding in doctor(store.path) if not finding.is_leftover]
    assert not left, left


async def verify_state(store: FileStore, printed: list[str], crashes: int) -> None:
    acknowledged = max((int(line.split()[1]) for line in printed if line.startswith("entries")), default=0)
    snapshot = await store.checkpointer.load("main")
    found = snapshot.entries if snapshot else []
    assert found == [entry(number) for number in range(1, len(found) + 1)], "not the entries that were saved"
    assert acknowledged <= len(found) <= acknowledged + crashes, f"{len(found)} entries, {acknowledged} acknowledged"
    status = snapshot.status if snapshot else None
    assert status == "completed" or "completed" not in printed, "the end was acknowledged and is lost"
    assert status != "running", "nobody executes it"
    segments = await store.session.segments(SESSION)
    assert len(segments) == 1 or "appended" not in printed, "the segment was acknowledged and is lost"
    assert all(segment.entries == found for segment in segments)
    other = await store.checkpointer.load("other")
    assert len(other.entries if other else []) >= ("begun" in printed) + ("anew" in printed)
    gone = await store.checkpointer.load("gone")
    assert gone is None or printed[-1:] != ["deleted"]
    assert not [info for info in await store.checkpointer.runs() if info.damage]


def serve() -> None:
    """Check one state after the other, as the power-loss explorer hands them over."""
    for line in sys.stdin:
        state = json.loads(line)
        os.chdir(state["dir"])
        try:
            asyncio.run(verify(FileStore(".lovia"), whole_lines(state["stdout"]), 1))
            answer = "ok"
        except Exception as error:
            answer = "FAIL " + repr(error).replace("\n", " ")
        print(answer, flush=True)


def whole_lines(path: str) -> list[str]:
    return Path(path).read_text().split("\n")[:-1]


def main(command: str) -> None:
    if command == "run":
        try:
            asyncio.run(run(FileStore(".lovia")))
        except LoviaError as error:
            sys.exit(f"error: {error} ({error.where})")
    elif command == "serve":
        serve()
    else:
        printed = whole_lines(os.environ["CRASH_STDOUT"])
        asyncio.run(verify(FileStore(".lovia"), printed, int(os.environ.get("CRASH_COUNT", "1"))))


if __name__ == "__main__":
    main(sys.argv[1])
