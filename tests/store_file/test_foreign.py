"""What was copied into a session's folder from another's, or between them, tells nothing and costs nothing (D3, H3)."""

import shutil
from pathlib import Path

import pytest

from stores.entries import Entry
from stores.errors import StoreDamagedError
from stores.file import FileStore
from stores.file.doctor.check import check, repair
from tests.store_file.kit import entries, everything, files, only, reseal, say
from tests.store_file.test_forks import fork
from tests.store_file.test_vanished import finish

pytestmark = pytest.mark.anyio

IDS = ("talk", "other", "f", "g")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def four(path: Path) -> FileStore:
    """Sessions ``talk`` and ``other`` of two runs, and ``f`` and ``g``, which begin with the first one's first run."""
    store = FileStore(path)
    for session in ("talk", "other"):
        await finish(store, f"{session}1", None, session)
        await finish(store, f"{session}2", f"{session}1", session)
    for name in ("f", "g"):
        await store.session.fork_session("talk", name, upto="talk1")
        await fork(path, "talk2", name, 2, session=name)
        await store.session.confirm_fork(name)
        await finish(store, f"{name}1", "talk1", name)
    return store


async def loaded(path: Path) -> list[list[Entry]]:
    return [await FileStore(path).session.load(session_id) for session_id in IDS]


def folder_of(path: Path, session_id: str) -> Path:
    return only(path, f"sessions/{session_id}.*/session.json").parent


async def test_h3_another_session_json_in_a_forks_folder_is_a_lost_one_and_costs_no_mark(path: Path) -> None:
    store = await four(path)
    for run_id in ("talk2", "talk1"):
        await store.checkpointer.delete(run_id)
    await store.session.clear("talk")
    before, marks = await loaded(path), {name for name in everything(path) if "/forks/" in name}
    file = folder_of(path, "f") / "session.json"
    shutil.copy(folder_of(path, "other") / "session.json", file)
    assert [Path(finding.file) for finding in check(path)] == [file]
    (done,) = repair(path)
    assert (done.repairable, "quarantine/" in done.what) == (True, True)
    assert (check(path), await loaded(path)) == ([], before)
    assert marks <= everything(path).keys()


@pytest.mark.parametrize(("source", "target"), [("other", "talk"), ("talk", "other"), ("other", "f"), ("f", "g")])
@pytest.mark.parametrize("how", ["instead", "over"])
async def test_d3_a_session_whose_folder_holds_another_is_made_again_once(
    path: Path, source: str, target: str, how: str
) -> None:
    await four(path)
    before, folder = await loaded(path), folder_of(path, target)
    if how == "instead":
        shutil.rmtree(folder)
    shutil.copytree(folder_of(path, source), folder, dirs_exist_ok=True)
    assert {finding.repairable for finding in repair(path)} == {True}
    aside = entries(path / "quarantine")
    assert all(name.startswith(f"sessions__{folder.name}") for name in aside)
    assert (repair(path), entries(path / "quarantine"), await loaded(path)) == ([], aside, before)


async def test_d3_a_stray_file_among_the_sessions_is_one_finding_and_no_session(path: Path) -> None:
    store = await four(path)
    for run_id in ("talk2", "talk1"):
        await store.checkpointer.delete(run_id)
    await store.session.clear("talk")
    stray = path / "sessions" / "notes.txt"
    stray.write_text("hi\n")
    for findings in (check(path), repair(path)):
        assert [(finding.file, finding.repairable) for finding in findings] == [(str(stray), False)]
    assert {info.session_id for info in await store.session.sessions()} == {"other", "f", "g"}


@pytest.mark.parametrize(
    ("is_earlier", "what"),
    [(False, "not the segment that stood here when it was forked"), (True, "another session than its folder's name")],
)
async def test_h3_a_fork_does_not_take_what_another_session_said_for_what_it_begins_with(
    path: Path, is_earlier: bool, what: str
) -> None:
    store = await four(path)
    for name in ("f", "g") if is_earlier else ():
        for file in files(path, f"sessions/{name}.*/session.json") + files(path, f"sessions/*/forks/{name}.*.json"):
            reseal(file, b',"run":"talk1"', b"")  # an earlier version did not say with which run a part ends
    assert check(path) == []
    before = await loaded(path)
    theirs, other = folder_of(path, "talk"), folder_of(path, "other")
    shutil.rmtree(theirs)
    shutil.copytree(other, theirs)
    for session_id in ("f", "g"):
        with pytest.raises(StoreDamagedError, match=what):
            await store.session.load(session_id)
    repair(path)
    assert (check(path), await loaded(path)) == ([], before)


async def test_d3_a_segment_of_another_session_with_a_run_of_the_same_id_is_not_taken_for_this_ones(path: Path) -> None:
    store = FileStore(path)
    for session in ("talk", "other"):
        for run_id in ("r1", "r2"):
            await store.session.append(session, [say(f"{run_id} of {session}")], run_id=run_id)
    before = await store.session.load("other")
    segment = only(path, "sessions/talk.*/000002.*")
    shutil.copy(only(path, "sessions/other.*/000002.*"), segment)
    what = "the file holds a segment of another session than its folder's name says"
    assert [(finding.file, finding.what) for finding in check(path)] == [(str(segment), what)]
    assert [finding.repairable for finding in repair(path)] == [True, True]
    assert check(path) == []
    assert [one.run_id for one in await FileStore(path).session.segments("talk")] == ["r1"]
    assert await FileStore(path).session.load("other") == before


async def test_h3_a_mark_that_names_other_segments_than_the_fork_reads_is_made_again(path: Path) -> None:
    await four(path)
    before, mark = await loaded(path), only(path, "sessions/talk.*/forks/f.*.json")
    whole = mark.read_bytes()
    reseal(mark, b'"count":1', b'"count":2')
    assert [Path(finding.file) for finding in check(path)] == [mark]
    (done,) = repair(path)
    assert "the mark of forked session 'f', which keeps what it begins with, names other segments" in done.what
    assert (check(path), await loaded(path), mark.read_bytes()) == ([], before, whole)
