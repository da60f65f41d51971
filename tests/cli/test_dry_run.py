"""``lovia run --dry-run`` says which case of R4 and K1 to K6 it is, or refuses as the run would, and writes nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.lovia import Lovia, call, end, shell_tool, wait_for_file

TOOL = "tools:\n" + shell_tool("look", "echo x >> n.txt")
RUN = ["run", "agent.yaml", "go"]


def nothing(lovia: Lovia) -> None:
    lovia.agent([call("look"), {"text": "ok"}], tools=TOOL)


def finished(lovia: Lovia) -> None:
    nothing(lovia)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")


def limited(lovia: Lovia) -> None:
    finished(lovia)
    lovia("run", "agent.yaml", "second", "--run-id", "r2", "-s", "u1", "--max-steps", "1")


def killed(lovia: Lovia) -> None:
    """A crash in the middle of the call of step 1."""
    lovia.agent([call("look"), {"text": "ok"}], tools="tools:\n" + shell_tool("look", "kill -9 $PPID"))
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")


def gone(lovia: Lovia) -> None:
    finished(lovia)
    (lovia.folder / "agent.yaml").unlink()


CASES: list[tuple[Callable[[Lovia], None], list[str], dict[str, Any]]] = [
    (nothing, RUN, {"case": "start", "run_id": None, "session_id": None, "input": "starts", "store_exists": False}),
    (nothing, [*RUN, "--run-id", "x", "-s", "u1"], {"case": "start", "run_id": "x", "session_id": "u1", "history": 0}),
    (finished, [*RUN, "-s", "u1"], {"case": "start", "run_id": None, "history": 1}),
    (finished, [*RUN, "--run-id", "r1"], {"case": "replay", "run_id": "r1", "session_id": "u1", "steps": 2}),
    (finished, ["run", "agent.yaml", "other", "--run-id", "r1"], {"case": "replay", "input": "ignored"}),
    (finished, [*RUN, "--run-id", "r2", "--if-run-exists", "fail"], {"case": "start", "discards": False}),
    (gone, ["run", "go", "--run-id", "r1"], {"case": "replay", "agent_file": None}),
    (limited, ["run", "third", "-s", "u1"], {"case": "start", "finalizes": ["r2"], "history": 2}),
    (
        limited,
        ["run", "third", "-s", "u1", "--max-steps", "9"],
        {"case": "continue", "run_id": "r2", "input": "queued"},
    ),
    (limited, ["run", "second", "-s", "u1", "--max-steps", "9"], {"case": "continue", "input": "repeated"}),
    (limited, ["run", "", "-s", "u1", "--max-steps", "9"], {"case": "continue", "input": "none", "finalizes": []}),
    (killed, [*RUN, "-s", "u1"], {"case": "continue", "run_id": "r1", "open_calls": 1, "input": "repeated"}),
    (killed, [*RUN, "-s", "u1", "--run-id", "r2"], {"case": "start", "run_id": "r2"}),
    (killed, [*RUN, "--run-id", "r1", "--if-run-exists", "restart"], {"case": "start", "discards": True}),
]

REFUSED: list[tuple[Callable[[Lovia], None], list[str], int]] = [
    (nothing, ["run", "nowhere.yaml", "go"], 3),
    (nothing, [*RUN, "-p", "x=1"], 3),
    (nothing, [*RUN, "-m", "openai:gpt-5"], 4),
    (nothing, [*RUN, "--limit", "max_nothing=3"], 2),
    (nothing, [*RUN, "--run-id", "x", "--if-run-exists", "resume-only"], 5),
    (nothing, [*RUN, "--store", "agent.yaml/x"], 10),
    (finished, [*RUN, "--run-id", "r1", "--if-run-exists", "fail"], 6),
    (finished, [*RUN, "--run-id", "r1", "--if-run-exists", "restart"], 6),
    (finished, [*RUN, "--run-id", "r1", "-s", "u2"], 6),
    (limited, ["run", "", "-s", "u1"], 7),
    (limited, ["run", "second", "-s", "u1"], 7),
]


@pytest.mark.parametrize(("prepare", "argv", "expected"), CASES)
def test_a_dry_run_says_which_case_it_is_and_writes_nothing(
    lovia: Lovia, prepare: Callable[[Lovia], None], argv: list[str], expected: dict[str, Any]
) -> None:
    prepare(lovia)
    before, there = lovia.store_bytes(), sorted(lovia.folder.rglob("*"))
    said, data = lovia(*argv, "--dry-run"), lovia(*argv, "--dry-run", "--json").json
    assert {name: data[name] for name in expected} == expected
    assert (data["dry_run"], data["exit_code"]) == (True, 0)
    assert (said.code, said.err) == (0, "")
    words = {"start": "start", "continue": "continue run", "replay": "replay run"}
    assert said.out.startswith(f"would {words[data['case']]}")
    assert lovia.store_bytes() == before
    assert sorted(lovia.folder.rglob("*")) == there


@pytest.mark.parametrize(("prepare", "argv", "expected"), CASES)
def test_what_a_dry_run_says_is_what_happens(
    lovia: Lovia, prepare: Callable[[Lovia], None], argv: list[str], expected: dict[str, Any]
) -> None:
    prepare(lovia)
    said = lovia(*argv, "--dry-run", "--json").json
    if prepare is killed:
        nothing(lovia)  # the same agent, with a tool that kills nobody
    done = lovia(*argv, "-o", "ndjson").lines
    assert done[0]["run_id"] == (said["run_id"] or done[0]["run_id"])
    assert done[0]["session_id"] == said["session_id"]
    assert (done[0]["resumed"], done[0]["replayed"]) == (said["case"] == "continue", said["case"] == "replay")
    assert done[0]["input_ignored"] == (said["input"] == "ignored")
    assert ("input.accepted" in [event["type"] for event in done]) == (said["input"] == "queued")


@pytest.mark.parametrize(("prepare", "argv", "code"), REFUSED)
def test_a_dry_run_is_refused_as_the_run_would_be(
    lovia: Lovia, prepare: Callable[[Lovia], None], argv: list[str], code: int
) -> None:
    prepare(lovia)
    before = lovia.store_bytes()
    tried, data = lovia(*argv, "--dry-run"), lovia(*argv, "--dry-run", "--json").json
    assert (tried.code, tried.out, data["exit_code"]) == (code, "", code)
    assert lovia.store_bytes() == before
    assert lovia(*argv, "--dry-run", "-o", "ndjson").lines == [data]
    done = lovia(*argv, "--json")
    assert (done.code, done.json["error"]["code"]) == (code, data["error"]["code"])


def test_k4_a_run_that_is_executed_is_refused_and_not_disturbed(lovia: Lovia) -> None:
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", "touch begun; sleep 60"))
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    wait_for_file(lovia.folder / "begun", process)
    by_session = lovia("run", "agent.yaml", "more", "-s", "u1", "--dry-run")
    by_run = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--dry-run", "--json").json
    process.terminate()
    assert (by_session.code, f"process {process.pid}" in by_session.err) == (6, True)
    assert by_run["error"]["code"] == "run_locked"
    assert end(process).code == 143


@pytest.mark.parametrize(
    ("model", "code", "where"),
    [("scripted:nowhere.yaml", 3, "--model"), ("openai:gpt-5", 4, "model openai:gpt-5")],
)
def test_what_is_wrong_with_the_model_given_is_placed_there(lovia: Lovia, model: str, code: int, where: str) -> None:
    nothing(lovia)
    ran = lovia(*RUN, "--model", model, "--dry-run")
    assert (ran.code, ran.err.splitlines()[1]) == (code, f"  where: {where}")


def test_z7_drift_is_said_or_refused(lovia: Lovia) -> None:
    limited(lovia)
    lovia.agent([call("look"), {"text": "ok"}], tools=TOOL, more="instructions: Other ones.")
    argv = ["run", "go", "-s", "u1", "--max-steps", "9", "--dry-run"]
    assert "instructions changed" in lovia(*argv, "--json").json["warnings"][0]
    assert "warning: the agent has changed" in lovia(*argv).out
    assert lovia(*argv, "--on-drift", "error").code == 9


def test_h1_a_dry_run_says_that_a_kept_history_would_be_replaced(lovia: Lovia) -> None:
    finished(lovia)
    lovia("rm", "run:r1", "--keep-history", "-y")
    warning = "the history that was kept of a deleted run of this id is replaced"
    assert lovia(*RUN, "--run-id", "r1", "--dry-run", "--json").json["warnings"] == [warning]
    assert warning in lovia(*RUN, "--run-id", "r1").err


def test_r7_a_segment_that_a_crash_lost_counts_as_the_history_it_will_be(lovia: Lovia) -> None:
    """The next run would first put it back, by its marker, which is left; the dry run sees through to that."""
    lovia.agent([call("keep"), {"text": "ok"}], tools="tools:\n" + shell_tool("keep", "cp .lovia/sessions/*/open/* m"))
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    sessions = lovia.folder / ".lovia" / "sessions"
    for path in sessions.rglob("*"):
        if path.is_file():
            path.unlink()
    [opened] = sessions.glob("*/open")
    marker = (lovia.folder / "m").read_bytes()
    [ref] = (lovia.folder / ".lovia" / "runs").iterdir()
    (opened / ref.name).write_bytes(marker)
    data = lovia(*RUN, "-s", "u1", "--dry-run", "--json").json
    assert (data["case"], data["history"]) == ("start", 1)
