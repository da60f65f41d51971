"""Forks in SQLite: what they share is where it was, goes with its last reader, and the doctor knows it (H2, H3)."""

from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import call, result, say, text
from stores.entries import Entry, ToolResultEntry
from stores.records import Save, fold
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.database import Database
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.rows import RUNS
from tests.sqlite.kit import change, exists, raw

pytestmark = pytest.mark.anyio

BIG = "x" * 20_000


def long_run(count: int) -> list[Save]:
    head = {"session_id": None, "agent": "a", "status": "interrupted"}
    return [saved(n, say(BIG, step=n // 2), step=n // 2, **(head if n == 1 else {})) for n in range(1, count + 1)]


async def fork(path: Path, source: str, new_id: str, *saves: Save) -> None:
    store = SQLiteCheckpointer(path)
    async with store.lease(new_id) as lease:
        await store.fork(lease, source, saves[0])
        for save in saves[1:]:
            await lease.save(save)


def size(path: Path) -> int:
    return path.stat().st_size


async def test_h2_a_fork_takes_no_room_and_what_is_shared_goes_with_its_last_reader(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    source = long_run(40)
    await write(SQLiteCheckpointer(path), "r", *source)
    before = size(path)
    await fork(path, "r", "f", saved(21, event="forked"))
    await fork(path, "f", "g", saved(11, event="forked"))
    assert size(path) - before < 20_000
    assert await SQLiteCheckpointer(path).delete("r") is True
    assert 20 * len(BIG) < size(path) < 26 * len(BIG)  # what no fork reads is gone
    assert check(path) == []
    await SQLiteCheckpointer(path).delete("f")
    assert 10 * len(BIG) < size(path) < 14 * len(BIG)
    exactly(await SQLiteCheckpointer(path).load("g"), fold("g", [*source[:10], saved(11, event="forked")]))
    await SQLiteCheckpointer(path).delete("g")
    assert size(path) < 100_000
    with raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM lovia_logs").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM lovia_saves").fetchone() == (0,)


async def test_h2_a_moment_costs_the_same_late_in_a_long_run_as_early(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    store = SQLiteCheckpointer(database)
    await write(store, "r", *(saved(n, say("x"), step=n, usage={"requests": n}) for n in range(1, 1025)))
    work: list[int] = []
    with database.writing(RUNS) as connection:
        connection.set_progress_handler(lambda: work.append(1), 10)  # called every ten steps of SQLite's machine
    costs = []
    for number in (70, 998):
        work.clear()
        head = await store.moment("r", save=number)
        assert head is not None
        assert (head.save, head.usage) == (number, {"requests": number})
        costs.append(len(work))
    assert 0 < costs[1] < 1.2 * costs[0]


async def test_d3_a_fork_that_what_it_shares_is_lost_of_goes_aside_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    source = long_run(10)
    await write(SQLiteCheckpointer(path), "r", *source)
    await fork(path, "r", "f", saved(9, event="forked"), saved(10, say("on")))
    await fork(path, "r", "early", saved(3, event="forked"))
    change(path, "UPDATE lovia_saves SET data = data || ' ' WHERE number = 6")
    assert {finding.repairable for finding in check(path)} == {True}
    assert "fork 'f' cannot be kept without it: it was moved aside into" in repair(path)[0].what
    assert (check(path), repair(path)) == ([], [])
    store = SQLiteCheckpointer(path)
    assert await store.load("f") is None
    exactly(await store.load("r"), fold("r", source[:5]))
    await write(store, "r", saved(6, say("again")))
    exactly(await store.load("r"), interrupted("r", [*source[:5], saved(6, say("again"))]))
    exactly(await store.load("early"), fold("early", [*source[:2], saved(3, event="forked")]))


async def test_h2_a_fork_whose_own_saves_are_lost_is_no_run_of_its_sources_session(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SQLiteCheckpointer(path)
    await write(store, "r", *(saved(n, say(f"{n}"), **({"session_id": "s"} if n == 1 else {})) for n in (1, 2, 3)))
    await fork(path, "r", "f", saved(3, event="forked", session_id="f"), saved(4, say("on")))
    change(path, "UPDATE lovia_saves SET data = substr(data, 1, 20) WHERE log = 2 AND number = 3")
    assert [finding.is_lost for finding in check(path)] == [True]
    repair(path)
    assert (check(path), await store.load("f")) == ([], None)
    async with store.open_runs("s") as opened:
        assert [run.run_id for run in opened] == ["r"]
    with raw(path) as connection:
        kept = connection.execute("SELECT count(*) FROM lovia_quarantine WHERE origin = 'lovia_saves'").fetchone()
    assert kept == (2,)


def interrupted(run_id: str, saves: list[Save]) -> object:
    snapshot = fold(run_id, saves)
    assert snapshot is not None
    snapshot.head.status = "interrupted"
    return snapshot


async def test_d3_what_only_forks_read_is_no_run_that_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write(SQLiteCheckpointer(path), "r", *long_run(4))
    await fork(path, "r", "f", saved(4, event="forked"))
    await SQLiteCheckpointer(path).delete("r")
    change(path, "DELETE FROM lovia_runs WHERE run_id = 'f'")
    assert [finding.what for finding in check(path)] == [
        "a line of run 'f', which is not there",
        "the row of run 'f' is missing; it can be made from the saves"
        "; whether the run was deleted, all but its history, cannot be told",
    ]
    repair(path)
    assert [run.run_id for run in await SQLiteCheckpointer(path).runs()] == ["f"]
    exactly(await SQLiteCheckpointer(path).load("f"), fold("f", [*long_run(3), saved(4, event="forked")]))


@pytest.mark.parametrize("statement", ["base = base + 7", "base = log", "upto = 2", "upto = 'x'", "base = NULL"])
async def test_d3_a_log_that_leads_elsewhere_is_damage_of_the_fork_alone(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "store.db"
    await write(SQLiteCheckpointer(path), "r", *long_run(4))
    await fork(path, "r", "f", saved(4, event="forked"))
    change(path, f"UPDATE lovia_logs SET {statement} WHERE run_id = 'f'")
    with pytest.raises(Exception, match="run 'f'"):
        await SQLiteCheckpointer(path).load("f")
    exactly(await SQLiteCheckpointer(path).load("r"), fold("r", long_run(4)))
    assert check(path) != []


def said(n: int) -> list[Entry]:
    return [say(f"{n}"), call(1), result(1, output=f"{n}" * 20_000), text("done")]


async def forked_session(path: Path, name: str = "f") -> SQLiteSession:
    """Session s of four segments, and session f, which begins with the first two and has one of its own."""
    store = SQLiteSession(path)
    for n in (1, 2, 3, 4):
        await store.append("s", said(n), run_id=f"r{n}", meta={"n": n})
    await store.fork_session("s", name, upto="r2")
    await store.confirm_fork(name)
    await store.append(name, said(9), run_id="own")
    return store


async def runs_of(store: SQLiteSession, *names: str) -> dict[str, list[str]]:
    return {name: [segment.run_id for segment in await store.segments(name)] for name in names}


async def test_h3_what_a_session_shares_is_kept_once_and_as_long_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await forked_session(path)
    assert size(path) < 6 * 20_480 + 100_000
    await store.trim_tool_results("s", keep_runs=0, keep_chars=9)
    assert [entry.output for entry in await store.load("f") if isinstance(entry, ToolResultEntry)] == [
        "1" * 20_000, "2" * 20_000, "9" * 20_000,
    ]  # fmt: skip
    assert size(path) < 4 * 20_480 + 100_000  # r3 and r4 are short, r1 and r2 are read by the fork
    await store.clear("s")
    assert await runs_of(store, "s", "f") == {"s": [], "f": ["r1", "r2", "own"]}
    assert check(path) == []
    await store.clear("f")
    with raw(path) as connection:
        for table in ("lovia_segments", "lovia_strands", "lovia_sessions"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


async def test_h3_what_was_trimmed_goes_when_its_last_reader_goes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await forked_session(path)
    await store.trim_tool_results("s", keep_runs=0, keep_chars=9)
    await store.clear("f")
    with raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM lovia_segments").fetchone() == (4,)
    assert await runs_of(store, "s") == {"s": ["r1", "r2", "r3", "r4"]}
    assert check(path) == []


@pytest.mark.parametrize("fork", ["f", "z"])  # before its source and after it
async def test_d3_a_damaged_segment_that_is_shared_leaves_both_sessions(tmp_path: Path, fork: str) -> None:
    path = tmp_path / "store.db"
    store = await forked_session(path, fork)
    change(path, "UPDATE lovia_segments SET entries = '[]' WHERE run_id = 'r1'")
    for name in ("s", fork):
        with pytest.raises(Exception, match="segment 1 of session 's'"):
            await store.segments(name)
    repair(path)
    assert (check(path), repair(path)) == ([], [])
    assert await runs_of(store, "s", fork) == {"s": ["r2", "r3", "r4"], fork: ["r2", "own"]}
    await store.append(fork, said(8), run_id="later")
    assert await store.rewind("s", keep_entries=0) == 12
    assert await runs_of(store, "s", fork) == {"s": [], fork: ["r2", "own", "later"]}
    assert check(path) == []


@pytest.mark.parametrize("statement", ["base = 77", "upto = 1", "state = 'own?'", "session_id = 'g'"])
async def test_d3_a_strand_that_leads_elsewhere_hurts_only_its_session_and_loses_nothing(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "store.db"
    store = await forked_session(path)
    change(path, f"UPDATE lovia_strands SET {statement} WHERE session_id = 'f'")
    with pytest.raises(Exception, match="'f'"):
        await store.segments("f")
    assert await runs_of(store, "s") == {"s": ["r1", "r2", "r3", "r4"]}
    assert check(path) != []
    repair(path)
    assert check(path) == []
    found = await runs_of(store, "s", "f", "g")
    assert found["s"] == ["r1", "r2", "r3", "r4"]
    assert "own" in found["f"] + found["g"]


async def test_d3_an_older_file_with_damaged_pages_is_salvaged_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with raw(path) as connection:
        connection.executescript(Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8"))
        for n in range(300):
            connection.execute("INSERT INTO lovia_cancels VALUES (?, ?)", (f"{n}", "x" * 200))
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'lovia_cancels'").fetchone()
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    path.chmod(0o600)
    assert [finding.repairable for finding in check(path)] == [True]
    repair(path)
    assert check(path) == []
    assert await runs_of(SQLiteSession(path), "s") == {"s": ["r1", "r2"]}


async def test_h3_a_fork_from_an_early_run_reads_no_later_segment(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await forked_session(path)
    change(path, "UPDATE lovia_segments SET meta = '[]' WHERE run_id = 'r3'")  # whoever reads it finds damage
    for upto in ("r1", "r2"):
        await store.fork_session("s", upto, upto=upto)
        await store.confirm_fork(upto)
        (info,) = [info for info in await store.sessions() if info.session_id == upto]
        assert (info.segments, info.entries) == (int(upto[1]), len(await store.load(upto)))


async def test_h3_a_look_whether_an_id_is_free_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await SQLiteSession(path).fork_session(None, "free", upto=None)
    assert not exists(path)
    await SQLiteSession(path).append("s", said(1), run_id="r1")
    with raw(path) as connection:
        connection.execute("BEGIN IMMEDIATE")  # another process writes
        await SQLiteSession(path, busy_timeout=0.0).fork_session(None, "free", upto=None)
