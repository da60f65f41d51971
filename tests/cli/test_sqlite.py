"""The commands on a database, ``--store sqlite:PATH``: what they do on a folder, they do here (S8)."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.lovia import Lovia, call, end, shell_tool, wait_for_file
from tests.cli.test_imports import loaded
from tests.field.kit import HANG_ONCE, kill

STORE = "sqlite:store.db"


@pytest.fixture
def lovia(lovia: Lovia) -> Lovia:
    """The script with a database for a store."""
    lovia.env["LOVIA_STORE"] = STORE
    return lovia


def two_steps(lovia: Lovia) -> None:
    """An agent that looks, hangs once, and answers."""
    tools = shell_tool("look", "echo x >> looked; head -c 3000 /dev/zero | tr '\\0' r") + shell_tool("hang", HANG_ONCE)
    lovia.agent([call("look"), call("hang"), {"text": "done"}], tools=f"tools:\n{tools}")


def database(lovia: Lovia) -> bytes:
    return (lovia.folder / "store.db").read_bytes()


def change(lovia: Lovia, statement: str) -> None:
    """Write past the store."""
    with closing(sqlite3.connect(lovia.folder / "store.db")) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def made(lovia: Lovia) -> set[str]:
    """What a command has put into the folder beside the agent."""
    return {path.name for path in lovia.folder.iterdir() if path.name.startswith((".", "store"))}


def test_s8_a_run_lives_in_one_file_from_its_kill_to_its_removal(lovia: Lovia) -> None:
    two_steps(lovia)
    kill(lovia, "run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1")
    [listed] = lovia("history", "--json").json["runs"]
    assert (listed["run_id"], listed["status"], listed["steps"]) == ("r1", "interrupted", 2)
    assert lovia("resume", "r1").out == "done\n"
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1").out == "done\n"  # a replay
    assert (lovia.folder / "looked").read_text() == "x\n"
    assert [save["save"] for save in lovia("history", "r1", "--json").json["saves"]] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert lovia("run", "agent.yaml", "more", "-s", "u1", "--run-id", "r2").out == "done\n"

    assert lovia("trim", "u1", "-y", "--json").json["trimmed"] == 1
    assert "recall_tool_result gives the whole output: r1/1.1" in lovia("show", "u1", "--json").out
    assert lovia("rewind", "u1", "--last-run", "-y", "--json").json["deleted"] == ["r2"]
    assert lovia("rewind", "u1", "--keep-entries", "3", "-y", "--json").json["truncated"] == "r1"
    assert [one["truncated"] for one in lovia("history", "u1", "--json").json["segments"]] == [True]
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1").code == 6
    assert lovia("doctor").out == f"nothing is wrong in sqlite:{lovia.folder}/store.db\n"

    assert lovia("run", "agent.yaml", "go", "--run-id", "r3").code == 0
    assert lovia("prune", "--older-than", "0s", "-y", "--json").json["runs"] == ["r3"]
    assert lovia("rm", "u1", "-y").code == 0
    empty = lovia("history", "--json").json
    assert (empty["runs"], empty["sessions"], empty["store"]) == ([], [], f"sqlite:{lovia.folder}/store.db")
    assert made(lovia) == {"store.db", "store.db.locks"}


def test_s6_z9_finalize_and_cancel(lovia: Lovia) -> None:
    two_steps(lovia)
    kill(lovia, "run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1")
    assert lovia("runs", "finalize", "r1").code == 0
    assert [one["run_id"] for one in lovia("history", "u1", "--json").json["segments"]] == ["r1"]
    (lovia.folder / "again").unlink()
    process = lovia.start("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r2")
    wait_for_file(lovia.folder / "again", process)
    refused = lovia("resume", "r2")
    assert (refused.code, f"process {process.pid} on" in refused.err) == (6, True)
    assert lovia("cancel", "r2").code == 0
    stopped = end(process)
    assert (stopped.code, "lovia resume r2" in stopped.err) == (143, True)
    assert lovia("run", "agent.yaml", "", "-s", "u1").out == "done\n"


def test_h2_a_fork_and_an_export_that_is_taken_in(lovia: Lovia) -> None:
    two_steps(lovia)
    (lovia.folder / "again").touch()
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1").code == 0
    assert lovia("fork", "r1", "--from-step", "1").out == "r1.fork-1\n"
    assert lovia("rm", "run:r1", "-y").code == 0
    assert lovia("resume", "r1.fork-1").out == "done\n"
    assert (lovia.folder / "looked").read_text() == "x\n"
    assert lovia.shell("lovia export run:r1.fork-1 > x && lovia import x --store sqlite:other.db").code == 0
    assert lovia("show", "run:r1.fork-1", "--store", "sqlite:other.db").out == lovia("show", "run:r1.fork-1").out
    assert lovia("doctor").code == 0


def test_r7_delete_on_success_and_a_store_given_by_option(lovia: Lovia) -> None:
    del lovia.env["LOVIA_STORE"]
    two_steps(lovia)
    (lovia.folder / "again").touch()
    done = lovia("run", "agent.yaml", "go", "-s", "u1", "--delete-on-success", "--store", STORE)
    assert (done.code, done.out) == (0, "done\n")
    listed = lovia("history", "--json", "--store", f"sqlite:{lovia.folder}/store.db").json
    assert ([run["run_id"] for run in listed["runs"]], listed["sessions"][0]["segments"]) == ([], 1)
    assert made(lovia) == {"store.db", "store.db.locks"}


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_x11_the_file_and_all_beside_it_are_for_this_user_alone(lovia: Lovia, umask: int) -> None:
    two_steps(lovia)
    assert lovia.shell(f"umask {umask:03o}; touch again; lovia run agent.yaml go -s u1").code == 0
    beside = [lovia.folder / "store.db", *lovia.folder.glob("store.db.locks/*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in beside} == {0o600}
    assert stat.S_IMODE((lovia.folder / "store.db.locks").stat().st_mode) == 0o700


def test_x5_reading_makes_no_database(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    for expected, *words in [
        (0, "history"),
        (5, "show", "nosuch"),
        (5, "resume", "nosuch"),
        (5, "rewind", "nosuch", "--last-run", "-y"),
        (5, "doctor", "--repair"),
        (0, "run", "agent.yaml", "go", "--dry-run"),
    ]:
        ran = lovia(*words)
        assert (ran.code, "Traceback" in ran.err) == (expected, False), ran
    assert made(lovia) == set()


def not_a_database(lovia: Lovia) -> str:
    lovia.write("store.db", "name,size\n" * 500)
    return f"{lovia.folder}/store.db"


def a_folder(lovia: Lovia) -> str:
    (lovia.folder / "store.db").mkdir()
    return "not a file"


def of_a_newer_lovia(lovia: Lovia) -> str:
    assert lovia("run", "agent.yaml", "go").code == 0
    with closing(sqlite3.connect(lovia.folder / "store.db")) as connection, connection:
        connection.execute("UPDATE lovia_schema SET version = 999")
    return "upgrade lovia"


def a_link_for_a_journal(lovia: Lovia) -> str:
    assert lovia("run", "agent.yaml", "go").code == 0
    (lovia.folder / "store.db-journal").symlink_to("/etc/passwd")
    return "store.db-journal"


def anothers(lovia: Lovia) -> str:
    if os.geteuid() == 0:
        assert lovia("run", "agent.yaml", "go").code == 0
        os.chown(lovia.folder / "store.db", 12345, -1)
    else:
        (lovia.folder / "store.db").symlink_to("/etc/passwd")
    return "belongs to user"


@pytest.mark.parametrize("spoil", [not_a_database, a_folder, of_a_newer_lovia, a_link_for_a_journal, anothers])
def test_d1_d3_what_is_no_store_of_ours_is_refused_in_three_lines_and_stays(
    lovia: Lovia, spoil: Callable[[Lovia], str]
) -> None:
    """X7 among them: the command line of a newer lovia's file."""
    lovia.agent([{"text": "hi"}])
    said = spoil(lovia)
    path = lovia.folder / "store.db"
    before = path.read_bytes() if path.is_file() else None
    for words in (["history"], ["run", "agent.yaml", "go"]):
        ran = lovia(*words)
        lines = ran.err.splitlines()
        assert (ran.code, ran.out, said in ran.err) == (10, "", True), ran
        assert [line.split(":")[0] for line in lines] == ["error", "  where", "  hint"], ran
    assert (path.read_bytes() if path.is_file() else None) == before


def test_r9_a_full_disk_is_told_and_a_replay_needs_none(lovia: Lovia) -> None:
    lovia.agent([{"text": "the answer"}])
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1").code == 0
    for code, words in ((0, "run agent.yaml go --run-id r1 -s u1"), (10, "run agent.yaml go --run-id r2")):
        ran = lovia.shell(f"set -o pipefail; (ulimit -f 0; lovia {words}) 2>&1 | cat")
        assert (ran.code, "the answer" in ran.out, "Traceback" in ran.out) == (code, code == 0, False), ran


def test_d3_the_doctor_repairs_and_history_shows_what_is_damaged(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    for name in ("sick", "well"):
        assert lovia("run", "agent.yaml", "go", "-s", name, "--run-id", f"run-{name}").code == 0
    change(lovia, "UPDATE lovia_segments SET entries = '[]' WHERE session_id = 'sick'")
    change(lovia, "UPDATE lovia_runs SET step = 9 WHERE run_id = 'run-sick'")
    before = database(lovia)
    for words in (["show", "session:sick"], ["run", "agent.yaml", "more", "-s", "sick"]):
        ran = lovia(*words)
        assert (ran.code, ran.out, "lovia doctor --repair" in ran.err) == (10, "", True), ran
    damage = {run["run_id"]: run["damage"] is not None for run in lovia("history", "--json").json["runs"]}
    assert damage == {"run-sick": True, "run-well": False}
    assert lovia("doctor").code == 10
    assert database(lovia) == before
    assert lovia("run", "agent.yaml", "more", "-s", "well").out == "hi\n"
    assert lovia("doctor", "--repair").code == 0
    assert lovia("run", "agent.yaml", "go", "-s", "sick", "--run-id", "run-sick").out == "hi\n"


def test_d3_what_is_damaged_and_where_it_stands_are_told_apart_whatever_the_id(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    assert lovia("run", "agent.yaml", "go", "--run-id", "a (/b").code == 0
    change(lovia, "DELETE FROM lovia_runs")
    ran = lovia("show", "--last")
    assert (ran.code, ran.err.splitlines()[:2]) == (
        10,
        [
            "error: which is the newest cannot be told: run 'a (/b' cannot be read: the row of run 'a (/b' is missing",
            f"  where: {lovia.folder / 'store.db'}",
        ],
    )
    [run] = lovia("history", "--json").json["runs"]
    assert run["damage"] == f"the row of run 'a (/b' is missing ({lovia.folder / 'store.db'})"


def test_d3_the_doctor_counts_a_lost_run_as_moved_aside_and_the_store_is_well(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    assert lovia("run", "agent.yaml", "go", "--run-id", "r1").code == 0
    change(lovia, "UPDATE lovia_saves SET data = '{}' WHERE number = 1")
    ran = lovia("doctor", "--repair")
    assert (ran.code, "its id would start over\n  done: moved aside\n" in ran.out) == (0, True), ran
    assert "1 found, 0 repaired, 1 moved aside, 0 left as they are" in ran.out + ran.err
    assert lovia("doctor").code == 0


def test_r7_a_completed_run_that_its_session_does_not_hold_is_not_unfinished(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1").code == 0
    for table in ("lovia_segments", "lovia_strands", "lovia_sessions"):
        change(lovia, f"DELETE FROM {table}")
    data = lovia("history", "u1", "--json").json
    assert ([run["run_id"] for run in data["outside"]], data["unfinished"]) == (["r1"], [])
    out = lovia("history", "u1").out
    assert ("not in the session: run r1, completed, 1 step" in out, "unfinished" in out) == (True, False)


def test_ids_complete_from_the_database(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    ask = ["__complete", "zsh", "show", ""]
    assert lovia(*ask).out == "words\n"
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1").code == 0
    assert lovia(*ask).out == "words\nr1\nu1\n"
    assert lovia("__complete", "zsh", "--store", "sqlite:nowhere.db", "show", "").out == "words\n"
    assert made(lovia) == {"store.db", "store.db.locks"}


def test_what_a_command_loads_for_a_database(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    assert lovia("run", "agent.yaml", "go", "-s", "u1", "--run-id", "r1").code == 0
    assert loaded(lovia, "__complete", "zsh", "show", "") == {"sqlite3"}
    assert loaded(lovia, "history") == loaded(lovia, "history", "--store", ".lovia") | {"sqlite3"}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("sqlite:a.db", "a.db"),
        ("sqlite:./b/../a.db", "a.db"),
        ("sqlite:~/a.db", "a.db"),
        ("sqlite://{}/a.db", "a.db"),
        ("sqlite:{}/a b.db", "a b.db"),
    ],
)
def test_a_database_has_a_path(lovia: Lovia, given: str, path: str) -> None:
    store = lovia("history", "--json", "--store", given.format(lovia.folder)).json["store"]
    assert store == f"sqlite:{lovia.folder}/{path}"


@pytest.mark.parametrize("given", ["sqlite:", "sqlite: ", "sqlite::memory:", "sqlite://"])
def test_a_database_without_a_path_is_a_usage_error(lovia: Lovia, given: str) -> None:
    ran = lovia("history", "--store", given)
    assert (ran.code, "sqlite:PATH" in ran.err) == (2, True)
    assert made(lovia) == set()


def test_a_database_that_is_given_as_a_folder_is_a_usage_error(lovia: Lovia) -> None:
    sqlite3.connect(lovia.folder / "store.db").execute("CREATE TABLE x (y)").connection.close()
    ran = lovia("history", "--store", "store.db")
    assert (ran.code, "name it as one: --store sqlite:store.db" in ran.err) == (2, True)


def test_a_database_may_stand_anywhere_and_the_agent_beside_it(lovia: Lovia, tmp_path: Path) -> None:
    lovia.agent([{"text": "hi"}])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ran = lovia("run", "go", env={"LOVIA_STORE": f"sqlite:{lovia.folder}/store.db"}, cwd=elsewhere)
    assert (ran.code, ran.out, list(elsewhere.iterdir())) == (0, "hi\n", [])


def test_d3_prune_leaves_a_run_of_which_it_cannot_be_told_what_else_would_go(lovia: Lovia) -> None:
    lovia.agent([{"text": "ok"}])
    for run_id in ("r1", "r2", "r3"):
        assert lovia("run", "agent.yaml", "go", "--run-id", run_id).code == 0
    change(lovia, "UPDATE lovia_logs SET upto = 1 WHERE run_id = 'r2'")
    pruned = lovia("prune", "--older-than", "0s", "-y")
    assert (pruned.code, pruned.out.splitlines()[-1]) == (
        0,
        "left, as what they hold is damaged: r2; look closer with: lovia doctor",
    )
    assert [run["run_id"] for run in lovia("history", "--json").json["runs"]] == ["r2"]
