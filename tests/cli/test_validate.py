"""`lovia validate`: all that is wrong at once, for people, for scripts, and as annotations of a workflow."""

import pytest

from lovia_cli.render.github import annotation
from tests.cli.lovia import Lovia

BROKEN = """\
version: 1
nmae: tester
model: openai:gpt-5
tools:
  - type: shel
  - {type: shell, name: x y, command: echo}
limits: {max_steps: none}
"""
FAULTS = [
    ("1:1", "the agent file needs 'name'", "add 'name: ...'"),
    ("2:1", "unknown key 'nmae' in the agent file", "did you mean 'name'?"),
    ("5:11", "'type' shel is not a type of tool", "did you mean 'shell'?"),
    ("6:25", "'name' must be 1 to 64 letters, digits, _ or -", None),
    ("6:39", "'command' needs a list, one entry an argument", "or add 'shell: true' to run one line"),
    ("7:21", "'max_steps' needs a whole number, got none", None),
]


def test_all_errors_of_a_file_at_once(lovia: Lovia) -> None:
    lovia.write("bad.yaml", BROKEN)
    ran = lovia("validate", "bad.yaml")
    told = [f"bad.yaml:{place}: {what}\n" + (f"  hint: {hint}\n" if hint else "") for place, what, hint in FAULTS]
    assert (ran.code, ran.out, ran.err) == (3, "".join(told), "")


def test_several_files_each_on_its_own(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}], name="good.yaml")
    lovia.agent([{"text": "hi"}], name="also.yaml")
    lovia.write("bad.yaml", "name: x\nmodel: nothing\n")
    ran = lovia("validate", "good.yaml", "bad.yaml", "missing.yaml", "also.yaml")
    assert ran.code == 3
    assert ran.out == (
        "bad.yaml:2:8: 'model' needs provider:name or a mapping, got nothing\n"
        "  hint: such as scripted:script.yaml\n"
        "missing.yaml: cannot read the file: no such file or directory\n"
        "  hint: check the path\n"
        "valid: good.yaml, also.yaml\n"
    )
    assert lovia("validate", "good.yaml", "also.yaml").code == 0


def test_json_has_the_place_in_parts(lovia: Lovia) -> None:
    lovia.agent([{"text": "hi"}], name="good.yaml")
    lovia.write("bad.yaml", "name: x\nmodel: nothing\n")
    ran = lovia("validate", "good.yaml", "bad.yaml", "--json")
    assert (ran.code, ran.err) == (3, "")
    assert ran.json == {
        "v": 1,
        "exit_code": 3,
        "valid": False,
        "files": [{"file": "good.yaml", "valid": True}, {"file": "bad.yaml", "valid": False}],
        "findings": [
            {
                "agent_file": "bad.yaml", "file": "bad.yaml", "line": 2, "column": 8, "where": "bad.yaml:2:8",
                "message": "'model' needs provider:name or a mapping, got nothing",
                "hint": "such as scripted:script.yaml",
            }
        ],
    }  # fmt: skip
    rows = lovia("validate", "good.yaml", "bad.yaml", "-o", "ndjson").lines
    assert [row["kind"] for row in rows] == ["finding", "summary"]


def test_a_fault_stands_in_the_file_that_has_it(lovia: Lovia) -> None:
    lovia.agent([{"txt": "hi"}])
    (finding,) = lovia("validate", "agent.yaml", "--json").json["findings"]
    assert (finding["agent_file"], finding["line"]) == ("agent.yaml", 1)
    assert finding["file"].endswith("agent-script.yaml")


def test_the_environment_and_the_variables_are_the_runs_to_give(lovia: Lovia) -> None:
    tool = 'tools: [{type: shell, name: x, command: [env], env: {TOKEN: "${env.NOT_SET}"}}]'
    lovia.agent([{"text": "hi"}], tools=tool, more="parameters: {city: {type: string}}")
    assert lovia("validate", "agent.yaml").code == 0


def test_nothing_is_run_and_nothing_stored(lovia: Lovia) -> None:
    lovia.write("tools.py", 'print("imported")\n\ndef hi() -> str:\n    "Hi."\n    return "hi"\n')
    lovia.agent([{"text": "hi"}], tools="tools: [./tools.py:hi]")
    ran = lovia("validate", "agent.yaml")
    assert (ran.code, ran.out, ran.err) == (0, "valid: agent.yaml\n", "imported\n")
    assert not (lovia.folder / ".lovia").exists()


# --- a workflow's annotations -----------------------------------------------------------------------------------------


def test_github_gets_one_command_a_fault(lovia: Lovia) -> None:
    lovia.write("a,b: 100%.yaml", BROKEN)
    lovia.agent([{"text": "hi"}], name="good.yaml")
    ran = lovia("validate", "a,b: 100%.yaml", "good.yaml", "-o", "github")
    told = []
    for place, what, hint in FAULTS:
        line, column = place.split(":")
        message = what + (f" ({hint})" if hint else "")
        told.append(f"::error file=a%2Cb%3A 100%25.yaml,line={line},col={column}::{message}\n")
    assert (ran.code, ran.out, ran.err) == (3, "".join(told) + "valid: good.yaml\n", "")


def test_a_fault_without_a_line_has_none(lovia: Lovia) -> None:
    ran = lovia("validate", "missing.yaml", env={"LOVIA_OUTPUT": "github"})
    assert ran.out == ("::error file=missing.yaml::cannot read the file: no such file or directory (check the path)\n")


def test_a_message_is_one_line_that_github_reads_back() -> None:
    finding = {"file": "a.yaml", "line": 1, "column": 2, "message": "50% of\r\nit: a,b\x1b[2K", "hint": None}
    assert annotation(finding) == "::error file=a.yaml,line=1,col=2::50%25 of%0D%0Ait: a,b\\x1b[2K"


@pytest.mark.parametrize("argv", [["run", "agent.yaml", "go"], ["history"]])
def test_only_validate_speaks_to_github(lovia: Lovia, argv: list[str]) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia(*argv, "-o", "github")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: unknown output 'github'\n")


def test_a_usage_error_is_none_of_its_annotations(lovia: Lovia) -> None:
    ran = lovia("validate", "-o", "github")
    assert (ran.code, ran.out) == (2, "")
    assert "missing argument" in ran.err
