"""Forks in SQLite: what they share is where it was, goes with the last that reads it, and the doctor knows it (H2)."""

from pathlib import Path

import pytest

from stores.conformance.checks import exactly, saved, write
from stores.conformance.samples import say
from stores.records import Save, fold
from stores.sqlite import SQLiteCheckpointer
from stores.sqlite.check import check, repair
from stores.sqlite.database import Database
from stores.sqlite.rows import RUNS
from tests.sqlite.kit import change, raw

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


async def test_h3_a_moment_reads_as_little_of_a_long_run_as_of_a_short_one(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    store = SQLiteCheckpointer(database)
    reads: list[int] = []
    await write(store, "r", *(saved(n, say("x"), step=n, usage={"requests": n}) for n in range(1, 1025)))
    with database.reading(RUNS) as connection:
        assert connection is not None
    seen: list[str] = []
    with database.writing(RUNS) as connection:
        connection.set_trace_callback(seen.append)
    for number in (70, 1000):
        seen.clear()
        head = await store.moment("r", save=number)
        assert head is not None
        assert (head.save, head.usage) == (number, {"requests": number})
        reads.append(len([one for one in seen if "FROM lovia_saves" in one]))
    assert reads[1] <= reads[0] < 20


async def test_d3_damage_in_what_is_shared_takes_both_back_to_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    source = long_run(10)
    await write(SQLiteCheckpointer(path), "r", *source)
    await fork(path, "r", "f", saved(9, event="forked"), saved(10, say("on")))
    await fork(path, "r", "early", saved(3, event="forked"))
    change(path, "UPDATE lovia_saves SET entries = 99 WHERE number = 6")
    assert {finding.repairable for finding in check(path)} == {True}
    repair(path)
    assert (check(path), repair(path)) == ([], [])
    for run_id in ("r", "f"):
        exactly(await SQLiteCheckpointer(path).load(run_id), fold(run_id, source[:5]))
        await write(SQLiteCheckpointer(path), run_id, saved(6, say(f"{run_id} again")))
        exactly(
            await SQLiteCheckpointer(path).load(run_id),
            interrupted(run_id, [*source[:5], saved(6, say(f"{run_id} again"))]),
        )
    exactly(await SQLiteCheckpointer(path).load("early"), fold("early", [*source[:2], saved(3, event="forked")]))


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
        "the row of run 'f' is missing; it can be made from the saves",
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
