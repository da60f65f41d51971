"""A segment of which something changed beside its entries: no turn of the conversation is lost (M1, D3)."""

from pathlib import Path

import pytest

from stores.conformance.checks import saved, write
from stores.conformance.samples import say
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from tests.sqlite.kit import change, fill, raw
from tests.sqlite.test_damage import flip

pytestmark = pytest.mark.anyio

OF_SEGMENT = "session_id = 's' AND n = 2"
ASIDE = "what was there was moved aside into the table lovia_quarantine"


def rows(path: Path) -> list[object]:
    columns = "strand, n, session_id, run_id, entries, meta, checksum, truncated, sum"
    with raw(path) as connection:
        return connection.execute(f"SELECT {columns} FROM lovia_segments ORDER BY strand, n").fetchall()


@pytest.mark.parametrize(
    "harm",
    [
        "session_id = 'other'",
        "run_id = 'zz'",
        "n = 92",
        "n = 'x'",
        "truncated = 1",
        "checksum = 'x'",
        "meta = meta || ' '",
        "run_id = CAST(x'ff28fe' AS TEXT)",
    ],
)
async def test_d3_a_segment_of_which_one_value_changed_is_found_again(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    before = rows(path)
    change(path, f"UPDATE lovia_segments SET {harm} WHERE {OF_SEGMENT}")
    (found,) = check(path)
    assert (found.what.partition("; ")[2], found.is_lost) == ("segment 2 can be made again as it was written", False)
    (done,) = repair(path)
    assert done.what.partition("; ")[2] == f"segment 2 was made again as it was written; {ASIDE}"
    assert (check(path), rows(path)) == ([], before)


@pytest.mark.parametrize(
    ("harm", "meta"), [("sum = ''", {"n": 2}), ("meta = '{'", {}), ("entries = entries || ' '", {"n": 2})]
)
async def test_d3_a_segment_whose_entries_are_proven_stays(tmp_path: Path, harm: str, meta: dict[str, int]) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, f"UPDATE lovia_segments SET {harm} WHERE {OF_SEGMENT}")
    (found,) = check(path)
    kept = "kept as it stands: a checksum proves its entries"
    assert (found.what.partition("; ")[2], found.is_lost) == (f"segment 2 can be {kept}", False)
    (done,) = repair(path)
    assert done.what.partition("; ")[2] == f"segment 2 was {kept}; {ASIDE}"
    assert check(path) == []
    _, second, _ = await SQLiteSession(path).segments("s")
    assert (second.run_id, second.entries, second.meta) == ("r2", [say("segment 2")], meta)


async def test_m1_segments_that_changed_places_are_put_back_beside_one_that_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    for old, new in ((2, -1), (3, 2), (-1, 3)):
        change(path, f"UPDATE lovia_segments SET n = {new} WHERE session_id = 's' AND n = {old}")
    flip(path, "lovia_segments", "entries", "session_id = 's' AND n = 1")
    (first, *_) = repair(path)
    assert "; segments 2 and 3 were made again as they were written; no checkpoint holds the same" in first.what
    session = SQLiteSession(path)
    assert (check(path), [one.run_id for one in await session.segments("s")]) == ([], ["r2", "r3"])


async def test_d3_the_id_of_a_pruned_run_is_told_by_the_run_that_began_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    session, runs = SQLiteSession(path), SQLiteCheckpointer(path)
    await session.append("s", [say("one")], run_id="pruned")
    await write(runs, "later", saved(1, say("two"), session_id="s", history_upto="pruned"))
    change(path, "UPDATE lovia_segments SET run_id = 'zz'")
    repair(path)
    assert (check(path), [one.run_id for one in await session.segments("s")]) == ([], ["pruned"])
