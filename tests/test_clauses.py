"""Every clause of the contract has a test that carries its number: ``test_r4_...``, ``test_s5_k2_...``."""

from __future__ import annotations

import re
from collections import Counter

from tests.architecture import ROOT

CONTRACT = {"S": 8, "M": 4, "R": 13, "Z": 9, "K": 6, "A": 6, "H": 5, "D": 4}
"""How many clauses each section has."""

CLAUSES = [f"{section}{number}" for section, count in CONTRACT.items() for number in range(1, count + 1)]

LATER = {
    "R12": "sub-agents",
    "Z6": "handoffs",
    "K3": "approvals",
    **{f"A{number}": "approvals" for number in range(1, 7)},
}
"""What is promised and not there yet, or not in whole."""


def clauses_of(name: str) -> list[str]:
    """The clauses that a test's name begins with."""
    found = re.match(r"test((?:_[a-z]\d+)+)(?=_)", name)
    return [word.upper() for word in found[1].split("_")[1:]] if found else []


def count_of_clauses() -> Counter[str]:
    """How many tests carry each clause: our own, and those that every store inherits."""
    count: Counter[str] = Counter()
    for folder in ("tests", "stores/conformance"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
                count.update(clauses_of(name))
    return count


def test_every_clause_has_a_test_with_its_number() -> None:
    count = count_of_clauses()
    assert [clause for clause in CLAUSES if not count[clause] and clause not in LATER] == []


def test_a_number_in_a_name_is_a_clause_of_the_contract_or_a_case() -> None:
    unknown = [name for name in count_of_clauses() if name not in CLAUSES and not re.fullmatch(r"[CX]\d\d?", name)]
    assert unknown == []


def test_clauses_are_read_from_the_beginning_of_a_name() -> None:
    assert clauses_of("test_r6_r7_a_crash_is_healed") == ["R6", "R7"]
    assert clauses_of("test_c17_a_value") == ["C17"]
    assert clauses_of("test_the_r6_of_it") == clauses_of("test_utf8_text") == []
