"""A save of which one value changed beside what it holds: no save is lost, and no call runs again (R1)."""

from pathlib import Path

import pytest

from stores.conformance.checks import exactly
from stores.records import fold
from stores.sqlite import SQLiteCheckpointer
from stores.sqlite.doctor.check import check, repair
from tests.sqlite.kit import change, fill, long_run, raw
from tests.sqlite.test_damage import flip

pytestmark = pytest.mark.anyio

OF_RUN = "log = (SELECT log FROM lovia_runs WHERE run_id = 'r')"
AGAIN = "made again as it was written"


@pytest.mark.parametrize("column", ["status", "entries", "sets", "sum", "number", "log"])
@pytest.mark.parametrize("number", [1, 3, 4])
async def test_d3_a_save_of_which_one_value_changed_is_found_again(tmp_path: Path, number: int, column: str) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    saves = "SELECT log, number, status, entries, data, sets, sum FROM lovia_saves ORDER BY log, number"
    with raw(path) as connection:
        before = connection.execute(saves).fetchall()
    if column == "sets":
        change(path, f"UPDATE lovia_saves SET sets = '{{}}' WHERE {OF_RUN} AND number = {number}")
    else:
        flip(path, "lovia_saves", column, f"{OF_RUN} AND number = {number}")
    (found,) = check(path)
    what = f"save {number} of run 'r' is missing or not what was written; it"
    assert (found.what, found.repairable, found.is_lost) == (f"{what} can be {AGAIN}", True, False)
    (done,) = repair(path)
    assert done.what == f"{what} was {AGAIN}; what was there was moved aside into the table lovia_quarantine"
    assert check(path) == []
    exactly(await SQLiteCheckpointer(path).load("r"), fold("r", long_run()))
    with raw(path) as connection:
        assert connection.execute(saves).fetchall() == before


async def test_d3_saves_that_changed_places_are_put_back_with_the_runs_row(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    for old, new in ((2, -1), (3, 2), (-1, 3)):
        change(path, f"UPDATE lovia_saves SET number = {new} WHERE {OF_RUN} AND number = {old}")
    change(path, "UPDATE lovia_runs SET step = 7 WHERE run_id = 'r'")
    assert all(finding.repairable for finding in repair(path))
    assert check(path) == []
    exactly(await SQLiteCheckpointer(path).load("r"), fold("r", long_run()))


async def test_d3_a_save_of_which_two_values_changed_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    change(path, f"UPDATE lovia_saves SET entries = 9, sum = 'x' WHERE {OF_RUN} AND number = 3")
    (done,) = repair(path)
    assert "; saves 1 to 2 of run 'r' were kept; calls whose results are in none of them run again; what" in done.what
