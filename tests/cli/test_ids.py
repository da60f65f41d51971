"""Ids on the command line: shown back unchanged, never a path, never made by reading, never guessed."""

import shlex
from pathlib import Path

import pytest

from tests.cli.lovia import Lovia
from tests.cli.verbs import NAMING

ODD = [
    "../x", "/etc/x", "a/b", ".", "..", "-x", "--json", "con", "x.json", "NUL.txt", "a b", " a", "a'b", 'a"b', "$HOME",
    "é", "e\u0301", "A", "a", "世界", "x" * 255, "a@3", "a=b", "\\", "*", "#1", "~", "!x", "\u202ea", "👩‍👩‍👧",
]  # fmt: skip
REFUSED = ["", " ", "\t", "a\nb", "a\x1bb", "a\x9bb", "x" * 256, "a\u2028b"]


def outside(lovia: Lovia) -> set[str]:
    """Everything in and above the folder but the store."""
    names = {str(path) for path in lovia.folder.parent.rglob("*") if ".lovia" not in path.parts}
    return names | {str(path) for path in Path("/etc").glob("x*")}


def test_c23_odd_ids_are_ids(lovia: Lovia) -> None:
    """All in one store: no two of them are one record."""
    lovia.agent([{"text": "hi"}])
    before = outside(lovia)
    for index, name in enumerate(ODD):
        ran = lovia("run", "agent.yaml", f"--session={name}", f"--run-id={name}", "--json", "--", str(index))
        assert (ran.code, ran.json["run_id"], ran.json["session_id"]) == (0, name, name), ran
    listed = lovia("history", "--json").json
    assert sorted(run["run_id"] for run in listed["runs"]) == sorted(ODD)
    assert sorted(session["session_id"] for session in listed["sessions"]) == sorted(ODD)
    assert outside(lovia) == before


@pytest.mark.parametrize("name", ["-x", "../x", "a b'c", "run:x", "session:x"])
def test_c23_every_command_takes_an_odd_id(lovia: Lovia, name: str) -> None:
    lovia.agent([{"text": "hi"}])
    given = f"run:{name}"
    assert lovia("run", "agent.yaml", "go", f"--run-id={name}").code == 0
    assert lovia("history", "--json", given).json["run_id"] == name
    assert lovia("show", "--json", given).json["run_id"] == name
    assert lovia("resume", "--json", given).json["run_id"] == name
    assert lovia("cancel", "--json", given).json["run_id"] == name
    assert lovia("runs", "finalize", "--json", given).json["run_id"] == name
    if name == "-x":
        assert lovia("resume", "--json", "--", name).json["run_id"] == name
        assert lovia("show", "--json", "--", name).json["run_id"] == name


@pytest.mark.parametrize("name", REFUSED)
def test_c23_what_is_no_id_is_a_usage_error(lovia: Lovia, name: str) -> None:
    lovia.agent([{"text": "hi"}])
    commands = [
        ["run", "agent.yaml", "go", f"--run-id={name}"],
        ["run", "agent.yaml", "go", f"--session={name}"],
        *([verb, name] for verb in ("history", "show", "resume", "cancel")),
        ["runs", "finalize", name],
    ]
    for argv in commands:
        ran = lovia(*argv)
        assert (ran.code, ran.out) == (2, ""), ran
    assert not (lovia.folder / ".lovia").exists()


READING = [verb.split() for verb, row in NAMING.items() if row.of != "session" and verb not in ("rm", "fork")]
"""The verbs that take a run or a session by one name, but for what would end both, and what makes a third."""


@pytest.mark.parametrize("argv", [["history"], ["history", "--json"], ["validate", "x.yaml"], ["--version"]])
def test_x5_reading_makes_no_store(lovia: Lovia, argv: list[str]) -> None:
    lovia(*argv)
    assert list(lovia.folder.iterdir()) == []


def test_x5_no_option_makes_a_store_by_reading(lovia: Lovia) -> None:
    assert lovia("history", "--store", "deep/er").code == 0
    assert lovia("history", env={"LOVIA_STORE": "deep/er"}).code == 0
    assert list(lovia.folder.iterdir()) == []


# --- which record is meant (section H) --------------------------------------------------------------------------------


def both(lovia: Lovia) -> None:
    """A run ``x`` of session ``u1``, and a session ``x`` with a run ``r2``."""
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "x", "-s", "u1")
    lovia("run", "agent.yaml", "go", "--run-id", "r2", "-s", "x")


@pytest.mark.parametrize("verb", READING)
def test_h_an_id_of_a_run_and_a_session_is_ambiguous(lovia: Lovia, verb: list[str]) -> None:
    both(lovia)
    ran = lovia(*verb, "x")
    assert (ran.code, ran.out) == (2, "")
    assert "run:x or session:x" in ran.err


@pytest.mark.parametrize("verb", READING)
def test_h_a_prefix_says_which(lovia: Lovia, verb: list[str]) -> None:
    both(lovia)
    by_run, by_session = lovia(*verb, "run:x", "--json").json, lovia(*verb, "session:x", "--json").json
    assert by_run["run_id"] == "x"
    assert by_session["session_id"] == "x"
    assert by_session.get("run_id") in (None, "r2")


def test_h_one_id_for_both_is_no_error_where_they_lead_to_one_run(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "x", "-s", "x")
    assert lovia("resume", "x", "--json").json["run_id"] == "x"
    assert lovia("show", "x").code == 2


def test_h_a_session_stands_for_its_unfinished_run_and_else_its_last(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    lovia("run", "agent.yaml", "go", "--run-id", "r2", "-s", "u1")
    assert lovia("resume", "u1", "--json").json["run_id"] == "r2"
    lovia.agent([{"fail": {"status": 500, "times": 99}}], name="bad.yaml")
    lovia.agent([{"fail": {"status": 400}}], name="bad.yaml")
    assert lovia("run", "bad.yaml", "go", "--run-id", "r0", "-s", "u1").code == 1
    assert lovia("resume", "u1", "--json").json["run_id"] == "r0"


def test_the_command_that_goes_on_quotes_odd_ids(lovia: Lovia) -> None:
    lovia.agent([{"fail": {"status": 400}}])
    for name in ("-x", "a b'c", "run:x", "$HOME", "\u202ea"):
        ran = lovia("run", "agent.yaml", "go", f"--run-id={name}")
        command = ran.err.splitlines()[-1]
        assert command.startswith("lovia resume ")
        again = lovia.shell(
            command + " --json" if "--" not in shlex.split(command) else command.replace(" -- ", " --json -- ")
        )
        assert again.json["run_id"] == name
