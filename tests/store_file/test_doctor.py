"""The doctor: finds every damage, repairs without losing anything, and leaves a living run alone."""

import asyncio
from pathlib import Path

import orjson
import pytest

from stores.file import FileStore
from stores.file.doctor.check import check, repair
from stores.file.doctor.problem import Problem, unfinished_write
from stores.file.doctor.unit import MOST_BEHIND, Unit
from stores.file.locks import lock_of
from stores.file.root import Root
from stores.oslock import Lock
from stores.references import ResultRef
from tests.store_file.kit import (
    chunk,
    everything,
    exists,
    files,
    first,
    go_on,
    later,
    only,
    other_process,
    read,
    rewrite,
    say,
    write_run,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lovia"


async def fill(path: Path) -> FileStore:
    """Two runs and a session of three segments; the first run has three chunks."""
    store = FileStore(path)
    await write_run(store.checkpointer, "long", 6, text="x" * 12_000, session="talk", status="failed")
    await write_run(store.checkpointer, "short", 2)
    for number in (1, 2, 3):
        await store.session.append("talk", [say(f"{number}.1"), say(f"{number}.2", 1)], run_id=f"r{number}")
    return store


def found(path: Path) -> list[tuple[str, bool]]:
    return [(Path(finding.file).name, finding.repairable) for finding in check(path)]


def data_of(contents: dict[str, bytes]) -> set[bytes]:
    """The contents of all that is no derived file: chunks and segments, wherever they stand."""
    return {data for data in contents.values() if b'"kind":"chunk"' in data or b'"kind":"segment"' in data}


async def test_d3_what_goes_aside_twice_is_kept_once_and_what_differs_beside_it(path: Path) -> None:
    await fill(path)
    file, contents = only(path, "sessions/*/session.json"), [b"one", b"two", b"one", b"two", b"six"]
    for content in contents:
        file.write_bytes(content)
        repair(path)
        assert check(path) == []
    assert [entry.read_bytes() for entry in files(path, "quarantine/*")] == [b"one", b"two", b"six"]


async def test_a_sound_store_has_no_findings_and_a_check_changes_nothing(path: Path) -> None:
    assert check(path) == repair(path) == []
    assert not exists(path)
    await fill(path)
    before = everything(path)
    assert check(path) == repair(path) == []
    assert everything(path) == before


async def test_d3_a_store_that_is_reached_through_a_link_is_mended_as_well(path: Path) -> None:
    await fill(path)
    (link := path.with_name("link")).symlink_to(path)
    only(path, "store.json").write_bytes(b"{}")
    assert [finding.repairable for finding in repair(link)] == [True]
    assert check(link) == check(path) == []


SEGMENT = "sessions/*/000002.*"
PLACES = ["store.json", "runs/long.*", "runs/short.*", "data/*/000003.json", "sessions/*/session.json", SEGMENT]


@pytest.mark.parametrize("place", PLACES)
async def test_d3_every_damage_is_found_moved_aside_and_mended(path: Path, place: str) -> None:
    store = await fill(path)
    file = only(path, place)
    file.write_bytes(damage := file.read_bytes()[:-3])
    before = everything(path)
    assert found(path) == [(file.name, True)]
    assert everything(path) == before
    assert [Path(finding.file).name for finding in repair(path)] == [file.name]
    assert check(path) == []
    aside = [entry for entry in files(path, "quarantine/*") if entry.name.endswith(file.name)]
    assert [entry.read_bytes() for entry in aside] == [damage]
    assert data_of(before) <= data_of(everything(path))
    assert await store.checkpointer.load("long")
    assert await store.checkpointer.load("short")
    assert await store.session.load("talk")


async def test_d3_a_ref_is_made_again_from_its_data(path: Path) -> None:
    store = await fill(path)
    before = await store.checkpointer.info("long")
    only(path, "runs/long.*").write_bytes(b"")
    assert repair(path) != []
    assert await store.checkpointer.info("long") == before


async def test_d3_a_missing_ref_is_found_by_the_data_that_nobody_names(path: Path) -> None:
    store = await fill(path)
    before = await store.checkpointer.info("long")
    only(path, "runs/long.*").unlink()
    assert [finding.what for finding in check(path) if not finding.is_leftover] == [
        "the ref of run 'long' is missing; it can be made from the data"
    ]
    repair(path)
    assert await store.checkpointer.info("long") == before


async def test_d3_a_run_keeps_the_saves_before_a_damaged_chunk(path: Path) -> None:
    store = await fill(path)
    key = read(only(path, "runs/long.*"))["key"]
    only(path, f"data/{key}/000002.json").write_bytes(b"")
    (finding,) = check(path)
    assert finding.what == "the file is empty; saves 1 to 3 can be kept"
    repair(path)
    snapshot = await store.checkpointer.load("long")
    assert snapshot is not None
    assert (snapshot.head.save, snapshot.status) == (3, "interrupted")
    assert len(files(path, "quarantine/*")) == 2
    async with store.checkpointer.lease("long") as lease:
        await lease.save(later(4))
    assert check(path) == []


async def test_d3_a_run_of_which_nothing_can_be_kept_goes_aside_whole(path: Path) -> None:
    store = await fill(path)
    key = read(only(path, "runs/short.*"))["key"]
    only(path, f"data/{key}/000001.json").write_bytes(b"")
    repair(path)
    assert await store.checkpointer.load("short") is None
    assert [info.run_id for info in await store.checkpointer.runs()] == ["long"]
    assert check(path) == []


async def test_d3_a_session_keeps_every_segment_that_can_be_read(path: Path) -> None:
    store = await fill(path)
    only(path, "sessions/*/000002.*").write_bytes(b"")
    repair(path)
    segments = await store.session.segments("talk")
    assert [segment.run_id for segment in segments] == ["r1", "r3"]
    assert [entry.text for entry in await store.session.load("talk")] == ["1.1", "1.2", "3.1", "3.2"]
    assert await store.session.append("talk", [say("3.1"), say("3.2", 1)], run_id="r3") == "r3"  # the same as ever
    await store.session.append("talk", [say("4")], run_id="r4")
    assert check(path) == []


async def test_d3_session_json_is_made_again_from_the_segments(path: Path) -> None:
    store = await fill(path)
    before = read(only(path, "sessions/*/session.json"))
    only(path, "sessions/*/session.json").unlink()
    repair(path)
    after = read(only(path, "sessions/*/session.json"))
    assert {name: after[name] for name in ("id", "count", "entries", "last", "last_sum")} == {
        name: before[name] for name in ("id", "count", "entries", "last", "last_sum")
    }
    assert len(await store.session.segments("talk")) == 3


async def test_a_lost_marker_is_made_again_and_a_damaged_one_too(path: Path) -> None:
    store = await fill(path)
    marker = only(path, "sessions/*/open/*.json")
    for damage in (marker.unlink, lambda: marker.write_bytes(b"")):
        damage()
        assert found(path) == [(marker.name, True)]
        repair(path)
        assert check(path) == []
        async with store.checkpointer.open_runs("talk") as runs:
            assert [info.run_id for info in runs] == ["long"]


async def test_what_a_crash_left_is_named_as_harmless_and_cleared(path: Path) -> None:
    store = await fill(path)
    (chunk_folder := only(path, "data/*/000003.json").parent).joinpath(".1.tmp").write_bytes(b"half")
    await write_run(store.checkpointer, "never", 1)
    only(path, "runs/never.*").unlink()
    assert sorted((finding.what, finding.is_leftover) for finding in check(path)) == [
        ("a crash cut off run 'never' before it began", True),
        ("an unfinished write of a process that was killed", True),
    ]
    repair(path)
    assert check(path) == []
    assert not (chunk_folder / ".1.tmp").exists()


async def test_what_is_not_the_stores_is_named_and_left_alone(path: Path) -> None:
    await fill(path)
    (path / "notes.txt").write_text("mine")
    assert found(path) == [("notes.txt", False)]
    repair(path)
    assert (path / "notes.txt").read_text() == "mine"


async def test_d1_what_a_newer_lovia_wrote_is_named_and_left_alone(path: Path) -> None:
    await fill(path)
    file = only(path, "runs/short.*")
    file.write_bytes(file.read_bytes().replace(b'{"v":1', b'{"v":2'))
    before = everything(path)
    assert found(path) == [(file.name, False)]
    repair(path)
    assert everything(path) == before


async def test_d1_a_store_that_a_newer_lovia_made_is_named_and_left_alone(path: Path) -> None:
    await fill(path)
    file = only(path, "store.json")
    file.write_bytes(file.read_bytes().replace(b'{"v":1', b'{"v":2'))
    before = everything(path)
    assert found(path) == [("store.json", False)]
    assert ([finding.repairable for finding in repair(path)], everything(path)) == ([False], before)


async def test_d3_the_stores_file_is_mended_though_the_quarantine_is_to_be_made_first(path: Path) -> None:
    await fill(path)
    only(path, "store.json").write_bytes(b"{}")
    (path / "quarantine").write_bytes(b"mine")
    assert {finding.file for finding in repair(path)} == {str(path / "store.json"), str(path / "quarantine")}
    assert check(path) == []


async def test_d3_a_save_that_lacks_something_is_damage(path: Path) -> None:
    await write_run(FileStore(path).checkpointer)
    records = read(chunk(path, 1))["records"]
    del records[1]["step"]
    rewrite(chunk(path, 1), records=records)
    (finding,) = check(path)
    assert (finding.file, finding.what[:19]) == (str(chunk(path, 1)), "a save lacks 'step'")


async def test_m4_a_deletion_that_was_cut_off_is_gone_on_with(path: Path) -> None:
    store = await fill(path)
    file = only(path, "runs/short.*")
    rewrite(file, status="deleted")
    (finding,) = repair(path)
    assert (finding.file, finding.is_leftover, finding.repairable) == (str(file), True, True)
    assert finding.what == "the run was deleted, and a crash kept its data"
    assert (check(path), [run.run_id for run in await store.checkpointer.runs()]) == ([], ["long"])
    assert {chunk.parent.name for chunk in files(path, "data/*/*")} == {only(path, "data/*/000003.json").parent.name}


async def test_r4_what_a_restart_was_going_to_remove_goes(path: Path) -> None:
    await fill(path)
    ref = only(path, "runs/short.*")
    (data := path / "data" / read(ref)["key"]).with_name(old := "0" * 20 + data.name[20:]).mkdir()
    (data.with_name(old) / "000001.json").write_bytes((data / "000001.json").read_bytes())
    rewrite(ref, drop=old)
    (finding,) = repair(path)
    assert (finding.file, finding.is_leftover) == (str(data.with_name(old)), True)
    assert finding.what == "the data of a run that was begun anew"
    assert (check(path), exists(data.with_name(old))) == ([], False)


async def test_d1_an_unknown_entry_type_is_no_damage(path: Path) -> None:
    await write_run(FileStore(path).checkpointer)
    records = read(chunk(path, 1))["records"]
    records[0]["entries"][0]["type"] = "hologram"
    rewrite(chunk(path, 1), records=records)
    assert found(path) == [("000001.json", False)]


async def test_a_run_that_is_being_executed_is_left_alone(path: Path) -> None:
    hold = 'async with store.checkpointer.lease("r") as lease:\n    await lease.save(first())\n'
    hold += '    print("ready", flush=True)\n    sys.stdin.read()\n'
    with other_process(path, hold) as process:
        only(path, "runs/r.*").write_bytes(b"")
        (finding,) = repair(path)
        assert not finding.repairable
        assert f"left alone: run 'r' is being executed by process {process.pid}" in finding.what
        assert only(path, "runs/r.*").read_bytes() == b""
    repair(path)
    assert await FileStore(path).checkpointer.load("r")


async def test_what_a_living_process_is_writing_is_no_finding_and_stays(path: Path) -> None:
    """Of a run, and of what a trim is archiving: a repair beside it took that for what a killed process had left."""
    store = FileStore(path)
    await store.results.put(ResultRef("r", 1, 1), "rain")
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first("talk"))
        folders = [only(path, "data/*/000001.json").parent, only(path, "results/*/*.json").parent]
        temps = [folder / ".unfinished.tmp" for folder in folders]
        for temp in temps:
            temp.write_bytes(b"half")
        archived = lock_of(str(path / "locks" / "results"), folders[1].name)
        assert archived.try_take()
        waiting = asyncio.ensure_future(store.results.put(ResultRef("r", 1, 2), "snow"))
        await asyncio.wait({waiting}, timeout=0.05)
        assert check(path) == repair(path) == []
        assert [temp.exists() for temp in temps] == [True, True]
        assert not waiting.done()
        archived.release()
        assert await waiting
    assert {Path(finding.file) for finding in repair(path)} == set(temps)


def test_what_was_finished_while_the_doctor_looked_is_no_leftover(tmp_path: Path) -> None:
    """Its writer has let go of the lock when that is asked for. What is left over is still there then."""
    left, written = tmp_path / "left.tmp", tmp_path / "written.tmp"
    for temp in (left, written):
        temp.write_bytes(b"half")
    root = Root(tmp_path)

    def problems() -> list[Problem]:
        return [Problem("a.json", "damaged"), *(unfinished_write(root, temp.name) for temp in files(tmp_path, "*.tmp"))]

    def lock() -> Lock:
        written.unlink()
        return lock_of(str(tmp_path), "a record")

    found = Unit(root, [("a record",)], problems, lock).settled_problems()
    assert [problem.file for problem in found] == ["a.json", str(left)]


async def test_a_run_that_begins_right_now_is_not_harmed(path: Path) -> None:
    store = FileStore(path)
    async with store.checkpointer.lease("r") as lease:
        await lease.save(first())
        ref = only(path, "runs/*.json")
        ref.rename(path / "store.tmp")
        (path / "data" / "00000000000000000000").mkdir(mode=0o700)
        assert repair(path) == []
        (path / "store.tmp").rename(ref)
        await go_on(lease, later(2))
    assert await store.checkpointer.load("r")


async def test_d3_what_there_is_too_little_memory_to_parse_is_not_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(path)
    before = everything(path)

    def full(_data: object) -> None:
        raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)

    monkeypatch.setattr(orjson, "loads", full)
    for look in (check, repair):
        with pytest.raises(MemoryError):
            look(path)
    assert everything(path) == before


@pytest.mark.parametrize(("at_first", "behind", "mended"), [(1, MOST_BEHIND, 501), (600, 0, 600), (2, 10**9, 502)])
def test_d3_a_record_that_shows_new_damage_after_every_mend_is_left_in_the_end(
    tmp_path: Path, at_first: int, behind: int, mended: int
) -> None:
    done: list[int] = []

    def problems() -> list[Problem]:
        """So many, and when those are mended one more at a time, each in another file."""
        numbers = range(len(done), max(at_first, min(len(done) + 1, at_first + behind)))
        return [Problem(f"{number}.json", "damaged", lambda number=number: done.append(number)) for number in numbers]

    unit = Unit(Root(tmp_path), [("a record",)], problems, lambda: lock_of(str(tmp_path), "a record"))
    found = unit.repair()
    assert done == list(range(mended))
    left = [] if behind <= MOST_BEHIND else [(f"{mended}.json", False)]
    assert [(finding.file, finding.repairable) for finding in found] == [(f"{n}.json", True) for n in done] + left
