"""JSON out: exact, complete, and never a crash."""

import decimal
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia_cli.render.json import dumps
from lovia_cli.render.terminal import safe

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
    max_leaves=20,
)  # fmt: skip


@given(values)
def test_what_json_can_hold_comes_back_as_it_was(value: Any) -> None:
    assert json.loads(dumps(value)) == value


@given(values)
def test_x3_the_line_itself_controls_no_terminal(value: Any) -> None:
    line = dumps(value).decode("utf-8")
    assert safe(line, lines=False) == line


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**64, 2**64),
        ([math.nan, math.inf, 1.5], [None, None, 1.5]),
        ([2**70, math.nan], [2**70, None]),
        ({1: "a", None: "b"}, {"1": "a", "null": "b"}),
        ({"x": decimal.Decimal("1.50")}, {"x": "1.50"}),
        ((1, (2,)), [1, [2]]),
        ([b"raw", 2**70], ["b'raw'", 2**70]),
    ],
)
def test_odd_values_have_a_form(value: Any, expected: Any) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(dumps(value), parse_constant=refuse) == expected


def test_nesting_of_any_depth_is_no_crash() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    assert dumps(deep).startswith(b"[[[[")
