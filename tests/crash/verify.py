"""The check of the crash sweep: what a crash left, and what the recovery makes of it.

    verify.py SCENARIO                 in the crashed working directory, as crash_sweep.py calls it
    verify.py SCENARIO --expect FILE   in that of an uncrashed run: note its transcripts

Exits 0 when nothing is lost and nothing was done twice; else it says what, and exits 1.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from scenarios import AGENT, SCENARIOS, Scenario
from witness import Said, Seen, cli, cli_json

from stores.entries import entry_to_json

CRASHES = int(os.environ.get("CRASH_COUNT", "1"))


def main(argv: list[str]) -> int:
    """Check, and print what is wrong."""
    scenario = SCENARIOS[argv[0]]
    if argv[1:2] == ["--expect"]:
        Path(argv[2]).write_text(json.dumps(Seen.look().transcripts), encoding="utf-8")
        return 0
    try:
        expected = json.loads(Path(os.environ["SWEEP_EXPECTED"]).read_text(encoding="utf-8"))
        verify_fork(scenario, expected) if scenario.forks else verify(scenario, expected)
    except AssertionError as wrong:
        print(f"{scenario.name}: {wrong}")
        return 1
    return 0


def verify(scenario: Scenario, expected: list[Any]) -> None:
    """Look at the crashed store, recover, and look again."""
    cli_json("history")  # works on whatever the crash left
    before = Seen.look()
    check_acknowledged(before)
    recover(scenario, before)
    after = Seen.look()
    check_once(scenario, before, after)
    check_end(scenario, before, after, expected)
    check_clean()


def verify_fork(scenario: Scenario, expected: list[Any]) -> None:
    """There is no fork or a whole one, and its source is as it was, or gone; going on leads to the same end."""
    cli_json("history")
    before = Seen.look()
    made = "f1" in before.runs
    assert made or scenario.name == "fork", "the fork is gone with its source"
    assert scenario.name == "orphan" or before.transcripts == expected, "the source has changed"
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
    entries = [entry_to_json(entry) for entry in after.runs["f1"].entries]
    assert (len(entries), entries[-1]["text"]) == (11, "All done.")
    if scenario.name == "fork":
        assert after.transcripts == expected, "the source has changed"
        assert entries == expected[-1], "the fork is not what its source became"
        assert list(after.segments) == ["r0", "r1"]
    else:
        assert list(after.runs) == ["f1"]
        assert not after.segments
    code, text = cli("doctor")
    assert code == 0, f"the doctor: {' | '.join(text.splitlines())}"


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
        assert code == 5, f"resume of a run that never began exits {code}: {text}"
        command = scenario.run
    code, text = shell(command)
    assert code == 0, f"recovery exits {code}: {text}"


def shell(command: str) -> tuple[int, str]:
    if os.environ.get("SWEEP_WARM"):
        return cli(*shlex.split(command)[1:])
    done = subprocess.run(["/bin/sh", "-c", "exec " + command], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, (done.stdout + done.stderr)[-400:]


def check_once(scenario: Scenario, before: Seen, after: Seen) -> None:
    """Nothing recorded was done again, and nothing was done more often than it was begun."""
    most = scenario.begun + CRASHES
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
    found = after.transcripts
    assert list(after.segments.values()) == found[: len(order)], "the session differs from its runs"
    assert found[: len(expected)] == expected, "a transcript is not that of an uncrashed run"
    if scenario.steered is not None:
        count = [entry.get("text") for entry in after.segments["r1"]].count(scenario.steered)
        assert count == 1, f"the queued input is there {count} times"
    assert after.runs[order[-1]].head.finish_reason == scenario.finish


def check_clean() -> None:
    """Nothing that the next command would have to clear is left, and no complaint of the doctor."""
    store = Path(".lovia")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
