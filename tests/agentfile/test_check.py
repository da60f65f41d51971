"""What `lovia validate` finds in one file: malformed parts, and what the well-formed ones say wrongly."""

from pathlib import Path

import pytest

from lovia_cli.errors import AgentFileError
from lovia_cli.wiring import check_agent

BROKEN = """\
version: 1
naem: tester
model: scripted:missing.yaml
parameters: {who: {type: strin}}
instructions: "Hi {{ whom }}"
fallback: ["nosuch:x", "scripted"]
tools:
  - {type: shell, name: a, command: [echo, "${args.q} ${args.r}", "${args.s}"]}
  - ./missing.py:f
  - {type: shell, name: b, command: [ls], env: {A: "${env.1x}"}}
  - {type: shell, name: a, command: [ls], env: {A: "${env.UNSET}"}}
  - {type: python, function: "./t.py:f", timeout: x}
  - ./t.py:f
limits: {max_steps: none}
"""


def found(folder: Path, text: str) -> list[str]:
    (folder / "agent.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(AgentFileError) as caught:
        check_agent(folder / "agent.yaml")
    return [f"{one.line}:{one.column} {one.message}".replace(f"{folder}/", "") for one in caught.value.problems]


def test_c39_a_malformed_part_hides_nothing_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("raise KeyboardInterrupt\n")
    assert found(tmp_path, BROKEN) == [
        "1:1 the agent file needs 'name'",
        "2:1 unknown key 'naem' in the agent file",
        "3:8 cannot read the file: no such file or directory (missing.yaml)",
        "4:26 'type' needs 'string', 'integer', 'number' or 'boolean', got strin",
        "6:12 unknown model provider 'nosuch'",
        '6:24 model needs provider:name or a mapping, got "scripted"',
        "8:44 ${args.q} is not declared",
        "8:44 ${args.r} is not declared",
        "8:67 ${args.s} is not declared",
        "9:5 there is no file ./missing.py (missing.py)",
        "10:52 'A' cannot hold ${env.1x}",
        "11:5 a second tool is named 'a', the first is on line 8",
        "12:51 'timeout' needs a number, got x",
        "13:5 importing ./t.py failed: it raises KeyboardInterrupt (t.py:1)",
        "14:21 'max_steps' needs a whole number, got none",
    ]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("name: x\nmodel: mine:a\nproviders: {mine: {type: opeai}}\n", ["3:26"]),
        ("name: x\nmodel: mine:a\nprovider: {mine: {type: openai}}\n", ["3:1"]),
        ("name: x\nmodel: openai\nlimits: {max_cost_usd: 1}\n", ["2:8"]),
        ("name: x\nmodel: openai:a\nparmeters: {b: {}}\ninstructions: 'Hi {{ b }}'\n", ["3:1"]),
        ("name: x\nmodel: openai:a\ninstructions: 'Hi {{ b }}'\non_drift: wrn\n", ["3:15", "4:11"]),
        ("- x\n", ["1:1"]),
    ],
)
def test_what_follows_from_a_malformed_part_is_not_told_as_well(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert [one.partition(" ")[0] for one in found(tmp_path, text)] == faults
