"""The check of the crash sweep: what a crash left, and what the recovery makes of it.

    verify.py SCENARIO                 in the crashed working directory, as crash_sweep.py calls it
    verify.py SCENARIO --look          in that of an uncrashed one: print all that is stored

Exits 0 when nothing is lost and nothing was done twice; else it says what, and exits 1.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from maintenance import verify_removal, verify_rewind, verify_trim
from scenarios import AGENT, SCENARIOS, Scenario
from witness import Said, Seen, cli, cli_json, shell

CRASHES = int(os.environ.get("CRASH_COUNT", "1"))


def main(argv: list[str]) -> int:
    """Check, and print what is wrong."""
    scenario = SCENARIOS[argv[0]]
    if argv[1:2] == ["--look"]:
        print(json.dumps(Seen.look().records))
        return 0
    try:
        noted = json.loads(Path(os.environ["SWEEP_EXPECTED"]).read_text(encoding="utf-8"))
        cli_json("history")  # works on whatever the crash left
        CHECKS[scenario.check](scenario, noted)
        check_clean()
    except AssertionError as wrong:
        print(f"{scenario.name}: {wrong}")
        return 1
    return 0


def verify_run(scenario: Scenario, noted: dict[str, Any]) -> None:
    """Look at the crashed store, recover, and look again."""
    before = Seen.look()
    check_acknowledged(before)
    recover(scenario, before)
    after = Seen.look()
    check_once(scenario, before, after)
    check_end(scenario, before, after, list(noted["after"]["sessions"]["s"].values()))


def verify_fork(scenario: Scenario, noted: dict[str, Any]) -> None:
    """There is no fork or a whole one, and its source is as it was, or gone; going on leads to the same end."""
    before, source = Seen.look(), noted["before"]["sessions"]["s"]
    made = "f1" in before.runs
    assert made or scenario.name == "fork", "the fork is gone with its source"
    assert scenario.name == "orphan" or before.segments == source, "the source has changed"
    if made:
        steps = [entry.step for entry in before.runs["f1"].entries]
        assert (before.runs["f1"].status, len(steps), max(steps)) == ("interrupted", 8, 1), "half a fork"
    code, text = shell(scenario.run)
    assert code in ((0, 5) if scenario.name == "orphan" else (6,) if made else (0,)), f"again, it exits {code}: {text}"
    code, text = shell(f"lovia resume f1 --agent {AGENT}")
    assert code == 0, f"the fork cannot go on: {text}"
    after = Seen.look()
    segments = [one["run_id"] for one in cli_json("history", "session:f1")["segments"]]
    assert segments == ["r0", "f1"], f"the fork's session has {segments}"
    entries = after.transcripts["f1"]
    assert (len(entries), entries[-1]["text"]) == (11, "All done.")
    if scenario.name == "fork":
        assert after.segments == source, "the source has changed"
        assert [after.transcripts[run_id] for run_id in source] == [*source.values()], "its checkpoints have changed"
        assert entries == source["r1"], "the fork is not what its source became"
    else:
        assert list(after.runs) == ["f1"]
        assert not after.segments


def verify_delete(scenario: Scenario, noted: dict[str, Any]) -> None:
    """The answer gets into the session once, and then the checkpoint goes (R7): as the run is, but for its records."""
    before, expected = Seen.look(), noted["after"]["sessions"]["s"]
    finished = "r1" in before.segments
    if "r1" in before.runs:
        check_acknowledged(before)
    else:
        assert finished or not Said.of(os.environ["CRASH_STDOUT"], os.environ["CRASH_STDERR"]).runs, "r1 is lost"
    recover(scenario, before)
    after = Seen.look()
    check_once(scenario, before, after)
    assert list(after.runs) == ["r0"], f"{sorted(after.runs)} have checkpoints"
    assert after.segments == expected, "the session is not that of an uncrashed run"
    assert not finished or (after.executions, after.requests) == (before.executions, before.requests), "it ran again"
    code, text = shell(f"lovia run {AGENT} again --session s --run-id r3")
    assert code == 0, f"the session cannot go on: {text}"


def check_acknowledged(before: Seen) -> None:
    """What had been printed before the crash is in the store (R1)."""
    said = Said.of(os.environ["CRASH_STDOUT"], os.environ["CRASH_STDERR"])
    for run_id in said.runs:
        assert run_id in before.runs, f"run {run_id} was announced and is not known"
    for run_id, number in said.saves.items():
        assert before.runs[run_id].head.save >= number, f"save {number} of {run_id} was acknowledged and is lost"
    for key in said.results:
        assert key in before.results, f"the result of {key} was acknowledged and is lost"
    for run_id, count in said.responses.items():
        assert before.responses(run_id) >= count, f"response {count} of {run_id} was acknowledged and is lost"
    for run_id in said.completed:
        assert before.runs[run_id].status == "completed", f"{run_id} was said to be completed"
        assert run_id in before.segments, f"{run_id} was said to be completed and has no segment"
    code = os.environ["CRASH_RC"]
    if os.environ["CRASH_MODE"] in ("errno", "short"):
        assert code in ("0", "10"), f"exit code {code} for a store that cannot be written"


def recover(scenario: Scenario, before: Seen) -> None:
    """Go on as a person would: the same command again, or resume."""
    number = os.environ.get("CRASH_OP", "none").removeprefix("#").partition(" ")[0]
    pick = int(number) if number.isdigit() else 0
    command = scenario.recover[pick % len(scenario.recover)]
    if "lovia resume" in command and "r1" not in before.runs:
        code, text = shell(command)
        assert code == 5, f"resume of a run without a checkpoint exits {code}: {text}"
        command = scenario.recover[0]
    code, text = shell(command)
    assert code == 0, f"recovery exits {code}: {text}"


def check_once(scenario: Scenario, before: Seen, after: Seen) -> None:
    """Nothing recorded was done again, and nothing was done more often than it was begun."""
    most = scenario.begun + scenario.killed + CRASHES
    for key in before.results:
        assert after.executions[key] == before.executions[key], f"{key} has its result and ran again"
    for key, count in after.executions.items():
        assert count <= most, f"{key} ran {count} times in {CRASHES} crashes"
    for (run_id, number), count in after.requests.items():
        if number <= before.responses(run_id):
            assert count == before.requests[run_id, number], f"response {number} of {run_id} is saved and was asked for"
        assert count <= most, f"response {number} of {run_id} was asked for {count} times"


def check_end(scenario: Scenario, before: Seen, after: Seen, expected: list[Any]) -> None:
    """The store as the recovery left it is that of an uncrashed run."""
    order = list(after.segments)
    for run_id, run in after.runs.items():
        assert run.status == "completed", f"{run_id} is {run.status}"
    assert sorted(order) == sorted(after.runs), f"segments {order}, runs {sorted(after.runs)}"
    if scenario.runs is not None:
        assert tuple(order) == scenario.runs, f"segments {order}"
    else:
        # A command without a run id that is issued again after it was completed begins a new run (K2).
        assert len(order) == 1 + sum(run.status == "completed" for run in before.runs.values()), f"segments {order}"
    assert after.listed == len(order), f"the listing shows {after.listed} segments, not {len(order)}"
    found = [after.transcripts[run_id] for run_id in order]
    assert list(after.segments.values()) == found[: len(order)], "the session differs from its runs"
    assert found[: len(expected)] == expected, "a transcript is not that of an uncrashed run"
    if scenario.steered is not None:
        count = [entry.get("text") for entry in after.segments["r1"]].count(scenario.steered)
        assert count == 1, f"the queued input is there {count} times"
    assert after.runs[order[-1]].head.finish_reason == scenario.finish


def check_clean() -> None:
    """Nothing that the next command would have to clear is left, and no complaint of the doctor."""
    store = Path("disk/.lovia")
    left = left_of_folder(store) if (store / "store.json").exists() else [*store.glob("store.db-*")]
    assert not left, f"left behind: {left}"
    code, text = cli("doctor")
    assert code == 0, f"the doctor: {' | '.join(text.splitlines())}"


def left_of_folder(store: Path) -> list[Path]:
    """Markers, requests, and unfinished files where the run writes.

    In a folder of many writers (the store's own, `locks/owners`) and in the data of a run that never began, a kill
    may leave a file that nobody reads; the doctor removes it.
    """
    refs = [json.loads(path.read_text(encoding="utf-8")) for path in store.glob("runs/*.json")]
    data = [store / "data" / ref["key"] for ref in refs]
    folders = [store / "runs", *store.glob("sessions/*"), *store.glob("sessions/*/open"), *data]
    left = [path for folder in folders for path in folder.glob(".*.tmp")]
    return [*left, *store.glob("sessions/*/open/*"), *store.glob("cancel/*")]


CHECKS = {
    "run": verify_run,
    "fork": verify_fork,
    "delete": verify_delete,
    "rewind": verify_rewind,
    "trim": verify_trim,
    "rm": verify_removal,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
