"""The checks of commands that take something away: what they leave when they are cut off, and when they go on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from scenarios import AGENT, Scenario
from witness import Seen, cli_json, shell


def verify_rewind(scenario: Scenario, noted: dict[str, Any]) -> None:
    """The session is as before or as after (M3), and no way of going on brings the undone end back (M4)."""
    before, after = Seen.look(), noted["after"]
    rewound = before.segments == after["sessions"]["s"]
    assert rewound or before.segments == noted["before"]["sessions"]["s"], "the session is half rewound"
    check_whole(before, noted, kept=after["runs"])
    assert rewound or before.archive == noted["before"]["archive"], "an archived output went before its run"
    if rewound:
        assert before.transcripts == after["runs"], "a checkpoint has outlived its end"
        check_undone(before)
    go_on(scenario, before, done=rewound)
    seen = Seen.look()
    assert without_orphans(seen) == after, "the end is not undone"
    check_undone(seen)
    code, text = shell(f"lovia run {AGENT} again --session s --run-id r2")
    assert code == 0, f"the session cannot go on: {text}"
    seen = Seen.look()
    assert [*seen.segments] == ["r0", "r1", "r2"]
    assert {run: seen.segments[run] for run in ("r0", "r1")} == after["sessions"]["s"], "the undone end is back"
    assert seen.segments["r2"][0]["text"] == "again", "the old r2 is back"


def check_undone(seen: Seen) -> None:
    """Neither a resume nor a replay changes anything."""
    for command, exits in (
        (f"lovia resume r1 --agent {AGENT}", (5, 6)),
        (f"lovia run {AGENT} go --session s --run-id r1", (6,)),
        (f"lovia resume r2 --agent {AGENT}", (5,)),
    ):
        code, text = shell(command)
        assert code in exits, f"{command} exits {code}: {text}"
    now = Seen.look()
    assert (now.records, now.requests) == (seen.records, seen.requests), "what was undone has come to life"


def verify_trim(scenario: Scenario, noted: dict[str, Any]) -> None:
    """Each output is whole or cut, and one that is cut is whole in the archive (M1, M2)."""
    before, after = Seen.look(), noted["after"]
    check_trimmed(before, noted)
    code, text = go_on(scenario, before, done=before.segments == after["sessions"]["s"])
    seen = Seen.look()
    assert seen.records == after, f"it is not cut as it would have been: {text}"
    check_trimmed(seen, noted)
    again = cli_json(*scenario.run.split()[1:])
    assert again["trimmed"] == 0, f"once more, it cuts {again['trimmed']}"
    code, text = shell(f"lovia run {AGENT} again --session s --run-id r3")
    assert code == 0, f"the session cannot go on: {text}"


def check_trimmed(seen: Seen, noted: dict[str, Any]) -> None:
    whole, short = (noted[when]["sessions"]["s"] for when in ("before", "after"))
    assert [*seen.segments] == [*whole], f"segments {[*seen.segments]}"
    for run_id, entries in seen.segments.items():
        assert entries in (whole[run_id], short[run_id]), f"the segment of {run_id} is half cut"
        if entries != whole[run_id]:
            assert seen.archive.get(run_id) == noted["after"]["archive"][run_id], f"{run_id}'s output is lost"
    assert seen.transcripts == noted["before"]["runs"], "a checkpoint has changed"


def verify_removal(scenario: Scenario, noted: dict[str, Any]) -> None:
    """What is removed is there whole or not at all, and all else is as it was."""
    before, after = Seen.look(), noted["after"]
    kept = after["sessions"]["s"]
    cleared = before.segments == kept
    assert cleared or before.segments == noted["before"]["sessions"]["s"], "half a session"
    assert before.sessions["t"] == after["sessions"]["t"], "another session has changed"
    check_whole(before, noted, kept=after["runs"])
    assert cleared or before.archive == noted["before"]["archive"], "an archived output went before its session"
    done = cleared and before.transcripts == after["runs"]
    assert done or kept or not cleared, "a checkpoint has outlived its session"
    go_on(scenario, before, done=done, gone=5)
    seen = Seen.look()
    assert without_orphans(seen) == after, "something is left, or more went"
    code, text = shell(f"lovia resume r1 --agent {AGENT}")
    assert code == 5, f"the removed run exits {code}: {text}"
    code, text = shell(f"lovia run {AGENT} hello --session s")
    assert code == 0, f"the session cannot begin again: {text}"
    runs = [*Seen.look().segments]
    assert (runs[:-1], "r1" in runs) == ([*kept], False), f"segments {runs}"


def check_whole(seen: Seen, noted: dict[str, Any], *, kept: dict[str, Any]) -> None:
    """Every run that is there is whole, and those that are to stay are there."""
    assert not [*(kept.keys() - seen.runs.keys())], f"runs {sorted(seen.runs)}"
    for run_id, entries in seen.transcripts.items():
        assert entries == noted["before"]["runs"][run_id], f"{run_id} is not whole"


def without_orphans(seen: Seen) -> dict[str, Any]:
    """All that is stored, but for archived outputs of runs that are gone: those go last, and a kill may leave them."""
    known = {*seen.runs, *seen.segments, *seen.sessions.get("t", {})}
    return seen.records | {"archive": {run: output for run, output in seen.archive.items() if run in known}}


def go_on(scenario: Scenario, before: Seen, *, done: bool, gone: int = 0) -> tuple[int, str]:
    """What was said is done (R1), and the same command again finishes. ``gone``: what it may exit with when it is."""
    said = Path(os.environ["CRASH_STDOUT"]).read_text(encoding="utf-8")
    assert done or not said, "it was said to be done and is not"
    if os.environ["CRASH_MODE"] in ("errno", "short"):
        assert os.environ["CRASH_RC"] in ("0", "10"), f"exit code {os.environ['CRASH_RC']} for such a store"
    code, text = shell(scenario.run)
    assert code in ((0, gone) if done else (0,)), f"again, it exits {code}: {text}"
    return code, text
