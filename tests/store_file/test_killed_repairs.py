"""A repair that is killed, wherever, is done over by the next one, and comes to the same end (D3, R7)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import everything, only, rewrite, say, write_run
from tests.store_file.test_forks import BIG, fork, key_of
from tests.store_file.test_older_copies import cut_talk
from tests.store_file.test_restoring import cut, talk

pytestmark = pytest.mark.anyio

CHANGES = ("rename", "unlink", "link", "mkdir", "rmdir", "write", "fsync")
"""The system calls by which a store changes."""


class Killed(BaseException):
    """The process is dead: from here on nothing changes any more."""


def repair_until(path: Path, calls: int) -> bool:
    """A repair that is killed before its next change after so many ``calls``; False when it is done by then."""
    left = calls

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGES:
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            repair(path)
        except Killed:
            return True
    return False


async def state(path: Path) -> dict[str, Any]:
    """Every session's segments and open runs, and every run's saves, of a store that is well."""
    assert check(path) == []
    store, found = FileStore(path), dict[str, Any]()
    for session in await store.session.sessions():
        segments = await store.session.segments(session.session_id)
        opened = {info.run_id for info in await store.checkpointer.open_infos(session.session_id)}
        found[f"session {session.session_id}"] = [(one.run_id, one.entries) for one in segments], opened
    for info in await store.checkpointer.runs():
        found[f"run {info.run_id}"] = info.status, await store.checkpointer.history(info.run_id)
    return found


async def two_neighbours(path: Path) -> None:
    await talk(path, "r1", "r2", "r3", "r4")
    for number in (2, 3):
        cut(only(path, f"sessions/*/00000{number}.*"))


async def one_to_append_again(path: Path) -> None:
    store = await talk(path, "r1", "r2", "r3", "r4")
    await store.checkpointer.delete("r3")
    only(path, "sessions/*/000002.*").unlink()
    cut(only(path, "sessions/*/000003.*"))


async def session_and_last(path: Path) -> None:
    await talk(path, "r1", "r2", "r3")
    cut(only(path, "sessions/*/session.json"))
    only(path, "sessions/*/000003.*").unlink()


async def fork_of_a_lost_source(path: Path) -> None:
    store = await talk(path, "r1")
    await write_run(store.checkpointer, "long", 20, session="talk", text=BIG)
    await store.session.fork_session("talk", "f", upto="r1")
    await fork(path, "long", "f", 10, session="f")
    await store.session.confirm_fork("f")
    only(path, f"data/{key_of(path, 'long')}/000001.json").unlink()


async def beginning_of_a_fork(path: Path) -> None:
    store = await talk(path, "r1", "r2", "r3")
    await store.session.fork_session("talk", "f", upto="r3")
    await store.session.confirm_fork("f")
    await store.session.append("f", [say("on")], run_id="f1")
    await store.checkpointer.delete("r2")
    cut(only(path, "sessions/talk.*/000002.*"))


async def older_copy_of_what_was_cut(path: Path) -> None:
    _, copy, content = await cut_talk(path)
    only(path, "sessions/talk.*/000002.1-*").unlink()
    copy.write_bytes(content)


async def older_copy_that_cannot_be_cut_so(path: Path) -> None:
    _, copy, content = await cut_talk(path, "r3")
    only(path, "sessions/talk.*/000002.1-*").unlink()
    copy.write_bytes(content)
    rewrite(copy, entries=[])


async def ref_of_one_save(path: Path) -> None:
    await write_run(FileStore(path).checkpointer, "r", 1, session="talk")
    cut(only(path, "runs/r.*.json"))


async def file_in_the_place_of_all_sessions(path: Path) -> None:
    await talk(path, "r1", "r2")
    shutil.rmtree(path / "sessions")
    (path / "sessions").write_bytes(b"mine")


async def files_in_the_places_of_quarantine_and_locks(path: Path) -> None:
    await talk(path, "r1")
    shutil.rmtree(path / "locks")
    for name in ("quarantine", "locks"):
        (path / name).write_bytes(name.encode())


def strange(path: Path) -> set[bytes]:
    """What no store writes."""
    return {data for name, data in everything(path).items() if name != ".gitignore" and not data.startswith(b"{")}


CASES = [
    ref_of_one_save,
    two_neighbours,
    one_to_append_again,
    session_and_last,
    fork_of_a_lost_source,
    beginning_of_a_fork,
    older_copy_of_what_was_cut,
    older_copy_that_cannot_be_cut_so,
    file_in_the_place_of_all_sessions,
    files_in_the_places_of_quarantine_and_locks,
]


@pytest.mark.parametrize("damage", CASES, ids=[case.__name__ for case in CASES])
async def test_d3_a_repair_that_was_killed_is_done_over_and_ends_the_same(tmp_path: Path, damage: Any) -> None:
    base, path = tmp_path / "base", tmp_path / ".lovia"
    await damage(base)
    shutil.copytree(base, path)
    repair(path)
    wanted, calls, is_killed = await state(path), 0, True
    while is_killed:
        shutil.rmtree(path)
        shutil.copytree(base, path)
        is_killed = repair_until(path, calls)
        repair(path)
        assert (calls, await state(path)) == (calls, wanted)
        assert strange(base) <= set(everything(path / "quarantine").values())
        calls += 1
    assert calls > 6
