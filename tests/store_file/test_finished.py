"""A run that its session holds as finished, and a session that another process changes while the doctor looks (R4)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.findings import Finding
from tests.store_file.kit import chunk, entries, everything, files, only, say
from tests.store_file.test_forks import BIG, fork, key_of
from tests.store_file.test_salvage import finished

pytestmark = pytest.mark.anyio


CHANGED = "it could not be mended: its segment has changed meanwhile"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


def when_opened(
    monkeypatch: pytest.MonkeyPatch, number: int, change: Callable[[], object], opened: str = "session.json"
) -> None:
    """Have ``change`` done by another, just after a session.json was ``opened`` for the ``number``-th time."""
    real, seen = os.open, list[str]()

    def open_seen(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        fd = real(name, flags, mode, dir_fd=dir_fd)
        if name == opened:
            seen.append(name)
            if len(seen) == number:
                change()
        return fd

    monkeypatch.setattr(os, "open", open_seen)


async def test_r4_nothing_is_moved_when_the_segment_goes_before_the_run_is_made_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor looks twice, once more with the run's lock, and a fourth time as it mends."""
    await finished(path, 4)
    file, session = chunk(path, 1), only(path, "sessions/*/session.json").parent
    file.write_bytes(b"")
    before = {name: data for name, data in everything(path).items() if not name.startswith("sessions/")}
    when_opened(monkeypatch, 4, lambda: shutil.rmtree(session))
    changed, vanished = repair(path)
    assert changed == Finding(str(file), f"the file is empty; {CHANGED}", False)
    assert (vanished.file, vanished.repairable) == (str(session), False)
    assert everything(path) == before


async def test_r4_a_run_without_ref_is_not_said_to_replay_when_its_segment_goes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await finished(path, 4)
    ref, session = only(path, "runs/*.json"), only(path, "sessions/*/session.json").parent
    ref.write_bytes(b"")
    shutil.rmtree(chunk(path, 1).parent)
    when_opened(monkeypatch, 4, lambda: shutil.rmtree(session))
    lost = f"the file is empty; no data of it was found; moved to quarantine/runs__{ref.name}"
    assert repair(path) == [Finding(str(ref), lost, True, is_lost=True)]
    assert (check(path), entries(path / "quarantine")) == ([], [f"runs__{ref.name}"])


@pytest.mark.parametrize("data", [None, b""])
async def test_d3_a_copy_of_a_ref_under_another_name_touches_no_run(path: Path, data: bytes | None) -> None:
    """A name is up to 40 letters of the id, a dot and a hash of it: what ends in the same is still another's."""
    await finished(path, 4)
    ref = only(path, "runs/*.json")
    before, copy = everything(path), ref.with_name(f"copy-of-{ref.name}")
    copy.write_bytes(ref.read_bytes() if data is None else data)
    (finding,) = repair(path)
    assert (finding.file, finding.repairable, finding.is_lost) == (str(copy), True, True)
    assert finding.what.endswith(f"; no data of it was found; moved to quarantine/runs__{copy.name}")
    after = everything(path)
    assert (check(path), {name: after[name] for name in before}) == ([], before)
    assert entries(path / "quarantine") == [f"runs__{copy.name}"]


@pytest.mark.parametrize("number", [3, 4, 5, 6])
async def test_r4_a_rewind_behind_the_segment_does_not_hide_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    store = await finished(path, 4)
    await store.session.append("s", [say("more")], run_id="r1")
    file, last = only(path, "sessions/*/session.json"), only(path, "sessions/*/000002.*")
    old, undone = file.read_bytes(), last.read_bytes()
    await store.session.rewind("s", keep_entries=2)
    new = path.parent / "session.json"
    file.rename(new)
    file.write_bytes(old)
    last.write_bytes(undone)
    chunk(path, 1).write_bytes(b"")

    def rewind() -> None:
        new.rename(file)
        last.unlink()

    when_opened(monkeypatch, number, rewind)
    (done,) = repair(path)
    assert "; its session holds run 'r' as finished: its result was kept from there" in done.what
    run = await FileStore(path).checkpointer.load("r")
    assert (check(path), run and run.entries) == ([], [say("go"), say("yes", 1)])
    assert [name.partition("__")[0] for name in entries(path / "quarantine")] == ["data", "runs"]


@pytest.mark.parametrize("number", range(1, 13))
async def test_r4_a_segment_that_another_doctor_moves_up_is_found_in_its_new_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Its run has lost ref and data, and the session is looked into ``number`` times before it is changed."""
    store = FileStore(path)
    await store.session.append("s", [say("go")], run_id="r0")
    await finished(path, 4)
    folder = only(path, "sessions/*/session.json").parent
    old = {entry.name: entry.read_bytes() for entry in files(folder, "*")}
    only(folder, "000001.*").unlink()
    repair(path)
    new = {entry.name: entry.read_bytes() for entry in files(folder, "*")}

    def put(after: dict[str, bytes], before: dict[str, bytes]) -> None:
        for name, data in sorted(after.items()):
            (folder / name).write_bytes(data)
        for name in before.keys() - after.keys():
            (folder / name).unlink()

    put(old, new)
    only(path, "runs/r.*").write_bytes(b"")
    shutil.rmtree(chunk(path, 1).parent)
    when_opened(monkeypatch, number, lambda: put(new, old), str(folder))
    assert [finding.what for finding in repair(path) if finding.is_lost] == []
    run = await store.checkpointer.load("r")
    assert (check(path), run and run.head.status) == ([], "completed")


@pytest.mark.parametrize("is_read", [True, False])
async def test_d3_data_that_a_repair_did_not_come_to_move_is_of_a_run_that_was_made_again(
    path: Path, is_read: bool
) -> None:
    """The repair was killed behind the new ref: what it was going to move or drop stands as it stood."""
    store, key = (await finished(path, 20, BIG)).checkpointer, key_of(path, "r")
    if is_read:
        await fork(path, "r", "f", 8)
    file = path / "data" / key / "000004.json"
    file.write_bytes(b"")
    repair(path)
    if is_read:
        (path / "data" / key / "dropped.json").unlink()
    else:
        (path / "quarantine" / f"data__{key}").rename(path / "data" / key)
    what = f"a crash kept data of run 'r' from before it was made again{'; forks read it' if is_read else ''}"
    assert check(path) == [Finding(str(path / "data" / key), what, True, is_leftover=True)]
    before = await store.load("r")
    repair(path)
    assert (check(path), await store.load("r")) == ([], before)
    assert (key in entries(path / "data"), f"data__{key}" in entries(path / "quarantine")) == (is_read, True)
