"""C27: a cut between call and result. Rewind through the script, at every count, and what follows it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.lovia import Lovia, end, wait_for_file
from tests.field.kit import calls, make_agent, say, shell

TOTAL = 11
LEFT = [0, 1, 2, 3, 4, 4, 4, 6, 8, 9, 10, 11, 11, 11]
"""For each count to keep, how many entries are left: run r2 is input, text, two calls, two results, answer."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Session u1 with three runs of 2, 7 and 2 entries; the second has two calls of one id in one step."""
    lovia = Lovia(tmp_path_factory.mktemp("three-runs"))
    make_agent(lovia, [say("one")])
    assert lovia("run", "agent.yaml", "a", "-s", "u1", "--run-id", "r1").code == 0
    both = {"text": "both", **calls(("c", "look", {}), ("c", "look", {}))}
    make_agent(lovia, [both, say("two")], tools=shell("look", "echo rain; echo x >> looked"))
    assert lovia("run", "agent.yaml", "b", "-s", "u1", "--run-id", "r2").code == 0
    make_agent(lovia, [say("three")])
    assert lovia("run", "agent.yaml", "c", "-s", "u1", "--run-id", "r3").code == 0
    return lovia.folder


@pytest.fixture
def three_runs(template: Path, tmp_path: Path) -> Lovia:
    """A copy of that."""
    return Lovia(Path(shutil.copytree(template, tmp_path / "copy")))


def entries(lovia: Lovia) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lovia("show", "session:u1", "--json").json["entries"]
    return found


def unnumbered(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "n"}


def is_valid(found: list[dict[str, Any]]) -> bool:
    """No call without a result right behind its batch, no result without a call, and positions in order."""
    open_calls: list[tuple[int, int]] = []
    for entry in found:
        place = (entry.get("step", 0), entry.get("position", 0))
        if entry["type"] == "tool_call":
            open_calls.append(place)
        elif entry["type"] == "tool_result":
            if not open_calls or open_calls.pop(0) != place:
                return False
        elif open_calls:
            return False
    return not open_calls


def copied(lovia: Lovia, name: str) -> Lovia:
    """Another folder with the same agent and store."""
    twin = Lovia(lovia.folder.parent / f"{lovia.folder.name}-{name}")
    shutil.copytree(lovia.folder, twin.folder)
    return twin


@pytest.mark.parametrize("keep", range(TOTAL + 3))
def test_c27_every_count(three_runs: Lovia, keep: int) -> None:
    lovia = three_runs
    before, whole = lovia.store_bytes(), entries(lovia)
    assert len(whole) == TOTAL
    done = lovia("rewind", "u1", "--keep-entries", str(keep), "-y", "--json")
    assert (done.code, done.err) == (0, "")
    left = entries(lovia)
    assert [done.json["removed"], done.json["left"], len(left)] == [TOTAL - LEFT[keep], LEFT[keep], LEFT[keep]]
    assert is_valid(left)
    lost = [entry for entry in whole[:keep] if unnumbered(entry) not in map(unnumbered, left)]
    assert {entry["type"] for entry in lost} <= {"tool_call"}
    if keep >= TOTAL:
        assert lovia.store_bytes() == before
    history = lovia("history", "session:u1", "--json")
    assert (history.code, sum(segment["entries"] for segment in history.json["segments"])) == (0, len(left))
    assert lovia("run", "agent.yaml", "more", "-s", "u1").out == "three\n"
    after = entries(lovia)
    assert after[: len(left)] == left
    assert is_valid(after)
    assert len(after) == len(left) + 2
    assert (lovia.folder / "looked").read_text() == "x\nx\n"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--keep-entries", "-1"],
        ["--keep-entries", "x"],
        ["--keep-entries", "1.5"],
        ["--keep-runs", "-1"],
        [],
        ["--keep-entries", "1", "--last-run"],
        ["--keep-runs", "1", "--keep-entries", "1"],
    ],
)
def test_c27_a_count_that_is_none_is_a_usage_error_and_changes_nothing(three_runs: Lovia, wrong: list[str]) -> None:
    before = three_runs.store_bytes()
    done = three_runs("rewind", "u1", *wrong, "-y")
    assert (done.code, done.out) == (2, "")
    assert "hint:" in done.err
    assert three_runs.store_bytes() == before


def test_m4_without_a_terminal_it_needs_yes(three_runs: Lovia) -> None:
    before = three_runs.store_bytes()
    done = three_runs("rewind", "u1", "--last-run", stdin=b"y\n")
    assert done.code == 2
    assert "--yes" in done.err
    assert three_runs.store_bytes() == before


def test_m4_a_dry_run_says_it_all_and_changes_nothing(three_runs: Lovia) -> None:
    before = three_runs.store_bytes()
    done = three_runs("rewind", "u1", "--keep-entries", "7", "--dry-run")
    assert three_runs.store_bytes() == before
    assert done.out.splitlines() == [
        "would remove 5 of 11 entries of session u1",
        "cut short: run r2; it cannot be resumed or replayed any more",
        "gone: run r3",
        "what their tools did stays done",
    ]
    real = three_runs("rewind", "u1", "--keep-entries", "7", "-y")
    assert real.out == done.out.replace("would remove", "removed")


def test_m3_last_run_and_keep_runs(three_runs: Lovia) -> None:
    assert three_runs("rewind", "u1", "--last-run", "-y", "--json").json["deleted"] == ["r3"]
    assert three_runs("rewind", "u1", "--keep-runs", "2", "-y", "--json").json["removed"] == 0
    assert three_runs("rewind", "u1", "--keep-runs", "1", "-y", "--json").json["deleted"] == ["r2"]
    assert three_runs("rewind", "u1", "--last-run", "-y", "--json").json["left"] == 0
    assert three_runs("rewind", "u1", "--last-run", "-y").out == "removed 0 of 0 entries of session u1\n"


def test_m4_the_checkpoints_of_what_went_or_was_cut_go_and_the_others_stay(three_runs: Lovia) -> None:
    assert three_runs("rewind", "u1", "--keep-entries", "7", "-y").code == 0
    assert [run["run_id"] for run in three_runs("history", "--json").json["runs"]] == ["r1"]
    cut = three_runs("run", "agent.yaml", "b", "-s", "u1", "--run-id", "r2")
    assert (cut.code, cut.out) == (6, "")
    assert "the end of run 'r2' was cut off session 'u1' by a rewind" in cut.err
    assert three_runs("resume", "r2").code == 5
    assert three_runs("resume", "u1").code == 6
    again = three_runs("run", "agent.yaml", "c", "-s", "u1", "--run-id", "r3", "--json").json
    assert (again["replayed"], again["output"]) == (False, "three")
    assert three_runs("run", "agent.yaml", "a", "-s", "u1", "--run-id", "r1", "--json").json["replayed"] is True


def test_m4_keep_history(three_runs: Lovia) -> None:
    assert three_runs("rewind", "u1", "--last-run", "--keep-history", "-y").code == 0
    assert [run["run_id"] for run in three_runs("history", "--json").json["runs"]] == ["r2", "r1"]
    kept = three_runs("history", "r3", "--json").json
    assert (kept["status"], [save["event"] for save in kept["saves"]]) == (
        "deleted",
        ["completed", "response", "started"],
    )
    assert three_runs("rm", "r3", "-y").out == "deleted the history of run r3\n"
    assert three_runs("history", "r3").code == 5


def test_r4_a_restart_after_a_rewind_is_appended(three_runs: Lovia) -> None:
    refused = three_runs("run", "agent.yaml", "c", "-s", "u1", "--run-id", "r3", "--if-run-exists", "restart")
    assert refused.code == 6
    three_runs("rewind", "u1", "--last-run", "-y")
    assert three_runs("run", "agent.yaml", "c", "-s", "u1", "--run-id", "r3", "--if-run-exists", "restart").code == 0
    assert len(entries(three_runs)) == TOTAL


def test_m4_while_a_run_of_the_session_is_executing_it_is_refused(three_runs: Lovia) -> None:
    lovia = three_runs
    make_agent(lovia, [calls(("c", "wait", {})), say()], tools=shell("wait", "touch waiting; exec sleep 600"))
    process = lovia.start("run", "agent.yaml", "d", "-s", "u1", "--run-id", "r4")
    wait_for_file(lovia.folder / "waiting", process)
    before = lovia.store_bytes()
    for argv in (
        ["rewind", "u1", "--last-run", "-y"],
        ["rewind", "u1", "--last-run", "--dry-run"],
        ["rm", "u1", "-y"],
        ["rm", "r4", "-y"],
    ):
        refused = lovia(*argv)
        assert refused.code == 6, argv
        assert f"run 'r4' is being executed by process {process.pid}" in refused.err
    assert lovia.store_bytes() == before
    lovia("cancel", "r4")
    assert end(process).code == 143


def test_m4_an_unfinished_run_stays_is_named_and_resumes_on_the_shorter_history(three_runs: Lovia) -> None:
    lovia = three_runs
    make_agent(lovia, [calls(("c", "look", {})), say("late")], tools=shell("look", "echo sun"))
    assert lovia("run", "agent.yaml", "d", "-s", "u1", "--run-id", "r4", "--max-steps", "1").code == 7
    done = lovia("rewind", "u1", "--keep-runs", "1", "-y")
    assert "unfinished, and stays: run r4 (interrupted)" in done.out.splitlines()
    resumed = lovia("resume", "r4", "--max-steps", "9")
    assert (resumed.code, resumed.out) == (0, "late\n")
    assert [segment["run_id"] for segment in lovia("history", "session:u1", "--json").json["segments"]] == ["r1", "r4"]
    assert is_valid(entries(lovia))


def test_m4_what_is_no_session(three_runs: Lovia) -> None:
    for name, code in (("nobody", 5), ("r1", 5), ("run:r1", 5), ("", 2)):
        assert three_runs("rewind", name, "--last-run", "-y").code == code, name
        assert three_runs("trim", name, "-y").code == code, name
    missing = three_runs("rewind", "nobody", "--last-run", "-y", "--json")
    assert missing.json["error"]["code"] == "session_not_found"


def test_m4_reading_verbs_create_no_store(lovia: Lovia) -> None:
    for argv in (["rewind", "u1", "--last-run"], ["trim", "u1"], ["rm", "u1"], ["prune", "--older-than", "0s"]):
        assert lovia(*argv, "-y").code in (0, 5), argv
    assert list(Path(lovia.folder).iterdir()) == []


def test_m4_a_rewind_that_was_cut_off_after_the_checkpoints_goes_on(three_runs: Lovia) -> None:
    """The order is checkpoints first: what a kill in between leaves is a session without some checkpoints."""
    lovia = three_runs
    expected = copied(lovia, "whole")
    assert expected("rewind", "u1", "--keep-entries", "4", "-y").code == 0
    for run_id in ("r2", "r3"):
        assert lovia("rm", run_id, "-y").code == 0
    assert lovia("run", "agent.yaml", "c", "-s", "u1", "--run-id", "r3", "--json").json["replayed"] is True
    assert lovia("rewind", "u1", "--keep-entries", "4", "-y").code == 0
    assert entries(lovia) == entries(expected)
    assert lovia("history", "--json").json["runs"] == expected("history", "--json").json["runs"]
