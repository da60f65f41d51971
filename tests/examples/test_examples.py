"""Every example does what it says, offline, word for word."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.architecture import ROOT
from tests.cli.lovia import Lovia

EXAMPLES = ROOT / "examples"

PLAYS: dict[str, list[tuple[str, int, str]]] = {
    "trip": [
        ('lovia run agent.yaml "Plan a weekend" -s u1', 0, "Two nights in Lisbon are booked. Pack sunglasses.\n"),
        ("wc -l <tool-calls.txt", 0, "4\n"),
    ],
    "release": [
        ('lovia run agent.yaml "Release it"', 3, ""),
        ('lovia run agent.yaml "Release it" -p version=1.4.0 -p env=live', 3, ""),
        (
            'CHECK_FAILS=1 lovia run agent.yaml "Release it" --run-id no -p version=1.4.0',
            0,
            "A check failed, so nothing was shipped.\n",
        ),
        ("ls shipped", 2, ""),
        *[
            (
                'lovia run agent.yaml "Release it" --run-id shop-1.4.0 -p version=1.4.0',
                0,
                "1.4.0 is on staging: faster search, and carts that keep their coupons.\n",
            )
        ]
        * 2,
        ("cat shipped/log.txt", 0, "shop-1.4.0/3.1 1.4.0 to staging\n"),
        (
            "lovia show shop-1.4.0 --step 1",
            0,
            "--- step 1 ---\nassistant: First, what is in it.\n"
            "call 1.1 changes {}\nresult 1.1\n    - search is faster\n    - carts keep their coupons\n",
        ),
    ],
    "support": [
        (
            'lovia run agent.yaml "My parcel has not come" --session customer-7',
            0,
            "I am sorry to hear that. Which order is it?\n",
        ),
        (
            'lovia run "It is order 1002" --session customer-7',
            0,
            "Order 1002 was lost on its way. Shall I have it sent again?\n",
        ),
        ('lovia run "Please do" --session customer-7', 0, "Done. You will have an answer by tomorrow.\n"),
        ("cat tickets.jsonl", 0, '{"order": "1002", "about": "parcel lost on its way", "session": "customer-7"}\n'),
        (
            "lovia show customer-7 | grep -v '^---'",
            0,
            " 1  user: My parcel has not come\n"
            " 2  assistant: I am sorry to hear that. Which order is it?\n"
            " 3  user: It is order 1002\n"
            ' 4  call 1.1 find_order {"order":"1002"}\n'
            ' 5  result 1.1 {"order":"1002","state":"lost on its way"}\n'
            " 6  assistant: Order 1002 was lost on its way. Shall I have it sent again?\n"
            " 7  user: Please do\n"
            ' 8  call 1.1 open_ticket {"order":"1002","about":"parcel lost on its way"}\n'
            " 9  result 1.1 ticket for order 1002 is open\n"
            "10  assistant: Done. You will have an answer by tomorrow.\n",
        ),
        ("lovia history customer-7 --json | jq '.segments | length'", 0, "3\n"),
    ],
    "ci": [
        (
            "BUILD=42 ./review.sh",
            1,
            "interrupted after 2 steps, exit 7\n"
            "completed after 3 steps, exit 0\n"
            "verdict: reject\n- test_discount fails: the discount is taken twice\n",
        ),
        (
            "BUILD=42 ./review.sh",
            1,
            "completed after 3 steps, exit 0\nverdict: reject\n- test_discount fails: the discount is taken twice\n",
        ),
        ("cat tests-ran.txt", 0, "ran\n"),
        (
            "sed -i 's/, 1 failed.*\\\"/\\\"/' agent.yaml; BUILD=43 MAX_STEPS=9 ./review.sh",
            0,
            "completed after 3 steps, exit 0\nverdict: approve\n",
        ),
        ("rm model.yaml; BUILD=44 ./review.sh | cut -d: -f1", 3, "agent_file after 0 steps, exit 3\nno review\n"),
        ("./review.sh", 1, ""),
    ],
    "regression": [
        ("./check.sh | grep -c patched", 0, "2\n"),
        (
            "sed -i '13s/Faro/Lisbon/' model.yaml; ./check.sh | grep '^[~+]'",
            9,
            "~ step 2\n~ step 3\n",
        ),
        ("./check.sh | tail -n 1", 9, "they differ from step 2 on: 2 steps changed\n"),
        ("./check.sh --accept | tail -n 1", 0, "the same: 3 steps\n"),
        (
            "sed -i 's/ Never book where it rains.//' agent.yaml; ./check.sh | sed -n 2,4p",
            0,
            "steps 1-3, instructions: the instructions are not those that were sent\n"
            "1 difference in 3 steps, the first at step 1\n"
            "(it has been changed since it was recorded)\n",
        ),
    ],
    "triage": [
        ('lovia run agent.yaml "Triage what is open" --run-id monday --max-steps 2', 7, ""),
        (
            "lovia resume monday --max-steps 9",
            0,
            "3 issues labelled: 2 bugs, 1 question. Start with 7, it loses data.\n",
        ),
        ("lovia resume monday", 0, "3 issues labelled: 2 bugs, 1 question. Start with 7, it loses data.\n"),
        ("sort labels.csv", 0, "monday/2.1,7,bug\nmonday/2.2,8,question\nmonday/2.3,9,bug\n"),
        ("wc -l <model-calls.jsonl", 0, "4\n"),
    ],
}
"""For each example: command, exit code, what it prints."""


def copied(name: str, place: Path) -> Lovia:
    """The example in a folder of its own, without what an earlier run has left beside it."""
    left = (EXAMPLES / name / ".gitignore").read_text(encoding="utf-8").replace("/", "").split()
    shutil.copytree(EXAMPLES / name, place / name, ignore=shutil.ignore_patterns("__pycache__", ".lovia", *left))
    return Lovia(place / name)


def test_every_example_is_played() -> None:
    assert set(PLAYS) == {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"}


@pytest.mark.parametrize("name", PLAYS)
def test_an_example_prints_what_it_should(tmp_path: Path, name: str) -> None:
    lovia = copied(name, tmp_path)
    for command, code, printed in PLAYS[name]:
        ran = lovia.shell(f"set -o pipefail; {command}")
        assert (ran.code, ran.out) == (code, printed), (command, ran.err)
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", PLAYS)
def test_an_example_is_valid(tmp_path: Path, name: str) -> None:
    path = str(EXAMPLES / name / "agent.yaml")
    assert Lovia(tmp_path)("validate", path).out == f"valid: {path}\n"


def test_the_commands_at_the_head_of_an_example_are_played() -> None:
    """What the comments tell a reader to type is what is played here."""
    for name in ("release", "support", "triage"):
        text = (EXAMPLES / name / "agent.yaml").read_text(encoding="utf-8")
        told = [line[2:].split("  #")[0].strip() for line in text.splitlines() if line.startswith("#   lovia run")]
        played = [command for command, _, _ in PLAYS[name]]
        assert told
        assert all(any(command.startswith(one) for command in played) for one in told), told
