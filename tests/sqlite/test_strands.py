"""The rows that say where a session's segments are: what changes in them is noticed and found again (D3)."""

from pathlib import Path
from typing import Any

import pytest

from stores.conformance.samples import say
from stores.entries import Entry
from stores.errors import StoreDamagedError
from stores.findings import Finding
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from stores.sqlite.segments import SessionRow
from tests.sqlite.kit import change, raw, sessions_of_version_2
from tests.sqlite.test_damage import flip
from tests.sqlite.test_losses import forked_talk, talk

pytestmark = pytest.mark.anyio

AGAIN = "the row that says where the segments of session {} are is not what was written (strand {}); it was made again"
ASIDE = "; what was there was moved aside into the table lovia_quarantine"


async def filled(path: Path) -> dict[str, list[Entry]]:
    """Strand 1 of ``other``, which is as long as strand 2, of ``talk``, on which strand 3, of ``a fork``, goes on."""
    for n in (1, 2, 3):
        await SQLiteSession(path).append("other", [say(f"{n}"), say(f"{n}")], run_id=f"b{n}")
    return {**await forked_talk(path), "other": await SQLiteSession(path).load("other")}


async def conversations(path: Path, *names: str) -> dict[str, list[Entry]]:
    return {name: await SQLiteSession(path).load(name) for name in names or ("talk", "a fork", "other")}


def strands(path: Path) -> list[Any]:
    with raw(path) as connection:
        return connection.execute("SELECT * FROM lovia_strands ORDER BY strand").fetchall()


CHANGES = [
    (3, "base = 1"), (3, "base = 'x'"), (3, "base = NULL"), (3, "upto = 1"), (3, "shared = 0"),
    (3, "shared_entries = 9"),
    (2, "session_id = 'su'"), (2, "state = ''"), (2, "base = 'x'"), (2, "state = 'dropped'"), (2, "strand = 77"),
    (3, "session_id = CAST('a fork' AS BLOB)"), (2, "sum = 'x'"), (3, "sum = 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "harm"), CHANGES)
async def test_d3_a_strand_of_which_one_value_changed_is_made_again_as_it_was_written(
    tmp_path: Path, number: int, harm: str
) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), strands(path)
    change(path, f"UPDATE lovia_strands SET {harm} WHERE strand = {number}")
    whose = {2: "talk", 3: "a fork"}[number]
    with pytest.raises(StoreDamagedError, match="the row that says where the segments of session"):
        await conversations(path, whose)
    assert await conversations(path, "other") == {"other": before["other"]}
    (found,) = check(path)
    assert (found.repairable, found.is_lost) == (True, False)
    (done,) = repair(path)
    assert done.what.endswith(f", for session {whose!r}{ASIDE}")
    assert (check(path), repair(path), strands(path), await conversations(path)) == ([], [], rows, before)
    with raw(path) as connection:
        assert connection.execute("SELECT count(*), origin FROM lovia_quarantine").fetchall() == [(1, "lovia_strands")]


async def test_d3_what_the_doctor_says_of_a_strand_is_what_it_knows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    for harm, told in (
        ("base = 1", "as it was written"),
        ("sum = 'x'", "as it stands, which agrees with all else"),
        ("base = 1, sum = 'x'", "from the segments that name it"),
    ):
        change(path, f"UPDATE lovia_strands SET {harm} WHERE strand = 3")
        # The two conversations are equally long, so in the third case only the fork's run tells them apart.
        assert [finding.what for finding in repair(path)] == [
            f"{AGAIN.format(repr('a fork'), 3)} {told}, for session 'a fork'{ASIDE}"
        ]


@pytest.mark.parametrize("place", [1, 3, 99])
async def test_d3_a_segment_in_the_place_of_another_is_put_back(tmp_path: Path, place: int) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE strand = ? AND n = 1", (place,))
        connection.execute("UPDATE lovia_segments SET strand = ? WHERE strand = 2 AND n = 1", (place,))
    del before["other"]  # of which a segment had to go for the first case
    moved, *_ = repair(path)
    assert moved.what == "segment 1 of session 'talk' (run 'a1') stands in another's place; it was put back"
    assert (check(path), await conversations(path, *before)) == ([], before)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (
            "UPDATE lovia_segments SET entries = 'x' WHERE strand = 1 AND n = 1",
            "segment 1 of session 'other' (run 'b1') is not what was written; the session can be kept without it",
        ),
        (
            "UPDATE lovia_strands SET upto = 1 WHERE strand = 1",
            "the row that says where the segments of session 'other' are is not what was written (strand 1);"
            " it can be made again as it was written",
        ),
    ],
)
async def test_d3_a_segment_in_the_place_of_another_hides_no_other_damage(tmp_path: Path, harm: str, told: str) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, "UPDATE lovia_segments SET strand = 99 WHERE strand = 2 AND n = 1")
    change(path, harm)
    stray = "segment 1 of session 'talk' (run 'a1') stands in another's place; it can be put back"
    assert [finding.what for finding in check(path)] == [stray, told], "and nothing of what lacks that segment"
    assert {finding.repairable for finding in repair(path)} == {True}
    assert (check(path), await conversations(path, "talk", "a fork")) == (
        [],
        {name: before[name] for name in ("talk", "a fork")},
    )


@pytest.mark.parametrize("place", [1, 99])
async def test_d3_a_segment_in_the_place_of_another_goes_aside_where_its_run_is_named_already(
    tmp_path: Path, place: int
) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    del before["other"]  # of which a segment has to go for the first case
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE strand = ? AND n = 3", (place,))
    change(path, "UPDATE lovia_segments SET strand = ? WHERE strand = 2 AND n = 3", place)
    change(path, "UPDATE lovia_segments SET run_id = 'a3' WHERE strand = 2 AND n = 2")
    found = [finding.what for finding in repair(path) if "'other'" not in finding.what]
    stray = "segment 3 of session 'talk' (run 'a3') stands in another's place; nothing lacks it: it"
    assert [what for what in found if "place" in what] == [
        f"{stray} was moved aside into the table lovia_quarantine"
    ] * (place == 1)
    assert (check(path), await conversations(path, *before)) == ([], before)
    with raw(path) as connection:
        query = "SELECT json_extract(row, '$.n'), json_extract(row, '$.strand') FROM lovia_quarantine"
        kept = connection.execute(f"{query} WHERE origin = 'lovia_segments'").fetchall()
    assert sorted(kept) == [(2, 2), (3, place)], "the damaged one, and the whole one"


async def test_d3_while_it_is_not_known_who_reads_a_segment_it_stays(tmp_path: Path) -> None:
    for n, harm in enumerate(("UPDATE lovia_strands SET base = NULL", "DELETE FROM lovia_strands")):
        path = tmp_path / f"{n}.db"
        before = await filled(path)
        change(path, f"{harm} WHERE session_id = 'a fork'")
        session = SQLiteSession(path)
        assert await session.rewind("talk", keep_entries=1) == 5
        await session.clear("talk")
        assert await session.load("talk") == []
        assert [(finding.repairable, finding.is_leftover) for finding in repair(path)] == [(True, False), (True, True)]
        assert (check(path), await conversations(path)) == ([], before | {"talk": []})


async def test_h3_what_a_fork_of_a_removed_fork_reads_stays_while_the_row_between_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, session = await filled(path), SQLiteSession(tmp_path / "store.db")
    await session.fork_session("a fork", "its fork", upto="f1")
    await session.confirm_fork("its fork")
    await session.clear("a fork")
    change(path, "DELETE FROM lovia_strands WHERE session_id = 'a fork'")
    await session.clear("talk")
    assert "it was made again from the segments that name it, for session 'a fork'" in repair(path)[0].what
    again = {"its fork": before["a fork"], "talk": [], "other": before["other"]}
    assert (check(path), await conversations(path, *again)) == ([], again)


async def test_m4_what_was_removed_beside_a_damaged_strand_goes_with_the_repair(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, session = await filled(path), SQLiteSession(tmp_path / "store.db")
    change(path, "UPDATE lovia_strands SET upto = 1 WHERE session_id = 'a fork'")
    await session.clear("other")
    leftover = "nobody reads what is left of session 'other' (strand 1)"
    assert [leftover in finding.what for finding in check(path)] == [False], "it cannot be told yet"
    _, done = repair(path)
    assert done == Finding(str(path), f"{leftover}; it was moved aside into the table lovia_quarantine", True, True)
    assert (check(path), await conversations(path)) == ([], before | {"other": []})
    with raw(path) as connection:
        assert connection.execute("SELECT n FROM lovia_segments WHERE session_id = 'other'").fetchall() == []
        query = "SELECT origin, count(*) FROM lovia_quarantine WHERE why = 'nobody reads it' GROUP BY origin"
        assert connection.execute(query).fetchall() == [("lovia_segments", 3), ("lovia_strands", 1)]


async def test_m4_what_a_removed_strand_went_on_from_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, session = await filled(path), SQLiteSession(tmp_path / "store.db")
    change(path, "UPDATE lovia_strands SET upto = 1 WHERE session_id = 'a fork'")
    for keep_entries in (4, 2):
        await session.rewind("other", keep_entries=keep_entries)
    await session.clear("other")
    assert [finding.is_leftover for finding in repair(path)] == [False, True]
    assert (check(path), await conversations(path)) == ([], before | {"other": []})
    with raw(path) as connection:
        assert connection.execute("SELECT strand FROM lovia_strands").fetchall() == [(2,), (3,)]


async def test_d3_what_nobody_reads_is_reported_when_it_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, whole = await filled(path), "SELECT sum FROM lovia_strands WHERE strand = 3"
    with raw(path) as connection:
        (total,) = connection.execute(whole).fetchone()
    change(path, "UPDATE lovia_strands SET sum = 'x' WHERE strand = 3")
    await SQLiteSession(path).clear("other")
    change(path, "UPDATE lovia_strands SET sum = ? WHERE strand = 3", total)
    leftover = "nobody reads what is left of session 'other' (strand 1); it can be moved aside"
    assert check(path) == [Finding(str(path), leftover, True, True)]
    assert await conversations(path) == before | {"other": []}


async def test_d3_a_missing_strand_is_noticed_beside_a_missing_session(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, "DELETE FROM lovia_strands WHERE session_id = 'a fork'")
    change(path, "DELETE FROM lovia_sessions WHERE session_id = 'other'")  # as many sessions as strands
    session = SQLiteSession(path)
    assert await session.rewind("talk", keep_entries=1) == 5
    repair(path)
    assert (check(path), await conversations(path)) == ([], before | {"talk": before["talk"][:1]})


async def test_s3_a_session_whose_strand_is_missing_takes_no_segment(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, "DELETE FROM lovia_strands WHERE session_id = 'talk'")
    session = SQLiteSession(path)
    for ask in (
        lambda: session.append("talk", before["talk"][:2], run_id="a1"),
        lambda: session.has_segment("talk", "a1"),
        lambda: session.rewind("talk", keep_entries=0),
        lambda: session.trim_tool_results("talk", keep_runs=0),
        lambda: session.fork_session("talk", "new", upto="a1"),
        lambda: session.clear("talk"),
    ):
        with pytest.raises(StoreDamagedError, match="session 'talk' are is missing"):
            await ask()
    repair(path)
    assert (check(path), await conversations(path)) == ([], before)


@pytest.mark.parametrize("harm", ["DELETE FROM lovia_sessions", "UPDATE lovia_sessions SET session_id = 'x'"])
async def test_s2_a_session_whose_row_is_missing_is_not_begun_anew_over_its_segments(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    change(path, f"{harm} WHERE session_id = 'talk'")
    session = SQLiteSession(path)
    for ask in (
        lambda: session.append("talk", [say("more")], run_id="more"),
        lambda: session.load("talk"),
        lambda: session.rewind("talk", keep_entries=0),
    ):
        with pytest.raises(StoreDamagedError, match="the row of session 'talk' is missing"):
            await ask()
    listed = {info.session_id: bool(info.damage) for info in await session.sessions()}
    info = await session.session_info("talk")
    assert (listed["talk"], listed["a fork"], bool(info and info.damage)) == (True, False, True)
    repair(path)
    assert (check(path), await conversations(path)) == ([], before)


async def test_m4_what_was_undone_does_not_come_back_with_a_lost_strand(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await filled(path)
    session = SQLiteSession(path)
    for undo, left in ((lambda: session.rewind("talk", keep_entries=2), 2), (lambda: session.clear("talk"), 0)):
        await undo()
        with raw(path) as connection:
            newest = "SELECT max(strand) FROM lovia_strands WHERE session_id = 'talk'"
            connection.execute(f"DELETE FROM lovia_strands WHERE strand = ({newest})")
        (done,) = repair(path)
        assert "are is missing" in done.what
        doubt = "whether that session was removed cannot be told, so what there is of it is for its forks alone"
        assert (doubt in done.what) == (left == 0)
        assert (check(path), await session.load("talk")) == ([], before["talk"][:left])
        assert await session.load("a fork") == before["a fork"]


async def test_d1_strands_without_a_checksum_get_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, rows = await filled(path), strands(path)
    sessions_of_version_2(path)
    assert check(path) == []
    assert (await conversations(path), strands(path)) == (before, rows)


async def test_d1_a_damaged_strand_of_an_older_file_is_damage_after_the_migration_too(tmp_path: Path) -> None:
    for n, harm in enumerate(("session_id = 'su'", "state = ''", "base = 'x'", "upto = 1")):
        path = tmp_path / f"{n}.db"
        before = await filled(path)
        whose = "a fork" if harm == "upto = 1" else "talk"
        sessions_of_version_2(path)
        change(path, f"UPDATE lovia_strands SET {harm} WHERE session_id = ?", whose)
        with pytest.raises(StoreDamagedError):
            await conversations(path)
        assert [finding.repairable for finding in repair(path)] == [True]
        assert (check(path), await conversations(path)) == ([], before)


@pytest.mark.parametrize("is_forked", [False, True])
async def test_m3_what_a_whole_row_does_not_count_is_set_aside_and_kept_for_forks(
    tmp_path: Path, is_forked: bool
) -> None:
    path = tmp_path / "store.db"
    session = SQLiteSession(path)
    before = await filled(path)
    await session.rewind("other", keep_entries=4)
    with raw(path) as connection:
        (row,) = connection.execute("SELECT * FROM lovia_sessions WHERE session_id = 'other'").fetchall()
    await session.append("other", before["other"][4:], run_id="b3")
    if is_forked:
        await session.fork_session("other", "its fork", upto="b3")
        await session.confirm_fork("its fork")
    change(path, "DELETE FROM lovia_sessions WHERE session_id = 'other'")
    change(path, "INSERT INTO lovia_sessions VALUES (?, ?, ?, ?, ?)", *row)
    with pytest.raises(StoreDamagedError, match="should have segments 1 to 2, and has 3"):
        await session.load("other")
    (done,) = repair(path)
    assert done.what == f"session 'other' has segment 3 (run 'b3'), which its row does not count{ASIDE}"
    assert (check(path), await session.load("other")) == ([], before["other"][:4])
    assert await session.load("its fork") == (before["other"] if is_forked else [])
    with raw(path) as connection:
        query = "SELECT json_extract(row, '$.run_id') FROM lovia_quarantine WHERE origin = 'lovia_segments'"
        assert connection.execute(query).fetchall() == [("b3",)]


@pytest.mark.parametrize("is_forked", [False, True])
@pytest.mark.parametrize("n", [1, 2])
async def test_m3_what_was_undone_is_not_counted_again_with_a_segment_that_is_made_again(
    tmp_path: Path, n: int, is_forked: bool
) -> None:
    path = tmp_path / "store.db"
    session, before = SQLiteSession(path), await talk(path, "a1", "a2", "a3")
    if is_forked:
        await session.fork_session("talk", "a fork", upto="a3")
        await session.confirm_fork("a fork")
    row = SessionRow("talk", 2, 4, 1000.0)
    with raw(path) as connection:
        row.write(connection)
    await SQLiteCheckpointer(path).delete("a3")  # as a rewind does first
    flip(path, "lovia_segments", "entries", f"n = {n}")
    done = repair(path)[0]
    assert done.what == (
        f"segment {n} of session 'talk' (run 'a{n}') is not what was written; segment {n} was made again from the"
        f" checkpoint of run 'a{n}'{ASIDE}"
    )
    assert (check(path), await session.load("talk")) == ([], before[:4])
    assert await session.load("a fork") == (before if is_forked else [])
    with raw(path) as connection:
        query = "SELECT json_extract(row, '$.run_id') FROM lovia_quarantine WHERE origin = 'lovia_segments'"
        assert connection.execute(query).fetchall() == [(f"a{n}",), ("a3",)]


async def test_d3_a_lost_strand_of_which_nothing_tells_takes_along_only_what_goes_on_from_it(tmp_path: Path) -> None:
    path, session = tmp_path / "store.db", SQLiteSession(tmp_path / "store.db")
    for run_id in ("r1", "r2"):
        await session.append("talk", [say(run_id)], run_id=run_id)
    for source, fork in (("talk", "f"), ("f", "g")):
        await session.fork_session(source, fork, upto="r2")
        await session.confirm_fork(fork)
    change(path, "DELETE FROM lovia_strands WHERE session_id = 'f'")
    (found,) = check(path)
    what = "the row that says where the segments of session '' are is missing (strand 2)"
    assert found.what == f"{what}; it can be made again without what it held, which nothing tells"
    strand, *lost = repair(path)
    assert (strand.is_lost, [finding.is_lost for finding in lost]) == (False, [True, True])
    kept = "nothing of session '{}' can be kept"
    assert [kept.format(name) in one.what for name, one in zip("fg", lost, strict=True)] == [True, True]
    assert (check(path), [one.run_id for one in await SQLiteSession(path).segments("talk")]) == ([], ["r1", "r2"])
