"""H4: what is marked within two texts, and within two JSON values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lovia_cli.comparing.marks import Piece, mark_texts, mark_values


def brackets(pieces: Sequence[Piece]) -> str:
    return "".join(f"<{text}>" if differs else text for text, differs in pieces)


@pytest.mark.parametrize(
    ("a", "b", "marked_a", "marked_b"),
    [
        (
            "Two nights in Lisbon are booked.",
            "Two nights in Faro are booked.",
            "Two nights in <Lisbon> are booked.",
            "Two nights in <Faro> are booked.",
        ),
        ("to the beach", "to the sandy beach", "to the beach", "to the <sandy >beach"),
        ("天气很好", "天气不好", "天气<很>好", "天气<不>好"),
        ("Nothing alike.", "Quite another sentence, really.", "<Nothing alike.>", "<Quite another sentence, really.>"),
        (
            "We book Lisbon and Porto for June, please.",
            "We book Faro or Sintra for June, please.",
            "We book <Lisbon and Porto> for June, please.",
            "We book <Faro or Sintra> for June, please.",
        ),
        (
            "Go to the market and buy fresh bread.",
            "A review of the quarterly figures is due.",
            "<Go to the market and buy fresh bread.>",
            "<A review of the quarterly figures is due.>",
        ),
        ("same", "same", "same", "same"),
    ],
)
def test_h4_words_are_marked(a: str, b: str, marked_a: str, marked_b: str) -> None:
    one, other = mark_texts(a, b)
    assert (brackets(one), brackets(other)) == (marked_a, marked_b)


def test_h4_long_texts_are_marked_within_their_lines() -> None:
    lines = [f"line {n} has some words in it" for n in range(2000)]
    changed = [*lines[:1000], "line 1000 has other words in it", *lines[1001:], "and one more"]
    one, other = mark_texts("\n".join(lines), "\n".join(changed))
    assert [piece.text for piece in one if piece.differs] == ["some"]
    assert [piece.text.strip() for piece in other if piece.differs] == ["other", "and one more"]


def test_h4_json_is_marked_and_its_paths_are_named() -> None:
    a = json.dumps({"city": "Lisbon", "guests": [{"name": "Ana"}, {"name": "Bo"}], "a key": 1, "x": {"y": None}})
    b = json.dumps({"guests": [{"name": "Ana"}, {"name": "Bob"}, {"name": "Cy"}], "city": "Lisbon", "x": {"y": 0}})
    one, other, found = mark_values(a, b)
    assert [(each.path, each.kind, each.a, each.b) for each in found] == [
        ("guests[1].name", "changed", "Bo", "Bob"),
        ("guests[2]", "added", None, {"name": "Cy"}),
        ('["a key"]', "removed", 1, None),
        ("x.y", "changed", None, 0),
    ]
    assert brackets(one) == (
        '{"city": "Lisbon", "guests": [{"name": "Ana"}, {"name": "<Bo>"}], <"a key": 1>, "x": {"y": <null>}}'
    )
    assert brackets(other) == (
        '{"guests": [{"name": "Ana"}, {"name": "<Bob>"}, <{"name": "Cy"}>], "city": "Lisbon", "x": {"y": <0>}}'
    )


def test_h4_an_element_put_in_front_is_one_difference() -> None:
    assert [(each.path, each.kind) for each in mark_values("[1, 2, 3]", "[0, 1, 2, 3]")[2]] == [("[0]", "added")]


def test_h4_a_key_that_is_alone_marks_none_of_the_other_side() -> None:
    a, b = [{"k": 5}, {"k": 1, "x": 1}], ["new", {"k": 5}, {"x": 1}]
    one, other, _ = mark_values(json.dumps(a), json.dumps(b))
    assert brackets(one) == '[{"k": 5}, {<"k": 1>, "x": 1}]'
    assert brackets(other) == '[<"new">, {"k": 5}, {"x": 1}]'


def test_h4_a_long_list_of_few_values_is_marked_as_a_short_one() -> None:
    a = Random(1).choices([1, 2, 3], k=600)
    found = mark_values(json.dumps(a), json.dumps([*a[:10], 9, *a[10:500], *a[501:]]))[2]
    assert [(each.path, each.kind) for each in found] == [("[10]", "added"), ("[500]", "removed")]
    bits = Random(1).choices([1, 2], k=1000)
    found = mark_values(json.dumps([0, 5, *bits]), json.dumps([3, 5, *bits[:400], 4, *bits[400:], 6]))[2]
    assert [(each.path, each.kind) for each in found] == [("[0]", "changed"), ("[402]", "added"), ("[1003]", "added")]


@pytest.mark.parametrize(("number", "between"), [(600, " "), (1600, "\n")])
def test_h4_a_long_text_of_few_words_is_marked_as_a_short_one(number: int, between: str) -> None:
    a = Random(1).choices(["yes", "no"], k=number)
    b = [*a[:10], "perhaps", *a[10 : number - 100], "never", *a[number - 99 :]]
    one, other = mark_texts(between.join(a), between.join(b))
    assert "".join(piece.text for piece in other if piece.differs).split() == ["perhaps", "never"]
    assert "".join(piece.text for piece in one if piece.differs).split() == [a[number - 100]]


def test_h4_what_is_no_json_or_too_deep_is_compared_as_text() -> None:
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    for a, b in (("{broken", "{broken too"), ("[1]", '{"a": 1}'), (deep, deep.replace("1", "2"))):
        one, other, found = mark_values(a, b)
        assert found == []
        assert ("".join(piece.text for piece in one), "".join(piece.text for piece in other)) == (a, b)


@pytest.mark.parametrize("depth", [100, 900, 960, 980, 990])
def test_h4_deep_json_is_marked_or_compared_as_text_but_never_too_much(depth: int) -> None:
    deep = '{"a": ' * depth + "1" + "}" * depth
    one, _, _ = mark_values(deep, deep.replace("1", "2"))
    assert [piece.text for piece in one if piece.differs] == ["1"]


@settings(max_examples=50, deadline=None)
@given(st.text("ab .,é\n", max_size=30), st.text("ab .,é\n", max_size=30))
def test_h4_no_mark_changes_a_text_and_what_is_not_marked_is_in_both(a: str, b: str) -> None:
    one, other = mark_texts(a, b)
    assert ("".join(piece.text for piece in one), "".join(piece.text for piece in other)) == (a, b)
    same = ["".join(piece.text for piece in pieces if not piece.differs) for pieces in (one, other)]
    assert same[0] == same[1]
