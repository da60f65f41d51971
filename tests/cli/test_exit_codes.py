"""Every exit code that a command can give so far, from the table of the interface."""

import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.lovia import Lovia, call, end, shell_tool, wait_for_file
from tests.cli.verbs import all_verbs
from tests.store_file.kit import rewrite

INSTALLED = True


def finished(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")


def failing(fail: dict[str, object]) -> Callable[[Lovia], None]:
    return lambda lovia: lovia.agent([{"fail": fail}])


def limited(lovia: Lovia) -> None:
    lovia.agent([call("hi"), {"text": "ok"}], tools="tools:\n" + shell_tool("hi", "echo hi"))


def damaged(lovia: Lovia) -> None:
    finished(lovia)
    (ref,) = (lovia.folder / ".lovia" / "runs").glob("*.json")
    ref.write_bytes(ref.read_bytes()[:50])


def newer(lovia: Lovia) -> None:
    finished(lovia)
    rewrite(lovia.folder / ".lovia" / "store.json", v=999)


def nothing(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])


def broken_agent(lovia: Lovia) -> None:
    lovia.write("agent.yaml", "version: 1\nname: x\nmodel: scripted:nowhere.yaml\n")


def with_parameter(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}], more="parameters: {city: {type: string, enum: [Lisbon, Porto]}}")


def no_key(lovia: Lovia) -> None:
    lovia.write("agent.yaml", "version: 1\nname: x\nmodel: openai:gpt-5\n")


def interrupted(lovia: Lovia) -> None:
    limited(lovia)
    lovia("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1", "--max-steps", "1")


def interrupted_without_agent(lovia: Lovia) -> None:
    interrupted(lovia)
    (lovia.folder / "agent.yaml").unlink()


def interrupted_with_another(lovia: Lovia) -> None:
    interrupted(lovia)
    lovia.agent([{"text": "ok"}], more="instructions: Others.")


def interrupted_without_key(lovia: Lovia) -> None:
    interrupted(lovia)
    lovia.write("other.yaml", "version: 1\nname: tester\nmodel: openai:gpt-5\n")


def finished_with_another(lovia: Lovia) -> None:
    finished(lovia)
    lovia.agent([{"text": "hi"}], more="instructions: Others.")


def exported(lovia: Lovia) -> None:
    finished(lovia)
    lovia.write("run.jsonl", lovia("export", "r1").out)


def exported_elsewhere(lovia: Lovia) -> None:
    exported(lovia)
    shutil.rmtree(lovia.folder / ".lovia")


def exported_damaged(lovia: Lovia) -> None:
    exported(lovia)
    lovia.write("run.jsonl", (lovia.folder / "run.jsonl").read_text()[:-50])


RUN = ["run", "agent.yaml", "go"]

TABLE: list[tuple[int, Callable[[Lovia], None], list[str]]] = [
    (0, nothing, RUN),
    (0, finished, ["run", "agent.yaml", "go", "--run-id", "r1"]),
    (0, finished, ["resume", "r1"]),
    (0, finished, ["runs", "finalize", "r1"]),
    (0, finished, ["cancel", "r1"]),
    (0, finished, ["history"]),
    (0, finished, ["show", "u1"]),
    (0, nothing, ["history"]),
    (0, nothing, ["validate", "agent.yaml"]),
    (0, nothing, ["--version"]),
    (0, nothing, ["run", "--help"]),
    (1, failing({"status": 400}), RUN),
    (1, failing({"status": 400, "message": "no"}), [*RUN, "--json"]),
    (2, nothing, []),
    (2, nothing, ["nosuch"]),
    (2, nothing, ["run", "agent.yaml"]),
    (2, nothing, ["run", "agent.yaml", "-"]),
    (2, nothing, ["run", "a", "b"]),
    (2, nothing, [*RUN, "third"]),
    (2, nothing, [*RUN, "--max-steps", "x"]),
    (2, nothing, [*RUN, "--max-steps", "-1"]),
    (2, nothing, [*RUN, "--timeout", "0"]),
    (2, nothing, [*RUN, "--timeout", "nan"]),
    (2, nothing, [*RUN, "--limit", "max_tool_calls"]),
    (2, nothing, [*RUN, "--limit", "max_tool_calls=many"]),
    (2, nothing, [*RUN, "--limit", "max_nothing=3"]),
    (2, nothing, [*RUN, "-p", "x"]),
    (2, nothing, [*RUN, "-m", "gpt"]),
    (2, nothing, [*RUN, "-o", "xml"]),
    (2, nothing, [*RUN, "--if-run-exists", "fail"]),
    (2, nothing, [*RUN, "--run-id", "x", "--if-run-exists", "maybe"]),
    (2, nothing, [*RUN, "--store", "postgresql://x/y"]),
    (2, nothing, [*RUN, "--store", "ftp:x"]),
    (2, nothing, [*RUN, "--store", ""]),
    (2, finished, ["show", "u1", "--step", "1"]),
    (2, finished, ["history", "-n", "0"]),
    (3, nothing, ["run", "nowhere.yaml", "go"]),
    (3, broken_agent, RUN),
    (3, broken_agent, ["validate", "agent.yaml"]),
    (3, nothing, [*RUN, "-p", "x=1"]),
    (3, nothing, [*RUN, "-m", "nosuch:model"]),
    (3, with_parameter, RUN),
    (3, with_parameter, [*RUN, "-p", "city=Paris"]),
    (4, no_key, RUN),
    (4, failing({"status": 401}), RUN),
    (5, nothing, [*RUN, "--run-id", "x", "--if-run-exists", "resume-only"]),
    (5, nothing, ["resume", "x"]),
    (5, finished, ["cancel", "x"]),
    (5, finished, ["history", "x"]),
    (5, finished, ["show", "session:r1"]),
    (5, finished, ["show", "r1", "--step", "7"]),
    (5, finished, ["show", "r1", "--call", "7.1"]),
    (5, finished, ["runs", "finalize", "x"]),
    (6, finished, [*RUN, "--run-id", "r1", "--if-run-exists", "fail"]),
    (6, finished, [*RUN, "--run-id", "r1", "--if-run-exists", "restart"]),
    (6, finished, [*RUN, "--run-id", "r1", "-s", "u2"]),
    (6, finished, ["resume", "r1", "-i", "more"]),
    (7, limited, [*RUN, "--max-steps", "1"]),
    (7, limited, [*RUN, "--limit", "max_tool_calls=1", "--max-steps", "1"]),
    (9, interrupted_with_another, ["run", "agent.yaml", "", "-s", "u1", "--max-steps", "9", "--on-drift", "error"]),
    (10, newer, RUN),
    (0, nothing, [*RUN, "--dry-run"]),
    (2, finished, ["resume"]),
    (2, finished, ["resume", "r1", "--last"]),
    (3, interrupted_without_agent, ["resume", "r1"]),
    (4, interrupted_without_key, ["resume", "r1", "--agent", "other.yaml", "--max-steps", "9"]),
    (7, interrupted, ["resume", "r1"]),
    (9, interrupted_with_another, ["resume", "r1", "--on-drift", "error"]),
    (10, damaged, ["resume", "r1"]),
    (10, newer, ["resume", "r1"]),
    (2, finished, ["cancel", "r1", "extra"]),
    (10, newer, ["cancel", "r1"]),
    (0, finished, ["history", "--last", "--since", "1h"]),
    (2, finished, ["history", "--status", "done"]),
    (10, damaged, ["history", "r1"]),
    (10, newer, ["history"]),
    (10, newer, ["show", "r1"]),
    (2, finished, ["runs", "finalize"]),
    (2, nothing, ["runs"]),
    (10, newer, ["runs", "finalize", "r1"]),
    (0, finished, ["rewind", "u1", "--last-run", "-y"]),
    (2, finished, ["rewind", "u1"]),
    (2, finished, ["rewind", "u1", "--last-run"]),
    (5, finished, ["rewind", "r1", "--last-run", "-y"]),
    (10, newer, ["rewind", "u1", "--last-run", "-y"]),
    (0, finished, ["trim", "u1", "-y"]),
    (2, finished, ["trim", "u1", "--keep-chars", "-1"]),
    (5, finished, ["trim", "r1"]),
    (10, newer, ["trim", "u1"]),
    (0, finished, ["rm", "r1", "-y"]),
    (2, finished, ["rm", "r1"]),
    (5, finished, ["rm", "x", "-y"]),
    (10, newer, ["rm", "r1", "-y"]),
    (0, finished, ["prune", "--older-than", "1d", "-y"]),
    (2, finished, ["prune", "--older-than", "soon"]),
    (10, newer, ["prune", "--older-than", "1d", "-y"]),
    (0, finished, ["doctor"]),
    (2, finished, ["doctor", "extra"]),
    (5, nothing, ["doctor", "--store", "nowhere"]),
    (10, damaged, ["doctor"]),
    (10, newer, ["doctor"]),
    (0, nothing, ["init", "new"]),
    (2, nothing, ["init", "new", "--template", "none"]),
    (6, nothing, ["init"]),
    (2, nothing, ["validate"]),
    (0, nothing, ["schema", "agent"]),
    (2, nothing, ["schema", "nothing"]),
    (0, nothing, ["completion", "bash"]),
    (2, nothing, ["completion", "none"]),
    (0, finished, ["fork", "r1", "--from-step", "1"]),
    (0, finished, ["fork", "r1", "--from-step", "0", "--run"]),
    (2, finished, ["fork", "r1"]),
    (5, finished, ["fork", "r1", "--from-step", "7"]),
    (6, finished, ["fork", "r1", "--from-step", "1", "--new-id", "r1"]),
    (7, interrupted, ["fork", "r1", "--from-step", "1", "--run"]),
    (10, newer, ["fork", "r1", "--from-step", "1"]),
    (0, finished, ["compare", "r1", "r1", "--exit-code"]),
    (2, finished, ["compare"]),
    (5, finished, ["compare", "r1", "r1@7"]),
    (9, finished, ["compare", "r1", "r1@0", "--exit-code"]),
    (10, newer, ["compare", "r1", "r1"]),
    (0, finished, ["replay", "r1"]),
    (0, finished, ["replay", "r1", "--agent", "agent.yaml"]),
    (2, finished, ["replay"]),
    (3, finished, ["replay", "r1", "--agent", "nowhere.yaml"]),
    (5, finished, ["replay", "x"]),
    (6, interrupted, ["replay", "r1"]),
    (9, finished_with_another, ["replay", "r1", "--agent", "agent.yaml"]),
    (10, newer, ["replay", "r1"]),
    (0, finished, ["export", "r1"]),
    (2, finished, ["export", "r1", "--format", "xml"]),
    (5, finished, ["export", "x"]),
    (10, newer, ["export", "r1"]),
    (0, exported_elsewhere, ["import", "run.jsonl"]),
    (2, nothing, ["import", "nowhere.jsonl"]),
    (6, exported, ["import", "run.jsonl"]),
    (10, exported_damaged, ["import", "run.jsonl"]),
]


CODES: dict[str, set[int]] = {
    "init": {0, 2, 6},
    "validate": {0, 2, 3},
    "schema": {0, 2},
    "run": {0, 1, 2, 3, 4, 5, 6, 7, 9, 10},
    "resume": {0, 2, 3, 4, 5, 6, 7, 9, 10},
    "cancel": {0, 2, 5, 10},
    "history": {0, 2, 5, 10},
    "show": {0, 2, 5, 10},
    "rewind": {0, 2, 5, 10},
    "trim": {0, 2, 5, 10},
    "rm": {0, 2, 5, 10},
    "prune": {0, 2, 10},
    "doctor": {0, 2, 5, 10},
    "runs finalize": {0, 2, 5, 10},
    "completion": {0, 2},
    "fork": {0, 2, 5, 6, 7, 10},
    "compare": {0, 2, 5, 9, 10},
    "replay": {0, 2, 3, 5, 6, 9, 10},
    "export": {0, 2, 5, 10},
    "import": {0, 2, 6, 10},
}
"""The codes of each verb that have a row above; what another process has a part in is tested by itself below."""


def test_every_verb_has_a_row_for_each_of_its_codes() -> None:
    assert set(CODES) == all_verbs()
    for verb, codes in CODES.items():
        words = verb.split()
        assert {code for code, _, argv in TABLE if argv[: len(words)] == words} == codes, verb


@pytest.mark.parametrize(("code", "prepare", "argv"), TABLE)
def test_exit_code(lovia: Lovia, code: int, prepare: Callable[[Lovia], None], argv: list[str]) -> None:
    prepare(lovia)
    ran = lovia(*argv)
    assert ran.code == code, ran
    assert "Traceback" not in ran.err
    if (argv[:1], code) in [(["validate"], 3), (["doctor"], 10), (["compare"], 9), (["replay"], 9)]:
        return  # what they find is their answer
    if code not in (0, 7):
        assert "error: " in ran.err
    if code and "--json" not in argv:
        assert ran.out == ""


@pytest.mark.parametrize(("code", "prepare", "argv"), [row for row in TABLE if row[0] in (2, 3, 5, 6)])
def test_what_is_refused_changes_nothing(
    lovia: Lovia, code: int, prepare: Callable[[Lovia], None], argv: list[str]
) -> None:
    prepare(lovia)
    before = lovia.store_bytes()
    assert lovia(*argv).code == code
    assert lovia.store_bytes() == before


def hanging(lovia: Lovia) -> Path:
    """An agent whose tool waits, the first time it is called; the file it makes then."""
    script = "echo start >> n.txt; [ -e again ] || { touch again; sleep 60; }; echo end >> n.txt"
    lovia.agent([call("hang"), {"text": "ok"}], tools="tools:\n" + shell_tool("hang", script))
    return lovia.folder / "again"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["HUP", "INT", "TERM"]
)
def test_c37_a_signal_saves_the_run_and_exits_with_its_code(lovia: Lovia, number: int, code: int) -> None:
    begun = hanging(lovia)
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r1", "--json")
    wait_for_file(begun, process)
    process.send_signal(number)
    ran = end(process)
    assert (ran.code, ran.json["exit_code"], ran.json["status"]) == (code, code, "interrupted")
    assert "Traceback" not in ran.err
    assert lovia("resume", "r1").out == "ok\n"
    assert (lovia.folder / "n.txt").read_text() == "start\nstart\nend\n"


def test_z9_cancel_stops_the_run_elsewhere_and_exits_0(lovia: Lovia) -> None:
    begun = hanging(lovia)
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r1", "--json")
    wait_for_file(begun, process)
    cancelled = lovia("cancel", "r1", "--json")
    assert (cancelled.code, cancelled.json["stopped"], cancelled.json["status"]) == (0, True, "interrupted")
    assert end(process).code == 143


def test_z9_cancel_of_a_run_that_nobody_executes_is_said_and_0(lovia: Lovia) -> None:
    finished(lovia)
    before = lovia.store_bytes()
    ran = lovia("cancel", "r1")
    assert (ran.code, ran.out, ran.err) == (0, "", "run r1 is not being executed\n")
    assert lovia.store_bytes() == before


def test_r11_a_run_that_is_executed_elsewhere_is_a_conflict(lovia: Lovia) -> None:
    begun = hanging(lovia)
    process = lovia.start("run", "agent.yaml", "go", "--run-id", "r1", "-s", "u1")
    wait_for_file(begun, process)
    refused = [
        ["resume", "r1"], ["run", "agent.yaml", "more", "-s", "u1"], ["runs", "finalize", "r1"], ["rm", "r1", "-y"],
        ["rm", "u1", "-y"], ["rewind", "u1", "--last-run", "-y"],
    ]  # fmt: skip
    ran = [lovia(*argv) for argv in refused]
    process.send_signal(signal.SIGTERM)
    end(process)
    assert [one.code for one in ran] == [6] * len(refused)
    assert all(f"process {process.pid}" in one.err for one in ran)


def test_z1_the_timeout_stops_a_tool_and_exits_7(lovia: Lovia) -> None:
    hanging(lovia)
    ran = lovia("run", "agent.yaml", "go", "--run-id", "r1", "--timeout", "0.5", "--json")
    assert (ran.code, ran.json["status"], ran.json["error"]["code"]) == (7, "interrupted", "timeout")
    assert lovia("resume", "r1").out == "ok\n"


def test_a_store_that_cannot_be_written_is_10(lovia: Lovia) -> None:
    nothing(lovia)
    lovia.write("file", "")
    ran = lovia("run", "agent.yaml", "go", "--store", "file/x")
    assert (ran.code, ran.out) == (10, "")


def test_doctor_finds_damage_mends_it_and_is_then_content(lovia: Lovia) -> None:
    damaged(lovia)
    before = lovia.store_bytes()
    found = lovia("doctor", "--json")
    assert (found.code, found.json["well"], len(found.json["findings"]) > 0) == (10, False, True)
    assert lovia.store_bytes() == before
    assert lovia("doctor", "--repair").code == 0
    assert lovia("doctor").out == f"nothing is wrong in {lovia.folder / '.lovia'}\n"
    assert lovia("resume", "r1").out == "hi\n"


def test_d3_a_damaged_run_is_listed_and_hurts_no_other(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}])
    lovia("run", "agent.yaml", "go", "--run-id", "other")
    known = {path.name for path in (lovia.folder / ".lovia" / "runs").glob("*.json")}
    lovia("run", "agent.yaml", "go", "--run-id", "r1")
    (ref,) = (path for path in (lovia.folder / ".lovia" / "runs").glob("*.json") if path.name not in known)
    ref.write_bytes(b"")
    ran = lovia("history")
    assert ran.code == 0
    assert "damaged: run " in ran.out
    assert re.search(r"^run +r1\S* +damaged +- +- ", ran.out, re.MULTILINE), "nobody knows how many steps"
    assert "other" in ran.out
    assert lovia("resume", "other").code == 0
    assert lovia("resume", "r1", "--json").json["error"]["code"] == "store_damaged"
