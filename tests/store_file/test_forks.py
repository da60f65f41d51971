"""What forks share on disk: how much is written, what stays and what goes, and what damage does (H2, H3, D3)."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest

from stores.entries import ToolCallEntry, ToolResultEntry
from stores.errors import RunNotFoundError, StoreDamagedError, StoreVersionError, StoreWriteError
from stores.file import FileSession, FileStore
from stores.file.doctor.check import check, repair
from stores.file.doctor.check_run import problems_of_run
from stores.file.locks import lock_of
from stores.file.names import BEGINNING, is_key, name_of
from stores.file.root import Root
from stores.file.survey import survey
from stores.oslock import Lock
from stores.records import Save
from tests.store_file.kit import everything, files, first, later, only, read, rewrite, say, write_run

pytestmark = pytest.mark.anyio

BIG = "x" * 9_000

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def fork(path: Path, source: str, new_id: str, behind: int, *more: Save, session: str | None = None) -> None:
    store = FileStore(path).checkpointer
    head = {"status": "interrupted", "parent": {"run_id": source, "save": behind}, "session_id": session}
    async with store.lease(new_id) as lease:
        await store.fork(lease, source, Save(number=behind + 1, step=behind - 1, at=99.0, event="forked", head=head))
        for save in more:
            await lease.save(save)


async def texts(path: Path, run_id: str) -> list[str]:
    snapshot = await FileStore(path).checkpointer.load(run_id)
    assert snapshot is not None
    return [entry.text[:2] for entry in snapshot.entries if hasattr(entry, "text")]


def keys(path: Path) -> set[str]:
    """The data folders that hold chunks."""
    return {file.parent.name for file in files(path, "data/*/0*.json")}


def key_of(path: Path, run_id: str) -> str:
    return str(read(only(path, f"runs/{run_id}.*.json"))["key"])


async def test_h2_a_fork_writes_no_more_than_the_chunk_of_its_cut(path: Path) -> None:
    await write_run(FileStore(path).checkpointer, "r", 60, text=BIG)
    before = everything(path)
    sizes = []
    for behind in (5, 31, 59):
        await fork(path, "r", f"f{behind}", behind)
        sizes.append(sum(file.stat().st_size for file in files(path, f"data/{key_of(path, f'f{behind}')}/*")))
    after = everything(path)
    assert {name: after[name] for name in before} == before, "the source has changed"
    assert max(sizes) < 4 * len(BIG)
    assert await texts(path, "f59") == ["go", *["xx"] * 58]
    shared = read(only(path, f"data/{key_of(path, 'f59')}/000001.json"))
    assert (shared["base"]["id"], shared["base"]["key"], shared["own"]) == ("r", key_of(path, "r"), 60)


async def test_h2_what_is_shared_goes_with_the_last_that_reads_it(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 12, later(14, BIG), *(later(n, BIG) for n in range(15, 24)))
    await fork(path, "f", "g", 22)
    await fork(path, "r", "h", 12)
    source, middle = key_of(path, "r"), key_of(path, "f")
    await store.delete("r")
    assert source in keys(path)
    assert len(files(path, f"data/{source}/dropped.json")) == 1
    await store.delete("f")
    assert {source, middle} <= keys(path)
    assert [len(await texts(path, name)) for name in ("g", "h")] == [21, 12]
    assert check(path) == []
    await store.delete("h")
    assert [len(await texts(path, "g"))] == [21]
    await store.delete("g")
    assert files(path, "data/**/*") == []
    assert check(path) == []


async def test_r4_a_restart_leaves_the_forks_of_the_run_before(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 12)
    for _ in range(2):
        await write_run(store, "r", 2)
    assert (len(await texts(path, "f")), len(await texts(path, "r"))) == (12, 2)
    assert check(path) == []
    await store.delete("f")
    assert len(keys(path)) == 1


async def test_h2_a_fork_that_was_cut_off_is_in_nobodys_way(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 12)
    (path / "data" / key_of(path, "f") / BEGINNING).touch()
    only(path, "runs/f.*.json").unlink()  # as a kill before the last write leaves it
    assert await FileStore(path).checkpointer.load("f") is None
    await fork(path, "r", "f", 10)
    assert len(await texts(path, "f")) == 10
    assert [finding.is_leftover for finding in check(path)] == [True]
    repair(path)
    await store.delete("r")
    await store.delete("f")
    assert (check(path), keys(path)) == ([], set())


async def test_d3_damage_of_what_is_shared_names_the_file_and_hurts_no_other(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "late", 18)
    await fork(path, "r", "early", 3)
    chunk = path / "data" / key_of(path, "r") / "000003.json"
    whole = chunk.read_bytes()
    chunk.write_bytes(whole.replace(b"xxx", b"xyx", 1))
    with pytest.raises(StoreDamagedError, match="does not match its checksum") as damaged:
        await FileStore(path).checkpointer.load("late")
    assert damaged.value.where == str(chunk)
    assert len(await texts(path, "early")) == 3
    found = [finding for finding in check(path) if finding.file == str(chunk)]
    assert len(found) == len(check(path)) == 2, "the run's own, and the fork's"
    assert any("which fork 'late' shares" in finding.what for finding in found)
    chunk.write_bytes(whole)
    rewrite(chunk, v=99)
    with pytest.raises(StoreVersionError, match="a newer lovia wrote this file"):
        await FileStore(path).checkpointer.load("late")
    chunk.write_bytes(whole)
    assert check(path) == []


async def test_h2_a_fork_whose_own_saves_are_lost_is_no_run_of_its_sources_session(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG, session="s")
    await fork(path, "r", "f", 2, session="f")
    before = await store.load("r")
    file = path / "data" / key_of(path, "f") / "000001.json"
    data = file.read_bytes()
    file.write_bytes(data[: data.index(b'"event":"forked"')])
    assert [finding.is_lost for finding in check(path)] == [True]
    assert "fork 'f' cannot be kept without it: its data was moved to quarantine/data__" in repair(path)[0].what
    assert check(path) == []
    assert (await store.load("f"), await store.load("r")) == (None, before)
    async with store.open_runs("s") as opened:
        assert [run.run_id for run in opened] == ["r"]


async def test_d3_a_mark_that_is_gone_is_made_again(path: Path) -> None:
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 12)
    only(path, "data/*/forks/*.json").unlink()
    assert [finding.repairable for finding in check(path)] == [True]
    repair(path)
    await store.delete("r")
    assert len(await texts(path, "f")) == 12


async def test_h3_segments_that_forks_read_stay_until_they_go(path: Path) -> None:
    store = FileStore(path).session
    for number in (1, 2, 3):
        await store.append("s", [say("go"), say(f"{number}", 1)], run_id=f"r{number}")
    await store.fork_session("s", "f", upto="r2")
    await store.confirm_fork("f")
    await store.rewind("s", keep_entries=2)
    assert len(files(path, "sessions/s.*/0*.json")) == 2
    await store.clear("s")
    assert len(files(path, "sessions/s.*/0*.json")) == 2
    await store.append("s", [say("new")], run_id="r9")
    assert [segment.run_id for segment in await store.segments("f")] == ["r1", "r2"]
    assert [segment.run_id for segment in await store.segments("s")] == ["r9"]
    assert check(path) == []
    await store.clear("s")
    await store.clear("f")
    assert files(path, "sessions/**/*.json") == []
    assert check(path) == []


async def test_d3_marks_of_forked_sessions_are_mended(path: Path) -> None:
    store = FileStore(path).session
    await store.append("s", [say("go")], run_id="r1")
    await store.fork_session("s", "f", upto="r1")
    await store.confirm_fork("f")
    only(path, "sessions/s.*/forks/*.json").unlink()
    assert [finding.repairable for finding in check(path)] == [True]
    repair(path)
    await store.clear("s")
    assert [segment.run_id for segment in await store.segments("f")] == ["r1"]


async def test_d3_a_run_that_is_deleted_while_the_doctor_looks_is_not_lost(path: Path) -> None:
    """Its data stays for a fork, and was surveyed before."""
    store = FileStore(path).checkpointer
    await write_run(store, "r", 20, text=BIG)
    await fork(path, "r", "f", 12)
    root, name = Root(path), name_of("r")
    surveyed = survey(root)
    await store.delete("r")
    assert problems_of_run(root, name, surveyed) == []


async def test_d2_a_run_that_an_earlier_version_wrote_can_be_forked(path: Path) -> None:
    """Its chunks do not say where the head's fields were set: then all of them are read."""
    store = FileStore(path).checkpointer
    async with store.lease("r") as lease:
        await lease.save(first(config={"model": "m"}))
        for number in range(2, 20):
            await lease.save(later(number, BIG, state={"n": number}))
    before = ""
    for chunk in files(path, "data/*/0*.json"):
        document = read(chunk)
        changes = {} if document["prev"] is None else {"prev": before}
        rewrite(chunk, **changes)
        rewritten = {name: value for name, value in read(chunk).items() if name != "sets"}
        chunk.write_bytes(b"")
        _write(chunk, rewritten)
        before = read(chunk)["sum"]
    await fork(path, "r", "f", 15)
    head = await FileStore(path).checkpointer.moment("f")
    assert head is not None
    assert (head.config, head.state, head.save) == ({"model": "m"}, {"n": 15}, 16)
    assert len(await texts(path, "f")) == 15


def _write(chunk: Path, document: dict[str, object]) -> None:
    """The document as it is, sealed."""
    chunk.write_text('{"v":1,"sum":"x"}')
    rewrite(chunk, **document)


async def test_h3_a_session_forked_again_while_its_end_is_noted_keeps_its_mark(path: Path) -> None:
    """The fork that goes is held until its marks are gone; whoever forks under its id waits."""
    store, other = FileStore(path).session, FileStore(path).session
    for number in (1, 2):
        await store.append("s", [say("go"), say(f"{number}", 1)], run_id=f"r{number}")
    await forked(store, "s", "f", "r2")
    source, fork = session_locks(path, "s", "f")
    assert source.try_take()
    async with asyncio.TaskGroup() as tasks:
        removal = tasks.create_task(store.clear("f"))
        while b'"cleared":true' not in only(path, "sessions/f.*/session.json").read_bytes():
            await asyncio.wait({removal}, timeout=0.01)
        assert fork.is_held()
        tasks.create_task(forked(other, "s", "f", "r2"))
        source.release()
    await store.rewind("s", keep_entries=2)
    assert [segment.run_id for segment in await store.segments("f")] == ["r1", "r2"]
    assert check(path) == []


@pytest.mark.parametrize("is_done", [True, False])
async def test_h3_a_mark_that_a_crash_has_left_makes_no_fork_of_a_new_session(path: Path, *, is_done: bool) -> None:
    store = FileStore(path)
    await store.session.append("s", [say("go")], run_id="r1")
    await store.session.fork_session("s", "f", upto="r1")
    mark = only(path, "sessions/s.*/forks/f.*.json")
    marked = mark.read_bytes()
    await store.session.drop_fork("f")
    mark.write_bytes(marked)
    await write_run(store.checkpointer, "new", 2, session="f")
    if is_done:
        await FileStore(path).session.append("f", [say("new")], run_id="new")
    assert await FileStore(path).session.load("f") == ([say("new")] if is_done else [])
    repair(path)
    assert await store.session.load("f") == ([say("new")] if is_done else [])
    assert check(path) == []


async def test_h3_what_a_fork_that_is_just_removed_has_marked_is_nobodys_leftover(path: Path) -> None:
    """The doctor takes nothing there for what a crash has left until nobody is at work in the fork."""
    store = FileStore(path).session
    await store.append("s", [say("go")], run_id="r1")
    await store.fork_session("s", "f", upto="r1")
    mark = only(path, "sessions/s.*/forks/f.*.json")
    marked, (fork,) = mark.read_bytes(), session_locks(path, "f")
    await store.drop_fork("f")
    mark.write_bytes(marked)
    assert fork.try_take()
    assert check(path) == repair(path) == []
    fork.release()
    assert [Path(finding.file) for finding in repair(path)] == [mark]


def session_locks(path: Path, *session_ids: str) -> list[Lock]:
    return [lock_of(str(path / "locks" / "sessions"), name_of(session_id)) for session_id in session_ids]


async def forked(store: FileSession, source: str, new_id: str, upto: str) -> None:
    await store.fork_session(source, new_id, upto=upto)
    await store.confirm_fork(new_id)


async def test_r5_a_flush_that_fails_leaves_no_fork_or_a_whole_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the last one, behind the rename of the ref: the fork may be there then, so what it reads stays."""
    flush, outcomes = os.fsync, []
    for failing in count(1):
        store, calls = path / str(failing), count(1)
        await write_run(FileStore(store).checkpointer, "r", 20, text=BIG)

        def fail_once(fd: int, calls: Iterator[int] = calls, failing: int = failing) -> None:
            if next(calls) == failing:
                raise OSError(errno.EIO, "Input/output error")
            flush(fd)

        monkeypatch.setattr(os, "fsync", fail_once)
        with suppress(StoreWriteError):
            await fork(store, "r", "f", 12)
        monkeypatch.setattr(os, "fsync", flush)
        found = await FileStore(store).checkpointer.load("f")
        outcomes.append(None if found is None else len(found.entries))
        assert [finding for finding in check(store) if not finding.is_leftover] == []
        if next(calls) <= failing:
            break
        repair(store)
        for name in ("r", "f"):
            await FileStore(store).checkpointer.delete(name)
        assert files(store, "data/**/*") == []
    assert outcomes == [*[None] * (len(outcomes) - 2), 12, 12]


async def test_h2_a_run_that_goes_on_while_it_is_forked_is_not_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save seals the tail between the reads of two chunks: then both are read again."""
    writer, real = FileStore(path).checkpointer, os.open
    async with writer.lease("r") as lease:
        await lease.save(first())
        await lease.save(later(2))
        saves = [later(3), later(4, "x" * 40_000)]

        def seal_first(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if name == "000002.json" and saves:
                due, saves[:] = list(saves), []
                for save in due:
                    driven(lease.save(save))
            return real(name, flags, mode, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", seal_first)
        await fork(path, "r", "f", 2)
        assert saves == []
    assert await texts(path, "f") == ["go", "ye"]


def test_h2_a_fork_whose_source_goes_meanwhile_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, rename, due = FileStore(path).checkpointer, os.rename, ["r"]
    driven(write_run(store, "r", 20, text=BIG))

    def delete_behind_the_mark(temp: str, name: str, **folders: int) -> None:
        rename(temp, name, **folders)
        if due and is_key(name.removesuffix(".json")):
            driven(FileStore(path).checkpointer.delete(due.pop()))

    monkeypatch.setattr(os, "rename", delete_behind_the_mark)
    with pytest.raises(RunNotFoundError):
        driven(fork(path, "r", "f", 12))
    assert due == []
    assert files(path, "data/**/*") == []


def test_h2_a_deletion_that_is_killed_anywhere_is_brought_to_its_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for killed in count(1):
        store, calls = path / str(killed), count(1)
        driven(write_run(FileStore(store).checkpointer, "r", 20, text=BIG))
        driven(fork(store, "r", "f", 12))
        driven(FileStore(store).checkpointer.delete("r"))
        with monkeypatch.context() as patch:
            for name in ("rename", "unlink", "rmdir"):
                patch.setattr(os, name, killed_at(killed, calls, getattr(os, name)))
            with suppress(Killed):
                driven(FileStore(store).checkpointer.delete("f"))
        driven(FileStore(store).checkpointer.delete("f"))
        assert files(store, "data/**/*") == [], killed
        if next(calls) <= killed:
            break


def test_m1_a_trim_beside_forks_begins_one_epoch_and_asks_each_fork_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, real = [], os.open

    def open_seen(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(name)
        return real(name, flags, mode, dir_fd=dir_fd)

    asked = []
    for length in (3, 6):
        store = path / str(length)
        driven(long_session(store, length))
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", open_seen)
            driven(FileStore(store).session.trim_tool_results("s", keep_chars=3, keep_runs=0))
        asked.append(opened.count("session.json"))
        opened.clear()
        assert read(only(store, "sessions/s.*/session.json"))["epoch"] == 1
        assert check(store) == []
        assert outputs(store, "s") == [False] * length
        assert outputs(store, "f") == [True] * length
    assert asked[0] == asked[1]


def test_m1_a_trim_beside_forks_that_is_killed_anywhere_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for killed in count(1):
        store, calls = path / str(killed), count(1)
        driven(long_session(store, 3))
        with monkeypatch.context() as patch, suppress(Killed):
            for name in ("rename", "unlink"):
                patch.setattr(os, name, killed_at(killed, calls, getattr(os, name)))
            driven(FileStore(store).session.trim_tool_results("s", keep_chars=3, keep_runs=0))
        assert outputs(store, "s") in ([True] * 3, [False] * 3)
        driven(FileStore(store).session.append("s", [say("more")], run_id="more"))
        driven(FileStore(store).session.trim_tool_results("s", keep_chars=3, keep_runs=0))
        assert (outputs(store, "s"), outputs(store, "f")) == ([False] * 3, [True] * 3)
        assert check(store) == []
        if next(calls) <= killed:
            break


async def long_session(path: Path, length: int) -> None:
    """A session of so many long outputs, and a fork that reads all of it."""
    store = FileStore(path).session
    for n in range(length):
        call = ToolCallEntry(id="c", name="t", arguments="{}", step=1, position=1)
        result = ToolResultEntry(call_id="c", output="o" * 999, step=1, position=1)
        await store.append("s", [say("go"), call, result], run_id=f"r{n}")
    await forked(store, "s", "f", f"r{length - 1}")


def outputs(path: Path, session_id: str) -> list[bool]:
    """Of each output in the session, whether it is whole."""
    found = driven(FileStore(path).session.load(session_id))
    return [len(entry.output) == 999 for entry in found if isinstance(entry, ToolResultEntry)]


async def test_h3_a_fork_names_all_it_begins_with_in_one_list_however_long_the_chain(path: Path) -> None:
    """An earlier version nested them, which ended where JSON may be nested no deeper: it is read, and forked, too."""
    store = FileStore(path).session
    for n in range(5):
        if n:
            await forked(store, f"f{n - 1}", f"f{n}", f"r{n - 1}")
        await store.append(f"f{n}", [say(f"{n}")], run_id=f"r{n}")
    last = only(path, "sessions/f4.*/session.json")
    base = read(last)["base"]
    assert [part["session"] for part in base["before"]] == ["f0", "f1", "f2"]
    assert not any("before" in part for part in base["before"])
    nested = None
    for part in (*base["before"], base):
        nested = part | {"before": nested}
    rewrite(last, base=nested)
    await forked(store, "f4", "g", "r4")
    await forked(store, "f4", "h", "r1")
    assert read(only(path, "sessions/h.*/session.json"))["base"]["before"] == base["before"][:1]
    runs = {name: [segment.run_id for segment in await store.segments(name)] for name in ("f4", "g", "h")}
    assert runs == {"f4": (every := ["r0", "r1", "r2", "r3", "r4"]), "g": every, "h": every[:2]}
    assert check(path) == []


async def test_h2_a_fork_of_forks_reads_no_more_than_one_of_a_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, real, opened = FileStore(path).checkpointer, os.open, list[str]()
    async with store.lease("f0") as lease:
        await lease.save(first(config={"model": "m"}))
        for n in range(2, 8):
            await lease.save(later(n, "x" * 33_000, state={"n": n}))

    def open_seen(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(name)
        return real(name, flags, mode, dir_fd=dir_fd)

    asked = []
    for n in range(1, 7):
        behind = 6 + 2 * n - 1
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", open_seen)
            await fork(path, f"f{n - 1}", f"f{n}", behind)
            head = await FileStore(path).checkpointer.moment(f"f{n}")
        assert head is not None
        assert (head.config, head.state["n"], head.agent) == ({"model": "m"}, behind, "a")
        asked.append(sum(name.startswith("0000") and len(name) == len("000001.json") for name in opened))
        opened.clear()
        async with FileStore(path).checkpointer.lease(f"f{n}") as lease:
            for number in (behind + 2, behind + 3):
                await lease.save(later(number, "x" * 33_000, state={"n": number}))
    assert asked[2:] == [asked[2]] * 4
    for behind in range(1, 19):
        await fork(path, "f6", f"g{behind}", behind)
        snapshot = await store.snapshot(f"g{behind}", behind + 1)
        assert snapshot is not None
        assert await store.moment(f"g{behind}") == snapshot.head
    assert check(path) == []


class Killed(BaseException):
    """No error, so nobody handles it."""


def killed_at(number: int, calls: Iterator[int], real: Callable[..., None]) -> Callable[..., None]:
    def step(*args: object, **more: object) -> None:
        if next(calls) >= number:
            raise Killed
        real(*args, **more)

    return step


def driven(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns, done right here: it waits for nothing."""
    with pytest.raises(StopIteration) as done:
        work.send(None)
    result: T = done.value.value
    return result
