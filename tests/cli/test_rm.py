"""``lovia rm`` and ``lovia prune``: what goes, what stays, and what is asked before."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lovia_cli.cli.deleting import drop_session_of_fork
from lovia_cli.engine.runner import Runner
from lovia_cli.settings import StoreLocation
from lovia_cli.wiring import open_stores
from stores.entries import InputEntry
from stores.records import Save
from tests.cli import terminal
from tests.cli.lovia import Lovia, call, end, shell_tool, wait_for_file


def runs(lovia: Lovia) -> list[str]:
    return sorted(run["run_id"] for run in lovia("history", "--json").json["runs"])


def sessions(lovia: Lovia) -> list[str]:
    return sorted(session["session_id"] for session in lovia("history", "--json").json["sessions"])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Session u1 with runs r1 and r2 and the unfinished r3; r4 of no session, and r5 unfinished of none."""
    lovia = Lovia(tmp_path_factory.mktemp("full"))
    lovia.agent([{"text": "hi"}])
    for run_id in ("r1", "r2"):
        lovia("run", "agent.yaml", "go", "--run-id", run_id, "-s", "u1")
    lovia("run", "agent.yaml", "go", "--run-id", "r4")
    lovia.agent([call("hi"), {"text": "ok"}], tools="tools:\n" + shell_tool("hi", "echo hi"))
    lovia("run", "agent.yaml", "go", "--run-id", "r3", "-s", "u1", "--max-steps", "1")
    lovia("run", "agent.yaml", "go", "--run-id", "r5", "--max-steps", "1")
    return lovia.folder


@pytest.fixture
def full(template: Path, tmp_path: Path) -> Lovia:
    """A copy of that."""
    return Lovia(Path(shutil.copytree(template, tmp_path / "copy")))


def test_rm_of_a_run_of_no_session(full: Lovia) -> None:
    done = full("rm", "r4", "-y")
    assert (done.code, done.out, done.err) == (0, "deleted run r4\n", "")
    assert runs(full) == ["r1", "r2", "r3", "r5"]
    assert full("rm", "r4", "-y").code == 5
    assert full("doctor").out.startswith("nothing is wrong")


def test_rm_of_an_unfinished_run_says_so(full: Lovia) -> None:
    assert full("rm", "r5", "-y").out == "deleted run r5, which was unfinished (interrupted)\n"
    assert full("resume", "r5").code == 5


def test_rm_of_a_run_leaves_its_part_of_the_session(full: Lovia) -> None:
    assert full("rm", "r1", "-y").out == "deleted run r1\nits part of session u1 stays\n"
    assert [segment["run_id"] for segment in full("history", "u1", "--json").json["segments"]] == ["r1", "r2"]
    again = full("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--json").json
    assert (again["replayed"], again["error"]) == (True, None)


def test_rm_keeps_the_history_when_told_to(full: Lovia) -> None:
    done = full("rm", "r4", "--keep-history", "-y", "--json").json
    assert done == {
        "v": 1,
        "exit_code": 0,
        "store": str(full.folder / ".lovia"),
        "run_id": "r4",
        "session_id": None,
        "deleted": ["r4"],
    }
    assert len(full("history", "r4", "--json").json["saves"]) == 3
    assert full("rm", "r4", "--keep-history", "-y").code == 5
    assert full("rm", "r4", "-y").out == "deleted the history of run r4\n"
    assert full("history", "r4").code == 5


def test_rm_of_a_session_takes_all_its_runs_and_names_the_unfinished(full: Lovia) -> None:
    assert full("rm", "u1", "-y").out.splitlines() == [
        "deleted session u1 with runs r1, r2, r3",
        "run r3 (interrupted) was unfinished",
    ]
    assert (runs(full), sessions(full)) == (["r4", "r5"], [])
    assert full("history", "u1").code == 5
    assert full("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1", "--json").json["replayed"] is False
    assert full("doctor").code == 0


def test_rm_of_a_session_goes_on_after_a_kill_between_its_checkpoints(full: Lovia) -> None:
    full("rm", "r1", "-y")
    assert full("rm", "session:u1", "-y").code == 0
    assert (runs(full), sessions(full)) == (["r4", "r5"], [])


def test_rm_removes_the_archived_outputs_of_what_is_gone(lovia: Lovia) -> None:
    big = "yes rain | head -n 1000"
    lovia.agent([call("big"), {"text": "ok"}], tools="tools:\n" + shell_tool("big", big))
    for run_id in ("r1", "r2"):
        lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", run_id)
    assert lovia("trim", "u1", "--keep-runs", "0", "-y", "--json").json["trimmed"] == 2
    results = lovia.folder / ".lovia" / "results"
    assert len(list(results.rglob("*.json"))) == 2
    lovia("rm", "r1", "-y")
    assert len(list(results.rglob("*.json"))) == 2, "the session can still recall it"
    lovia("rewind", "u1", "--last-run", "-y")
    assert len(list(results.rglob("*.json"))) == 1
    lovia("rm", "u1", "-y")
    assert list(results.iterdir()) == []


@pytest.mark.parametrize("removal", ["rm session:u1 -y", "rewind u1 --keep-runs 0 -y"])
def test_m2_archived_outputs_stay_while_a_fork_shows_them(lovia: Lovia, removal: str) -> None:
    big = "yes rain | head -n 1000"
    lovia.agent([call("big"), {"text": "ok"}], tools="tools:\n" + shell_tool("big", big))
    for run_id in ("r1", "r2"):
        lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", run_id)
    lovia("trim", "u1", "--keep-runs", "1", "-y")
    lovia("fork", "run:r2", "--from-step", "1", "--new-id", "f1", "--run")
    results = lovia.folder / ".lovia" / "results"
    lovia(*removal.split())
    assert [path.parent.name.split(".")[0] for path in results.rglob("*.json")] == ["r1"]
    lovia("rm", "session:f1", "-y")
    assert list(results.iterdir()) == []


def test_h_an_id_that_names_both_is_an_error(full: Lovia) -> None:
    full("run", "agent.yaml", "go", "--run-id", "u1", "--max-steps", "1")
    before = full.store_bytes()
    assert full("rm", "u1", "-y").code == 2
    assert full.store_bytes() == before
    assert full("rm", "run:u1", "-y").code == 0
    assert sessions(full) == ["u1"]


@pytest.mark.parametrize("argv", [["rm", "r4"], ["rm", "u1"], ["prune", "--older-than", "0s"]])
def test_without_a_terminal_it_needs_yes(full: Lovia, argv: list[str]) -> None:
    before = full.store_bytes()
    done = full(*argv, stdin=b"y\n")
    assert (done.code, done.out) == (2, "")
    assert "hint: add --yes" in done.err
    assert full.store_bytes() == before


@pytest.mark.parametrize(
    ("typed", "code", "left"),
    [("y\n", 0, 4), ("Yes\n", 0, 4), ("n\n", 0, 5), ("\n", 0, 5), (terminal.CTRL_D, 0, 5), (terminal.CTRL_C, 130, 5)],
)
def test_at_a_terminal_it_asks(full: Lovia, typed: str, code: int, left: int) -> None:
    seen = answered(full, typed, "rm", "r4")
    assert "Delete run r4 (completed)? [y/N] " in seen.text
    assert ("deleted run r4" in seen.text, "nothing was changed" in seen.text) == (left == 4, left == 5)
    assert "error" not in seen.text
    assert (seen.code, len(runs(full))) == (code, left)


def answered(lovia: Lovia, typed: str, *argv: str) -> terminal.Seen:
    """What is shown at a terminal where the question is answered with this."""
    return terminal.at_terminal(lovia, *argv, steps=[("[y/N]", typed)], columns=120)


def test_what_it_asks_counts_the_runs(full: Lovia) -> None:
    full("run", "agent.yaml", "go", "--run-id", "r6", "-s", "u2", "--max-steps", "1")
    assert "Delete session u1 with 3 runs (1 unfinished)? [y/N] " in answered(full, "n\n", "rm", "u1").text
    assert "Delete session u2 with 1 run (1 unfinished)? [y/N] " in answered(full, terminal.CTRL_C, "rm", "u2").text
    assert full("rewind", "u1", "--last-run", "--dry-run").out.splitlines() == [
        "would remove 2 of 4 entries of session u1",
        "gone: run r2",
        "what its tools did stays done",
        "unfinished, and stays: run r3 (interrupted)",
    ]


def test_prune_removes_finished_runs_only(full: Lovia) -> None:
    done = full("prune", "--older-than", "0s", "-y")
    assert done.out.splitlines()[0] == "removed 3 finished runs"
    assert (runs(full), sessions(full)) == (["r3", "r5"], ["u1"])
    assert [segment["run_id"] for segment in full("history", "u1", "--json").json["segments"]] == ["r1", "r2"]
    assert full("prune", "--older-than", "0s", "-y").out == "removed 0 finished runs\n"


def test_prune_leaves_what_is_younger(full: Lovia) -> None:
    before = full.store_bytes()
    for age in ("1d", "30d", "8w", "999999999w", "12h", "60m", "3600s"):
        assert full("prune", "--older-than", age, "-y", "--json").json["runs"] == []
    assert full.store_bytes() == before


def test_prune_asks_no_session_for_what_is_younger(full: Lovia) -> None:
    """Each question lists the session's folder: damage in it is met only where a run of it is old enough to go."""
    (session,) = (full.folder / ".lovia" / "sessions").glob("u1.*/session.json")
    session.write_text("{")
    assert full("prune", "--older-than", "0s", "-y").code == 10
    young = full("prune", "--older-than", "1d", "-y")
    assert (young.code, young.out) == (0, "removed 0 finished runs\n"), young


def test_prune_removes_histories_that_were_kept(full: Lovia) -> None:
    full("rm", "r4", "--keep-history", "-y")
    full("rm", "r5", "--keep-history", "-y")
    dry = full("prune", "--older-than", "0s", "--dry-run", "--json").json
    assert (dry["runs"], dry["histories"], dry["dry_run"]) == (["r2", "r1"], ["r5", "r4"], True)
    done = full("prune", "--older-than", "0s", "--status", "deleted", "-y", "--json").json
    assert (done["runs"], done["histories"]) == ([], ["r5", "r4"])
    done = full("prune", "--older-than", "0s", "--status", "completed", "-y", "--json").json
    assert (done["runs"], done["histories"]) == (["r2", "r1"], [])
    assert full("doctor").code == 0


def test_prune_leaves_a_finished_run_that_is_not_in_its_session(full: Lovia) -> None:
    """What a crash between the run's end and its append leaves: the next run of the session heals it (R7)."""
    for segment in Path(full.folder / ".lovia" / "sessions").rglob("0*.json"):
        segment.unlink()
    for file in Path(full.folder / ".lovia" / "sessions").rglob("session.json"):
        file.unlink()
    assert full("prune", "--older-than", "0s", "-y", "--json").json["runs"] == ["r4"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--older-than", "30"], "is no duration"),
        (["--older-than", "-1d"], "is no duration"),
        (["--older-than", "1.5d"], "is no duration"),
        (["--older-than", "1d", "--status", "failed"], "runs that are failed are unfinished, and never pruned"),
        (["--older-than", "1d", "--status", "done"], "no status 'done'"),
        ([], "missing option"),
    ],
)
def test_prune_refuses_what_makes_no_sense(full: Lovia, options: list[str], told: str) -> None:
    before = full.store_bytes()
    done = full("prune", *options, "-y")
    assert done.code == 2
    assert told in done.err
    assert full.store_bytes() == before


def test_d3_a_damaged_run_is_in_the_way_of_no_other(full: Lovia) -> None:
    ref = next(path for path in (full.folder / ".lovia" / "runs").glob("*.json") if b'"id":"r5"' in path.read_bytes())
    ref.write_bytes(ref.read_bytes()[:40])
    assert (full("rm", "nope", "-y").code, full("history", "nope").code) == (5, 5)
    assert full("prune", "--older-than", "0s", "--dry-run", "--json").json["runs"] == ["r4", "r2", "r1"]


def test_prune_leaves_what_somebody_has_gone_on_with_since_it_asked(full: Lovia) -> None:
    """A run that was restarted and stopped while a person made up their mind, and a history made anew."""
    full("rm", "r1", "--keep-history", "-y")

    def steps() -> Iterator[tuple[str, str]]:
        yield "[y/N]", ""  # what is listed is listed: only now does somebody go on
        restart = ("run", "agent.yaml", "go", "--if-run-exists", "restart", "--max-steps", "1", "--run-id")
        for run_id in ("r4", "r1"):
            assert full(*restart, run_id).code == 7
        full("rm", "run:r1", "--keep-history", "-y")
        yield "", "y\n"

    seen = terminal.at_terminal(full, "prune", "--older-than", "0s", steps=steps(), columns=120)
    assert "left, as somebody has gone on with them meanwhile: r4, r1" in seen.lines
    assert runs(full) == ["r3", "r4", "r5"]
    assert len(full("history", "run:r1", "--json").json["saves"]) > 0


def test_m4_the_hint_beside_a_run_that_is_executed_can_be_pasted(lovia: Lovia) -> None:
    wait = "touch started; cat fifo"
    os.mkfifo(lovia.folder / "fifo")
    lovia.agent([call("slow"), {"text": "ok"}], tools="tools:\n" + shell_tool("slow", wait))
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r 1")
    wait_for_file(lovia.folder / "started", process)
    refused = lovia("rm", "r 1", "-y")
    (lovia.folder / "fifo").write_text("enough")
    assert (end(process).code, "lovia cancel 'r 1'" in refused.err) == (0, True), refused


def test_h3_rm_of_a_fork_leaves_its_session_to_the_run_that_began_in_it(tmp_path: Path) -> None:
    stores = open_stores(StoreLocation(tmp_path / ".lovia", "flag"))
    there = {"status": "interrupted", "agent": "bot"}

    async def begin(run_id: str, session_id: str) -> None:
        async with stores.runs.lease(run_id) as lease:
            head = {**there, "session_id": session_id, "history_upto": "before"}
            await lease.save(Save(number=1, step=0, at=1.0, event="started", head=head))

    async def left() -> list[int]:
        found = []
        await stores.sessions.append("u1", [InputEntry(text="hi")], run_id="before")
        await begin("r", "u1")
        for others in ((), ("x",)):
            fork = await Runner.fork("r", from_step=0, checkpointer=stores.runs, session=stores.sessions)
            for run_id in others:
                await begin(run_id, fork.run_id)
            run = await stores.runs.info(fork.run_id)
            assert run is not None
            await stores.runs.delete(fork.run_id)
            await drop_session_of_fork(stores, run)
            found.append(len(await stores.sessions.segments(fork.run_id)))
        return found

    assert asyncio.run(left()) == [0, 1]


def test_d3_a_session_tells_of_its_run_that_cannot_be_read_and_is_not_deleted_without_it(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools="tools:\n" + shell_tool("look", "echo seen"))
    assert lovia("run", "agent.yaml", "go", "-s", "s", "--run-id", "r1").code == 0
    assert lovia("run", "agent.yaml", "on", "-s", "s", "--run-id", "r2", "--max-steps", "1").code == 7
    [ref] = (lovia.folder / ".lovia" / "runs").glob("r2.*")
    ref.write_text("{}")
    before = lovia.store_bytes()
    assert f"unfinished: run {ref.stem}, damaged\n" in lovia("history", "s").out
    assert f"unfinished, and stays: run {ref.stem} (damaged)\n" in lovia("rewind", "s", "--last-run", "--dry-run").out
    for argv in (["resume", "s"], ["rm", "s", "-y"]):
        ran = lovia(*argv)
        assert (ran.code, f"run '{ref.stem}' cannot be read" in ran.err, str(ref) in ran.err) == (10, True, True), ran
    assert lovia.store_bytes() == before


def test_d3_a_session_is_not_deleted_while_damage_hides_whose_a_run_is(full: Lovia) -> None:
    """It would be left out, and be back after the repair. What has nothing to do with it goes on."""
    (ref,) = (full.folder / ".lovia" / "runs").glob("r2.*")
    ref.write_bytes(ref.read_bytes()[:50])
    before = full.store_bytes()
    refused = full("rm", "u1", "-y")
    assert (refused.code, str(ref) in refused.err, "lovia doctor --repair" in refused.err) == (10, True, True), refused
    assert "which runs session 'u1' has cannot be told: run 'r2" in refused.err
    assert full.store_bytes() == before
    assert full("rm", "r4", "-y").code == 0
    assert full("doctor", "--repair").code == 0
    assert full("rm", "u1", "-y").code == 0
    assert (runs(full), full("doctor").code) == (["r5"], 0)


@pytest.mark.parametrize("damage", ["session_id = NULL", "updated_at = updated_at + 1"])
def test_d3_nor_in_a_database(lovia: Lovia, damage: str) -> None:
    lovia.agent([{"text": "hi"}])
    at = ("--store", "sqlite:s.db")
    for run_id in ("r1", "r2"):
        lovia("run", "agent.yaml", "go", "--run-id", run_id, "-s", "u1", *at)
    with closing(sqlite3.connect(lovia.folder / "s.db")) as database, database:
        database.execute(f"UPDATE lovia_runs SET {damage} WHERE run_id = 'r2'")
    refused = lovia("rm", "u1", "-y", *at)
    assert (refused.code, "which runs session 'u1' has cannot be told: run 'r2'" in refused.err) == (10, True), refused
    assert lovia("doctor", "--repair", *at).code == 0
    assert lovia("rm", "u1", "-y", "--json", *at).json["deleted"] == ["r1", "r2"]


def test_what_it_asks_counts_the_runs_of_a_session_whose_folder_is_lost(full: Lovia) -> None:
    shutil.rmtree(full.folder / ".lovia" / "sessions")
    assert "Delete session u1 with 3 runs (1 unfinished)? [y/N] " in answered(full, "n\n", "rm", "u1").text
    assert sorted(full("rm", "u1", "-y", "--json").json["deleted"]) == ["r1", "r2", "r3"]


def test_a_session_that_was_rewound_to_nothing_says_so(full: Lovia) -> None:
    assert full("rewind", "u1", "--keep-runs", "0", "-y").code == 0
    assert full("rm", "r3", "-y").code == 0
    assert (full("show", "u1").out, full("show", "u1", "--raw").out) == ("session u1 has no entries\n", "")
    assert full("show", "u1", "--json").json["entries"] == []


@pytest.mark.parametrize("n", [1, 2])
def test_d3_a_segment_that_is_missing_is_told_with_its_whole_path(full: Lovia, n: int) -> None:
    (segment,) = (full.folder / ".lovia" / "sessions").glob(f"u1.*/00000{n}.*")
    segment.unlink()
    told = full("show", "u1")
    assert (told.code, told.err.splitlines()[1]) == (10, f"  where: {segment}")


@pytest.mark.parametrize("remove", [("rm", "u1", "-y"), ("rewind", "u1", "--last-run", "-y")])
def test_m4_archived_outputs_of_another_sessions_run_of_that_id_stay(lovia: Lovia, remove: tuple[str, ...]) -> None:
    lovia.agent([call("big"), {"text": "ok"}], tools="tools:\n" + shell_tool("big", "yes rain | head -n 1000"))
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1")
    lovia("rm", "run:r1", "-y")
    lovia("run", "agent.yaml", "go", "-s", "u2", "--run-id", "r1")
    assert lovia("trim", "u2", "--keep-runs", "0", "-y", "--json").json["trimmed"] == 1
    dry = lovia("rewind", "u1", "--last-run", "--dry-run")
    assert dry.out.splitlines() == ["would remove 4 of 4 entries of session u1", "what its tools did stays done"]
    removed = lovia(*remove, "--json")
    assert (removed.code, removed.json["deleted"]) == (0, [])
    assert len(list((lovia.folder / ".lovia" / "results").rglob("*.json"))) == 1
    assert runs(lovia) == ["r1"]


def test_m4_rm_of_a_session_names_no_run_that_is_another_sessions_by_now(lovia: Lovia) -> None:
    lovia.agent([{"text": "ok"}])
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1")
    lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r2")
    lovia("rm", "run:r1", "-y")
    lovia("run", "agent.yaml", "go", "-s", "u2", "--run-id", "r1")
    assert lovia("rm", "u1", "-y", "--json").json["deleted"] == ["r2"]
