"""An older copy of a session's row, or of a segment's, that was put back: what counts stays, and what a rewind undid
does not come back (M4, D3)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stores import codec
from stores.conformance.checks import saved, write
from stores.conformance.samples import call, result, say
from stores.entries import Entry
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.segments import read_segment
from tests.sqlite.kit import raw

pytestmark = pytest.mark.anyio

ASIDE = "what was there was moved aside into the table lovia_quarantine"
MADE = "the row of session 's' was made again from its segments"


async def run(path: Path, run_id: str, *entries: Entry, behind: str | None = None) -> None:
    """A run of session ``s`` that was completed, and its segment."""
    store, session = SQLiteCheckpointer(path), SQLiteSession(path)
    said = entries or (say(run_id), call(1), call(2), result(1), result(2))
    first = saved(1, *said, session_id="s", history_upto=behind)
    await write(store, run_id, first, saved(2, status="completed", event="completed"))
    snapshot = await store.load(run_id)
    assert snapshot
    await session.append("s", snapshot.entries, run_id=run_id)
    (info,) = await session.sessions()
    note_end(path, run_id, info.updated_at)


def note_end(path: Path, run_id: str, at: float | None) -> None:
    """When the run ended, as its segment notes it; None: it does not."""
    with raw(path) as connection:
        query = "SELECT rowid FROM lovia_segments WHERE run_id = ?"
        for (rowid,) in connection.execute(query, (run_id,)).fetchall():
            meta = codec.dumps({"timing": {"finished_at": at}})
            replace(read_segment(connection, rowid, where=""), meta=meta).put(connection)


async def rewind(path: Path, keep_entries: int, *run_ids: str) -> None:
    """As the command does, which deletes the checkpoints of what it is going to cut."""
    for run_id in run_ids:
        await SQLiteCheckpointer(path).delete(run_id, keep_history=True)
    await SQLiteSession(path).rewind("s", keep_entries=keep_entries)


def rows(path: Path, of: str = "segments") -> list[tuple[Any, ...]]:
    with raw(path) as connection:
        return connection.execute(f"SELECT * FROM lovia_{of} ORDER BY 1, 2").fetchall()


def put_back(path: Path, of: str, row: tuple[Any, ...]) -> None:
    with raw(path) as connection:
        connection.execute(f"INSERT OR REPLACE INTO lovia_{of} VALUES ({', '.join('?' * len(row))})", row)


async def runs(path: Path) -> list[str]:
    return [segment.run_id for segment in await SQLiteSession(path).segments("s")]


@pytest.mark.parametrize("told_by", ["its checkpoint", "its end"])
async def test_d3_an_older_row_of_a_session_takes_no_segment_away(tmp_path: Path, told_by: str) -> None:
    path = tmp_path / "store.db"
    await run(path, "a")
    (older,) = rows(path, "sessions")
    await run(path, "b")
    await run(path, "c")
    if told_by == "its end":
        for run_id in ("b", "c"):
            await SQLiteCheckpointer(path).delete(run_id)
    else:
        for run_id in ("a", "b", "c"):
            note_end(path, run_id, None)
        await SQLiteCheckpointer(path).delete("b")
    put_back(path, "sessions", older)
    before = rows(path)
    what = "session 's' has segments 2 and 3 (runs 'b' and 'c'), which its row, an older copy, does not count"
    assert [finding.what for finding in check(path)] == [f"{what}; its row can be made from its segments"]
    assert [finding.what for finding in repair(path)] == [f"{what}; {MADE}"]
    assert (check(path), rows(path), await runs(path)) == ([], before, ["a", "b", "c"])


async def test_m4_a_segment_that_was_undone_and_put_back_goes_aside_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await run(path, "a")
    await run(path, "b")
    older = rows(path)[1]
    await rewind(path, 5, "b")
    before = rows(path)
    put_back(path, "segments", older)
    what = "session 's' has segment 2 (run 'b'), which its row does not count"
    assert [finding.what for finding in check(path)] == [f"{what}; it can be moved aside"]
    assert [finding.what for finding in repair(path)] == [f"{what}; {ASIDE}"]
    assert (check(path), rows(path)) == ([], before)


@pytest.mark.parametrize(("is_forked", "is_last"), [(False, True), (True, True), (False, False)])
@pytest.mark.parametrize(("keep", "left"), [(9, 3), (7, 1)])
async def test_m4_an_older_copy_of_a_segment_brings_back_nothing_that_a_rewind_cut(
    tmp_path: Path, keep: int, left: int, is_forked: bool, is_last: bool
) -> None:
    path = tmp_path / "store.db"
    session = SQLiteSession(path)
    await run(path, "a")
    await run(path, "b")
    whole = await session.load("s")
    older = rows(path)[1]
    if is_forked:
        await session.fork_session("s", "a fork", upto="b")
        await session.confirm_fork("a fork")
    await rewind(path, keep, "b")
    if not is_last:
        await run(path, "c", behind="b")
    before, strand, more = rows(path), rows(path)[-1][0], 0 if is_last else 5
    put_back(path, "segments", (strand, *older[1:]))
    guess = "that segment 2 (run 'b') is an older copy is a guess from how many entries are counted"
    entries = "1 entry" if left == 1 else f"{left} entries"
    cut = f"cut again to {entries}, as a rewind had left it"
    what = f"session 's' should have {5 + left + more} entries, and has {10 + more}; {guess}; it"
    assert [finding.what for finding in check(path)] == [f"{what} can be {cut}"]
    assert [finding.what for finding in repair(path)] == [f"{what} was {cut}; {ASIDE}"]
    assert (check(path), rows(path), len(await session.load("s"))) == ([], before, 5 + left + more)
    assert not is_forked or await session.load("a fork") == whole


@pytest.mark.parametrize("size", [1, 9])
async def test_r7_a_segment_over_which_an_older_copy_was_put_is_made_again_from_its_checkpoint(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "store.db"
    await run(path, "a")
    await run(path, "b")
    older = rows(path)[1]
    await rewind(path, 5, "b")
    await run(path, "c", *[say("c")] * size)
    before = await SQLiteSession(path).load("s")
    put_back(path, "segments", older)
    (done,) = repair(path)
    again = "segment 2 (run 'b') is an older copy; segment 2 was made again from the checkpoint of run 'c'"
    assert done.what == f"session 's' should have {5 + size} entries, and has 10; {again}; {ASIDE}"
    assert (check(path), await SQLiteSession(path).load("s"), await runs(path)) == ([], before, ["a", "c"])


async def test_r7_an_older_copy_where_nobody_reads_it_keeps_no_segment_from_being_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    session = SQLiteSession(path)
    for run_id in ("a", "b", "c"):
        await run(path, run_id, say(run_id), call(1), result(1, output="x" * 900))
    older = rows(path)[2]
    await session.fork_session("s", "a fork", upto="b")
    await session.confirm_fork("a fork")
    assert await session.trim_tool_results("s", keep_chars=10) == 2  # for which it gets a strand of its own
    before = await session.load("s")
    with raw(path) as connection:
        assert connection.execute("DELETE FROM lovia_segments WHERE run_id = 'c'").rowcount == 1
    put_back(path, "segments", older)
    (done,) = repair(path)
    assert done.what.startswith("segment 3 of session 's' is missing; segment 3 was made again from the checkpoint of")
    assert (check(path), await session.load("s"), await runs(path)) == ([], before, ["a", "b", "c"])


@pytest.mark.parametrize(("said", "is_alone"), [(2, False), (3, False), (3, True)])
async def test_m4_an_older_copy_of_which_nothing_tells_that_it_was_cut_goes_aside(
    tmp_path: Path, said: int, is_alone: bool
) -> None:
    path = tmp_path / "store.db"
    if not is_alone:
        await run(path, "a")
    await run(path, "b")
    if said == 3:
        note_end(path, "b", 1000.0)  # something was appended long after it
    older = rows(path)[-1]
    await rewind(path, 0 if is_alone else 5, "b")
    await run(path, "c", *[say("c")] * said)  # a rewind leaves 1, 3 or 5 entries of b
    await SQLiteCheckpointer(path).delete("c")
    put_back(path, "segments", older)
    (done,) = repair(path)
    copy = f"segment {1 if is_alone else 2} (run 'b') is an older copy"
    assert f"; that {copy} is a guess from how many entries are counted; " in done.what
    assert (done.is_lost, check(path), await runs(path)) == (is_alone, [], [] if is_alone else ["a"])


async def test_d3_a_row_that_counts_less_than_what_came_after_it_is_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await run(path, "a")
    await run(path, "b")
    await rewind(path, 7, "b")
    (older,) = rows(path, "sessions")
    await rewind(path, 5)
    await run(path, "c")
    before = rows(path)
    await SQLiteCheckpointer(path).delete("a")
    await SQLiteCheckpointer(path).delete("c")
    put_back(path, "sessions", older)
    assert [finding.what for finding in repair(path)] == [f"session 's' should have 6 entries, and has 10; {MADE}"]
    assert (check(path), rows(path)) == ([], before)


async def test_m4_an_older_row_from_before_a_rewind_takes_away_nothing_that_it_left(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await run(path, "a")
    await run(path, "b")
    (older,) = rows(path, "sessions")
    await rewind(path, 6, "b")
    before = rows(path)
    put_back(path, "sessions", older)
    assert [finding.what for finding in repair(path)] == [f"session 's' should have 10 entries, and has 6; {MADE}"]
    assert (check(path), rows(path)) == ([], before)


async def test_d3_what_an_older_row_does_not_count_is_named_also_where_it_counts_other_entries(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await run(path, "a")
    await run(path, "b")
    (older,) = rows(path, "sessions")
    await rewind(path, 6, "b")
    await run(path, "c")
    await rewind(path, 7, "c")
    put_back(path, "sessions", older)
    other, extra = "session 's' should have 10 entries, and has 6", "session 's' has segment 3 (run 'c'), which its row"
    whats = [other, f"{extra} does not count"]
    assert [finding.what for finding in check(path)] == [f"{what}; it can be moved aside" for what in whats]
    assert [finding.what for finding in repair(path)] == [f"{what}; {ASIDE}" for what in whats]
    assert (check(path), await runs(path)) == ([], ["a", "b"])
