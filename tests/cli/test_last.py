"""``--last`` in place of an id, and which lines of a listing are wanted."""

import time
from datetime import datetime

import pytest

from lovia_cli.cli import grammar
from lovia_cli.cli.filters import STATUSES
from tests.cli.lovia import Lovia, call, shell_tool
from tests.cli.verbs import NAMING

TOOL = "tools:\n" + shell_tool("look", "echo seen")


def some_runs(lovia: Lovia) -> None:
    """In session u1 the completed r1 and then, newest of all, the unfinished r3; r2 of no session between them."""
    lovia.agent([call("look"), {"text": "ok"}], tools=TOOL)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    lovia("run", "agent.yaml", "go", "--run-id", "r2")
    lovia("run", "agent.yaml", "go", "--run-id", "r3", "-s", "u1", "--max-steps", "1")


@pytest.mark.parametrize("verb", NAMING)
def test_last_is_the_newest_and_nothing_is_written_for_it(lovia: Lovia, verb: str) -> None:
    some_runs(lovia)
    lovia("run", "agent.yaml", "go", "--run-id", "old", "-s", "u0", "--timeout", "0.000001")
    lovia("run", "agent.yaml", "go", "--run-id", "new", "-s", "u1", "--max-steps", "1")
    row = NAMING[verb]
    data = lovia(*verb.split(), "--last", *row.options, "--json").json
    if verb == "fork":
        assert data["forked_from"]["run_id"] == "new"
    else:
        assert data.get("head", data).get("session_id") == "u1"  # an export has its session in the head
        assert data.get("run_id") == (None if row.of == "session" else "new")


@pytest.mark.parametrize("verb", NAMING)
def test_last_and_an_id_and_neither_are_usage_errors(lovia: Lovia, verb: str) -> None:
    some_runs(lovia)
    before = lovia.store_bytes()
    for argv in (["r1", "--last"], [] if verb != "history" else ["--last", "r1"]):
        ran = lovia(*verb.split(), *argv, *NAMING[verb].options)
        assert (ran.code, ran.out, "--last" in ran.err) == (2, "", True), ran
    assert lovia.store_bytes() == before


@pytest.mark.parametrize("verb", NAMING)
def test_last_of_nothing_is_not_found_and_makes_nothing(lovia: Lovia, verb: str) -> None:
    ran = lovia(*verb.split(), "--last", *NAMING[verb].options)
    assert (ran.code, ran.out) == (5, "")
    assert "there is no " in ran.err
    assert list(lovia.folder.iterdir()) == []


def test_the_newest_session_may_be_one_with_an_unfinished_run_only(lovia: Lovia) -> None:
    some_runs(lovia)
    lovia("run", "agent.yaml", "go", "--run-id", "r4", "-s", "u2", "--max-steps", "1")
    assert lovia("trim", "--last", "--dry-run", "--json").json["session_id"] == "u2"


@pytest.mark.parametrize("verb", NAMING)
def test_d3_where_damage_hides_which_is_the_newest_no_other_is_taken_for_it(lovia: Lovia, verb: str) -> None:
    some_runs(lovia)
    store = lovia.folder / ".lovia"
    (ref,) = (path for path in store.glob("runs/*.json") if path.name.startswith("r2."))
    ref.write_bytes(ref.read_bytes()[:-9])
    before = lovia.store_bytes()
    ran = lovia(*verb.split(), "--last", *NAMING[verb].options, "--json")
    assert ran.code == 10
    error = ran.json["error"]
    reason = "the file does not end as it was written"
    assert error["message"] == f"which is the newest cannot be told: run 'r2' cannot be read: {reason} ({ref})"
    assert error["hint"] == "name the one you mean, or repair the store with: lovia doctor --repair"
    assert lovia.store_bytes() == before
    lovia("doctor", "--repair")
    assert lovia(*verb.split(), "--last", *NAMING[verb].options, "--json").code != 10


@pytest.mark.parametrize("verb", [verb for verb, row in NAMING.items() if row.of == "session"])
def test_d3_nor_is_another_session(lovia: Lovia, verb: str) -> None:
    some_runs(lovia)
    lovia("run", "agent.yaml", "go", "-s", "u2")
    (file,) = (lovia.folder / ".lovia").glob("sessions/u2.*/session.json")
    file.write_bytes(file.read_bytes()[:-9])
    before = lovia.store_bytes()
    ran = lovia(*verb.split(), "--last", *NAMING[verb].options)
    assert (ran.code, ran.out) == (10, "")
    assert "which is the newest cannot be told: session 'u2' cannot be read: the file does not end" in ran.err
    assert lovia.store_bytes() == before


# --- history --status, --since, -n ------------------------------------------------------------------------------------


def test_history_by_status_is_of_runs_only(lovia: Lovia) -> None:
    some_runs(lovia)
    data = lovia("history", "--status", "completed", "--json").json
    assert ([run["run_id"] for run in data["runs"]], data["sessions"]) == (["r2", "r1"], [])
    assert [row["run_id"] for row in lovia("history", "--status", "interrupted", "-o", "ndjson").lines] == ["r3"]
    assert lovia("history", "--status", "failed").out == f"nothing of that kind in {lovia.folder / '.lovia'}\n"
    assert lovia("history", "--status", "completed", "-n", "1", "--json").json["runs"][0]["run_id"] == "r2"


def test_history_since_is_a_time_ago_or_a_date(lovia: Lovia) -> None:
    some_runs(lovia)
    year = datetime.now().year
    for since, found in [
        ("1h", 3),
        ("7d", 3),
        (f"{year}-01-01", 3),
        (f"{year + 1}-01-02", 0),
        ("1970-01-01T00:00Z", 3),
    ]:
        data = lovia("history", "--since", since, "--json").json
        assert (len(data["runs"]), len(data["sessions"])) == (found, min(found, 1)), since
    moment = datetime.fromtimestamp(time.time() + 60).isoformat()
    assert lovia("history", "--since", moment, "--json").json["runs"] == []


def test_the_saves_of_a_run_and_the_runs_of_a_session_can_be_chosen_too(lovia: Lovia) -> None:
    some_runs(lovia)
    saves = lovia("history", "r3", "--status", "interrupted", "--json").json["saves"]
    assert [save["event"] for save in saves] == ["interrupted"]
    assert lovia("history", "r3", "--since", "1h", "-n", "2", "--json").json["saves"][0]["save"] == 4
    session = lovia("history", "u1", "--status", "interrupted", "--json").json
    assert (session["segments"], [run["run_id"] for run in session["unfinished"]]) == ([], ["r3"])
    session = lovia("history", "u1", "--status", "completed", "--since", "1h", "--json").json
    assert ([segment["run_id"] for segment in session["segments"]], session["unfinished"]) == (["r1"], [])


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--status", "interupted"], "did you mean interrupted?"),
        (["--status", "zzz"], "use one of: running, interrupted, awaiting_approval, completed, failed"),
        (["--since", "7days"], "write 7d, 2h or 30m, or a date"),
        (["--since", "2026-13-01"], "write 2026-01-31"),
        (["--since", "yesterday"], "write 7d, 2h or 30m, or a date"),
    ],
)
def test_a_wrong_wish_is_a_usage_error_that_says_how(lovia: Lovia, argv: list[str], said: str) -> None:
    ran = lovia("history", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_awaiting_approval_may_be_written_as_options_are(lovia: Lovia) -> None:
    assert lovia("history", "--status", "awaiting-approval").code == 0


def test_the_shell_proposes_the_statuses_there_are() -> None:
    assert grammar.STATUSES == STATUSES
