"""Lost segments of sessions that were forked, trimmed and rewound, made again from checkpoints wherever they stood
(R7), and that a repair says what it has done (D3)."""

from dataclasses import replace
from pathlib import Path

import pytest

from stores.conformance.checks import saved, write
from stores.conformance.samples import call, result, say
from stores.entries import Entry
from stores.sqlite import SQLiteCheckpointer, SQLiteSession
from stores.sqlite.doctor.check import check, repair
from tests.sqlite.kit import change, raw
from tests.sqlite.test_losses import talk

pytestmark = pytest.mark.anyio

AGAIN = "made again from the checkpoint of run"
ASIDE = "what was there was moved aside into the table lovia_quarantine"
TRIM = "tool outputs are whole: where session 's' was trimmed, trim it again with: lovia trim s"


def said(run_id: str) -> list[Entry]:
    return [say(run_id), call(1), result(1, output=run_id * 1000)]


async def run(path: Path, session_id: str, run_id: str, behind: str | None, *, at: float, parent: str = "") -> None:
    """A run that was completed ``at`` that time, as the engine makes one, and its segment."""
    head = {"parent": {"run_id": parent, "save": 1, "step": 1}} if parent else {}
    first = saved(1, *said(run_id), session_id=session_id, history_upto=behind, **head)
    last = replace(saved(2, status="completed", event="completed"), at=at)
    store, session = SQLiteCheckpointer(path), SQLiteSession(path)
    await write(store, run_id, first, last)
    await session.append(session_id, said(run_id), run_id=run_id)
    await store.settle(run_id)


async def fork(path: Path, source: str, upto: str, run_id: str, *, at: float, parent: str) -> None:
    """A session of the name of its run, which began with what ``source`` has up to ``upto``."""
    await SQLiteSession(path).fork_session(source, run_id, upto=upto)
    await SQLiteSession(path).confirm_fork(run_id)
    await run(path, run_id, run_id, upto, at=at, parent=parent)


async def filled(path: Path) -> None:
    """Session ``s`` of s1, s2 and s4, of which s3 was undone, the first two trimmed; ``k``, forked from s3; ``j``, from
    k's second run, and ``i``, a fork that has no segment of its own."""
    for n in (1, 2, 3):
        await run(path, "s", f"s{n}", f"s{n - 1}" if n > 1 else None, at=2000.0 + n)
    await fork(path, "s", "s2", "k", at=2010.0, parent="s3")
    await run(path, "k", "k2", "k", at=2011.0)
    await fork(path, "k", "k", "j", at=2012.0, parent="k2")
    await SQLiteSession(path).fork_session("s", "i", upto="s1")
    await SQLiteSession(path).confirm_fork("i")
    begun = saved(1, say("i"), session_id="i", history_upto="s1", parent={"run_id": "s2", "save": 1, "step": 1})
    await write(SQLiteCheckpointer(path), "i", begun)
    assert await SQLiteSession(path).trim_tool_results("s", keep_runs=1) == 2
    await SQLiteCheckpointer(path).delete("s3")
    await SQLiteSession(path).rewind("s", keep_entries=6)
    await run(path, "s", "s4", "s2", at=2020.0)
    assert check(path) == []


async def segments(path: Path) -> dict[str, list[str]]:
    session = SQLiteSession(path)
    return {
        info.session_id: [one.run_id for one in await session.segments(info.session_id)]
        for info in sorted(await session.sessions(), key=lambda info: info.session_id)
    }


WHOLE = {"i": ["s1"], "j": ["s1", "s2", "k", "j"], "k": ["s1", "s2", "k", "k2"], "s": ["s1", "s2", "s4"]}
OLD, NEW = (f"(SELECT {word}(strand) FROM lovia_segments WHERE run_id = 's1')" for word in ("min", "max"))


@pytest.mark.parametrize("harm", ["DELETE FROM lovia_segments", "UPDATE lovia_segments SET sum = 'x'"])
async def test_r7_what_only_forks_see_of_a_trimmed_session_is_made_again(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    change(path, f"{harm} WHERE run_id = 's1' AND strand = {OLD}")
    first, *others = [finding.what.partition("; ")[2] for finding in repair(path)]
    moved = "" if harm.startswith("DELETE") else f"; {ASIDE}"
    whole = "; its tool outputs are whole, also where they had been trimmed"
    assert first == f"segment 1 was {AGAIN} 's1'{moved}{whole}"
    assert set(others) == {"it is whole again with what it shares"}
    assert (check(path), await segments(path)) == ([], WHOLE)
    assert (await SQLiteSession(path).load("i"), await SQLiteSession(path).load("k")) == (
        said("s1"),
        [entry for run_id in WHOLE["k"] for entry in said(run_id)],
    )


async def test_r7_a_trimmed_copy_that_is_damaged_hides_no_whole_segment(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    change(path, f"UPDATE lovia_segments SET sum = 'x' WHERE run_id = 's1' AND strand = {NEW}")
    (done,) = repair(path)
    trim = "where session 's' was trimmed since, trim it again with: lovia trim s"
    assert done.what.endswith(f"; segment 1 is again as forks read it; {ASIDE}; {trim}")
    assert (check(path), await segments(path)) == ([], WHOLE)
    assert (await SQLiteSession(path).load("s"))[:3] == said("s1")


async def test_r7_all_segments_of_a_forked_trimmed_and_rewound_session_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE session_id = 's'")
    first, *others = [finding.what.partition("; ")[2] for finding in repair(path)]
    assert first == f"segments 1, 2 and 3 were made again from the checkpoints of runs 's1', 's2' and 's4'; {TRIM}"
    assert others == ["it is whole again with what it shares"] * 3
    assert (check(path), await segments(path)) == ([], WHOLE)


@pytest.mark.parametrize("gone", [("segments",), ("segments", "strands"), ("segments", "sessions")])
async def test_r7_what_checkpoints_have_of_a_session_without_segments_is_kept(
    tmp_path: Path, gone: tuple[str, ...]
) -> None:
    path = tmp_path / "store.db"
    for n in (1, 2):
        await run(path, "s", f"s{n}", f"s{n - 1}" if n > 1 else None, at=2000.0 + n)
    await SQLiteCheckpointer(path).delete("s1")  # as a run leaves it that is deleted on success
    with raw(path) as connection:
        for table in gone:
            connection.execute(f"DELETE FROM lovia_{table}")
    (done,) = repair(path)
    assert (done.repairable, done.is_lost) == (True, False)
    lost = "no checkpoint holds the same, so session 's' goes on without one of its segments"
    doubt = "; which run's segment 2 was cannot be told, and is a guess from when it ended"  # nothing counts them
    assert done.what.endswith(f"; segment 2 was {AGAIN} 's2'{doubt * ('sessions' in gone)}; {lost}; {TRIM}")
    assert (check(path), await segments(path)) == ([], {"s": ["s2"]})
    await run(path, "s", "s3", "s2", at=2009.0)
    assert (check(path), await segments(path)) == ([], {"s": ["s2", "s3"]})


GUESS = "which runs' segments {} were cannot be told, and is a guess from when they ended"


async def test_r7_which_runs_segments_were_is_said_to_be_a_guess_where_it_is_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2", "a3")  # whose runs do not say what they began behind
    for n in (1, 2, 3):
        await run(path, "s", f"s{n}", f"s{n - 1}" if n > 1 else None, at=2000.0 + n)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE n != 2")
    found, done = check(path), repair(path)
    of_runs = "segments 1 and 3 {} made again from the checkpoints of runs"
    for findings, verb, more in ((found, "can be", ""), (done, "were", f"; {TRIM}")):
        of_s, of_talk = [finding.what.partition("; ")[2] for finding in findings]
        assert of_s == f"{of_runs.format(verb)} 's1' and 's3'{more}"
        assert of_talk == f"{of_runs.format(verb)} 'a1' and 'a3'; {GUESS.format('1 and 3')}"
    assert (check(path), await SQLiteSession(path).load("talk")) == ([], before)
    assert (await segments(path))["s"] == ["s1", "s2", "s3"]


async def test_d3_a_segment_whose_number_changed_is_made_again_where_it_stood(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = await talk(path, "a1", "a2", "a3")
    change(path, "DELETE FROM lovia_segments WHERE n = 3")
    change(path, "UPDATE lovia_segments SET n = 3 WHERE n = 2")
    (done,) = repair(path)
    again = "segment 2 was made again as it was written; segment 3 was made again from the checkpoint of run 'a3'"
    assert done.what.endswith(f"; {again}; {ASIDE}")
    assert (check(path), await SQLiteSession(path).load("talk")) == ([], before)


async def test_k6_segments_of_runs_side_by_side_are_made_again_in_the_order_in_which_they_ended(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for n, (run_id, behind) in enumerate((("a", None), ("b", None), ("c", "a"))):  # c began while b went on
        await run(path, "s", run_id, behind, at=2000.0 + n)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments WHERE n < 3")
    (done,) = repair(path)
    again = "segments 1 and 2 were made again from the checkpoints of runs 'a' and 'b'"
    assert done.what.partition("; ")[2] == f"{again}; {GUESS.format('1 and 2')}; {TRIM}"
    assert (check(path), await segments(path)) == ([], {"s": ["a", "b", "c"]})


async def test_d3_no_run_stands_before_the_one_behind_which_it_began_whatever_the_clock_said(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for run_id, behind, at in (("a", None, 5000.0), ("b", "a", 5001.0), ("c", "b", 1000.0)):
        await run(path, "s", run_id, behind, at=at)
    with raw(path) as connection:
        connection.execute("DELETE FROM lovia_segments")
        connection.execute("DELETE FROM lovia_sessions")
    (done,) = repair(path)
    assert "; segments 1, 2 and 3 were made again from the checkpoints of runs 'a', 'b' and 'c'; " in done.what
    assert "goes on without" not in done.what
    assert (check(path), await segments(path)) == ([], {"s": ["a", "b", "c"]})


@pytest.mark.parametrize("whose", ["s", "k", "j"])
@pytest.mark.parametrize("gone", [("segments", "strands"), ("segments", "sessions")])
async def test_r7_a_session_of_which_one_row_is_left_has_again_all_that_it_had(
    tmp_path: Path, whose: str, gone: tuple[str, ...]
) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    with raw(path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for table in gone:
            connection.execute(f"DELETE FROM lovia_{table} WHERE session_id = ?", (whose,))
    assert {finding.repairable for finding in repair(path)} == {True}
    assert (check(path), await segments(path)) == ([], WHOLE)


@pytest.mark.parametrize(
    "harm",
    [
        f"UPDATE lovia_sessions SET sum = 'x'; DELETE FROM lovia_segments WHERE run_id = 's1' AND strand = {OLD};"
        "UPDATE lovia_segments SET sum = 'x' WHERE session_id = 's'",
        "DELETE FROM lovia_sessions; UPDATE lovia_strands SET base = NULL, upto = 0 WHERE session_id = 'j'",
    ],
)
async def test_r7_what_two_kinds_of_damage_leave_is_enough(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    with raw(path) as connection:
        connection.executescript(harm)
    assert [finding.is_lost for finding in repair(path) if finding.is_lost] == []
    assert (check(path), await segments(path)) == ([], WHOLE)


@pytest.mark.parametrize("whose", ["s", "k"])
async def test_d3_forks_of_a_session_that_is_gone_altogether_keep_what_they_share(tmp_path: Path, whose: str) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    with raw(path) as connection:
        for table in ("segments", "sessions", "strands"):
            connection.execute(f"DELETE FROM lovia_{table} WHERE session_id = ?", (whose,))
    (found,) = check(path)
    doubt = "whether that session was removed cannot be told, so what there is of it is for its forks alone"
    told = f"made again from what the runs of its forks tell{{}}; {doubt}"
    assert found.what.startswith(f"the row that says where the segments of session {whose!r} are is missing (strand ")
    assert found.what.endswith(f"; it can be {told.format('')}")
    first, *others = repair(path)
    assert first.what.endswith(f"; it was {told.format(f', for session {whose!r}')}")
    assert [finding.is_lost for finding in others] == [False] * (3 if whose == "s" else 1)
    assert [finding.what for finding in others if "again" not in finding.what] == []
    left = {name: runs for name, runs in WHOLE.items() if name != whose}
    assert (check(path), repair(path), await segments(path)) == ([], [], left)


async def test_d3_a_repair_says_what_it_did_and_not_what_could_have_been_done(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before, session = await talk(path, "a1", "a2"), SQLiteSession(path)
    await session.fork_session("talk", "a fork", upto="a1")
    await session.confirm_fork("a fork")
    change(path, "UPDATE lovia_segments SET run_id = 'x', checksum = 'x' WHERE n = 1")
    nothing = "nothing of session 'a fork' can be kept, and its id would start over"
    first, of_fork = check(path)
    assert of_fork.what.endswith(f"; {nothing}, unless what is mended before it tells more"), "alone, it has nothing"
    assert (first.is_lost, of_fork.is_lost) == (False, False)
    made, whole = repair(path)
    assert made.what.endswith(f"; segment 1 was {AGAIN} 'a1'; {ASIDE}")
    assert whole.what.endswith("; it is whole again with what it shares")
    assert (made.is_lost, whole.is_lost) == (False, False)
    assert (check(path), await session.load("talk"), await session.load("a fork")) == ([], before, before[:2])
