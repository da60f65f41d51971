"""``lovia doctor`` as commands see it: at places that are no store, and what damage keeps them from."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.lovia import Lovia


def test_doctor_refuses_a_store_that_is_not_there(lovia: Lovia) -> None:
    ran = lovia("doctor", "--store", "nope")
    assert (ran.code, ran.out) == (5, "")
    assert f"there is no store at {lovia.folder / 'nope'}" in ran.err


@pytest.mark.parametrize("inside", ["notes.txt", "data"])
def test_doctor_makes_no_store_of_a_folder_that_is_none(lovia: Lovia, inside: str) -> None:
    (lovia.folder / "mine").mkdir()
    (lovia.folder / "mine" / inside).mkdir()
    for command in (["doctor", "--repair"], ["history"]):
        ran = lovia(*command, "--store", "mine")
        assert (ran.code, ran.out) == (10, "")
        assert "this is no store" in ran.err
        assert "--repair" not in ran.err
    assert [entry.name for entry in (lovia.folder / "mine").iterdir()] == [inside]


@pytest.mark.parametrize("place", ["agent.yaml", "/dev/null", "to-file", "to-nothing"])
def test_what_cannot_be_a_store_is_not_to_be_repaired(lovia: Lovia, place: str) -> None:
    lovia.agent([{"text": "x"}])
    (lovia.folder / "to-file").symlink_to("agent.yaml")
    (lovia.folder / "to-nothing").symlink_to("nothing")
    for command in (["doctor"], ["doctor", "--repair"], ["history"], ["run", "agent.yaml", "go"]):
        ran = lovia(*command, "--store", place)
        assert (ran.code, ran.out) == (10, ""), (command, ran)
        assert "this is no store" in ran.err
        assert "--repair" not in ran.err


def test_d3_the_reason_is_in_the_first_line_of_an_error(lovia: Lovia) -> None:
    lovia.agent([{"text": "x"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    (ref,) = (lovia.folder / ".lovia" / "runs").iterdir()
    ref.write_bytes(b"")
    for command in (["show", "r1"], ["resume", "r1"]):
        ran = lovia(*command)
        assert ran.code == 10
        assert ran.err.splitlines()[:2] == ["error: run 'r1' cannot be read: the file is empty", f"  where: {ref}"]


def test_doctor_names_a_repair_only_for_what_it_can_mend(lovia: Lovia) -> None:
    lovia.agent([{"text": "x"}])
    for run_id in ("r1", "r2"):
        lovia("run", "agent.yaml", "go", "--run-id", run_id)
    first, second = sorted((lovia.folder / ".lovia" / "runs").iterdir())
    whole = first.read_bytes()
    first.write_bytes(whole.replace(b'{"v":1', b'{"v":2'))
    assert lovia("doctor").out.splitlines()[-1] == "1 found; a repair would change nothing"
    second.write_bytes(b"")
    assert lovia("doctor").out.splitlines()[-1] == "2 found; mend 1 of them with: lovia doctor --repair"
    assert lovia("doctor", "--repair").out.splitlines()[-1] == "2 found, 1 repaired, 1 left as it is"
    first.write_bytes(whole[:-5])
    assert lovia("doctor").out.splitlines()[-1] == "1 found; mend with: lovia doctor --repair"


def vanish(lovia: Lovia) -> Path:
    """Session S with its completed runs s1 and s2, whose whole folder is gone."""
    lovia.agent([{"text": "hi"}])
    for run_id in ("s1", "s2"):
        lovia("run", "agent.yaml", f"say {run_id}", "--session", "S", "--run-id", run_id)
    (folder,) = (lovia.folder / ".lovia" / "sessions").iterdir()
    shutil.rmtree(folder)
    return folder


USES = (
    ["run", "agent.yaml", "more", "--session", "S"],
    ["run", "agent.yaml", "more", "--session", "S", "--run-id", "new"],
    ["run", "agent.yaml", "say s1", "--session", "S", "--run-id", "s1"],
    ["resume", "S"],
    ["show", "session:S"],
    ["history", "session:S"],
    ["export", "session:S"],
    ["trim", "S", "-y"],
    ["rewind", "S", "--last-run", "-y"],
    ["fork", "session:S", "--from-step", "1"],
)


def test_d3_a_session_whose_folder_is_gone_is_not_taken_for_a_new_one(lovia: Lovia) -> None:
    folder = vanish(lovia)
    for argv in USES:
        ran = lovia(*argv)
        first = ["error: all of session 'S' is missing, and runs name it", f"  where: {folder}"]
        assert (ran.code, ran.out, ran.err.splitlines()[:2]) == (10, "", first), argv
    assert lovia("show", "run:s2").code == 0
    assert lovia("doctor").code == 10
    assert lovia("doctor", "--repair").code == 0
    assert lovia("run", "agent.yaml", "more", "--session", "S", "--run-id", "s3").code == 0
    assert [run["run_id"] for run in lovia("history", "session:S", "--json").json["segments"]] == ["s1", "s2", "s3"]


def test_m4_a_session_whose_folder_is_gone_can_be_removed(lovia: Lovia) -> None:
    vanish(lovia)
    assert lovia("rm", "session:S", "-y").out == "deleted session S with runs s2, s1\n"
    assert lovia("doctor").out.startswith("nothing is wrong in ")
    assert lovia("run", "agent.yaml", "anew", "--session", "S").code == 0


def test_r7_doctor_says_where_it_is_a_guess_which_runs_a_segment_was(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia.env["LOVIA_STORE"] = "sqlite:store.db"
    for session in ("told", "untold"):
        for n in (1, 2):
            assert lovia("run", "agent.yaml", "go", "-s", session, "--run-id", f"{session}-{n}").code == 0
    assert lovia("rm", "run:untold-1", "-y").code == 0
    with closing(sqlite3.connect(lovia.folder / "store.db")) as connection, connection:
        for table in ("segments", "sessions"):
            connection.execute(f"DELETE FROM lovia_{table}")
    again = "segment{} made again from the checkpoint{}"
    sure = f"{again.format('s 1 and 2 were', 's')} of runs 'told-1' and 'told-2'"
    guess = f"{again.format(' 2 was', '')} of run 'untold-2'; which run's segment 2 was cannot be told, and is a guess"
    found = [finding["message"] for finding in lovia("doctor", "--json").json["findings"]]
    kept = (lovia.folder / "store.db").read_bytes()
    done = [finding["message"] for finding in lovia("doctor", "--repair", "--json").json["findings"]]
    assert [guess.replace("was made", "can be made") in what for what in found] == [False, True]
    assert [f"; {sure}" in what for what in done] == [True, False]
    assert [f"; {guess} from when it ended; " in what for what in done] == [False, True]
    (lovia.folder / "store.db").write_bytes(kept)
    told = " ".join(lovia("doctor", "--repair").out.split())
    assert (sure in told, guess in told, told.count("guess")) == (True, True, 1)
    assert lovia("doctor").code == 0


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "not begun"])
def test_d3_a_fork_that_lost_its_session_json_is_not_taken_for_a_new_session(lovia: Lovia, *, is_done: bool) -> None:
    lovia.agent([{"text": "one"}, {"text": "two"}])
    for run_id, text in (("r1", "first"), ("r2", "second")):
        lovia("run", "agent.yaml", text, "--run-id", run_id, "-s", "talk")
    assert lovia("fork", "r2", "--from-step", "0", "--new-id", "f").code == 0
    if is_done:
        assert lovia("resume", "run:f").out == "one\n"
    shown = lovia("show", "session:f").out
    [lost] = (lovia.folder / ".lovia" / "sessions").glob("f.*/session.json")
    lost.unlink()
    for command in (["show", "session:f"], ["resume", "run:f"], ["run", "agent.yaml", "third", "-s", "f"]):
        ran = lovia(*command)
        assert (ran.code, ran.out) == (10, ""), command
        assert ran.err.splitlines()[:2] == ["error: session.json is missing", f"  where: {lost}"]
    assert lovia("doctor", "--repair").code == 0
    assert lovia("show", "session:f").out == shown
    assert lovia("resume", "run:f").out == "one\n"
    assert lovia("doctor").code == 0
