"""The stored form of values (D4, C15, C17)."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.errors import UserError
from stores.values import MAX_DEPTH, MAX_ITEMS, ValueNotStorable, clean_text, plain, to_text


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass
class Point:
    x: int
    when: dt.date


class Route(msgspec.Struct):
    to: Point
    via: str | msgspec.UnsetType = msgspec.UNSET


class Place(pydantic.BaseModel):
    name: str
    at: Point
    link: pydantic.HttpUrl | None = None
    key: pydantic.SecretStr | None = None


def numbers_up_to_three() -> Iterator[int]:
    yield from (1, 2, 3)


UTC = dt.UTC
FORMS: list[tuple[object, object]] = [
    (None, None),
    (True, True),
    (7, 7),
    (-(2**63), -(2**63)),
    (2**64 - 1, 2**64 - 1),
    (2**64, "18446744073709551616"),
    (-(2**63) - 1, "-9223372036854775809"),
    (10**5000, "1" + "0" * 5000),
    (1.5, 1.5),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
    ("straße\x00", "straße\x00"),
    (b"\x00\xff", "data:application/octet-stream;base64,AP8="),
    (bytearray(b"x"), "data:application/octet-stream;base64,eA=="),
    (memoryview(b"x"), "data:application/octet-stream;base64,eA=="),
    (dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "2026-01-02T03:04:05.000006+00:00"),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (dt.time(3, 4), "03:04:00"),
    (dt.timedelta(days=1, hours=2), "P1DT2H"),
    (dt.timedelta(0), "PT0S"),
    (dt.timedelta(seconds=-180.5), "-PT3M0.5S"),
    (dt.timedelta.min, "-P999999999D"),
    (decimal.Decimal("1.10"), "1.10"),
    (decimal.Decimal("sNaN"), "sNaN"),
    (fractions.Fraction(1, 3), "1/3"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (pathlib.PurePosixPath("caf\udce9"), "caf\ufffd"),
    (ipaddress.ip_address("::1"), "::1"),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    ((1, (2,)), [1, [2]]),
    (range(3), [0, 1, 2]),
    (collections.deque([1]), [1]),
    ({"b": 1, "a": 2}.keys(), ["b", "a"]),
    ({"b": 1}.items(), [["b", 1]]),
    (frozenset({"b", "a", 1.5}), ["a", "b", 1.5]),
    (map(str, [1, 2]), ["1", "2"]),
    (collections.OrderedDict(z=1, a=2), {"z": 1, "a": 2}),
    ({1: "i", (1, "a"): "t", None: "n", 2.5: "f", Colour.RED: "e", dt.date(2026, 1, 2): "d"}, {
        "1": "i", "[1,\"a\"]": "t", "null": "n", "2.5": "f", "red": "e", "2026-01-02": "d",
    }),
    ({False: "b"}, {"false": "b"}),
    (Point(1, dt.date(2026, 1, 2)), {"x": 1, "when": "2026-01-02"}),
    (Route(to=Point(1, dt.date(2026, 1, 2))), {"to": {"x": 1, "when": "2026-01-02"}}),
    (Route(to=Point(1, dt.date(2026, 1, 2)), via="B"), {"to": {"x": 1, "when": "2026-01-02"}, "via": "B"}),
    (ValueError("no such city"), "ValueError: no such city"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (
        Place(name="A\ud800", at=Point(1, dt.date(2026, 1, 2)), link="https://x.test/a", key="hush"),  # type: ignore[arg-type]  # pydantic converts
        {"name": "A\ufffd", "at": {"x": 1, "when": "2026-01-02"}, "link": "https://x.test/a", "key": "**********"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("value", "form"), FORMS, ids=lambda value: type(value).__name__)
def test_c17_each_type_has_one_form(value: object, form: object) -> None:
    got = plain(value)
    assert got == form
    assert type(got) is type(form)


def test_c17_a_generator_becomes_a_list() -> None:
    assert plain({"n": numbers_up_to_three()}) == {"n": [1, 2, 3]}


def test_c17_what_has_text_as_its_form_is_that_text_without_quotes() -> None:
    assert to_text(dt.date(2026, 1, 2)) == "2026-01-02"
    assert to_text('say "no"') == 'say "no"'


def test_c17_the_text_of_all_else_is_compact_json() -> None:
    assert to_text(None) == ""
    assert to_text(True) == "true"
    assert to_text({"ort": "Köln", "n": [1, None, dt.date(2026, 1, 2)]}) == '{"ort":"Köln","n":[1,null,"2026-01-02"]}'


def test_c15_lone_surrogates_become_u_fffd_and_pairs_are_joined() -> None:
    assert clean_text("\ud83d x") == "\ufffd x"
    assert clean_text("x\udce9") == "x\ufffd"
    assert clean_text("\ude00\ud83d") == "\ufffd\ufffd"
    assert clean_text("\ud83d\ude00") == "😀"
    assert clean_text("\ufeffa\x00\x1b[1m") == "\ufeffa\x00\x1b[1m"
    assert plain({"k\ud800": "v"}) == {"k\ufffd": "v"}


class Boom:
    def model_dump(self) -> dict[str, Any]:
        raise ZeroDivisionError("late")


class Opaque:
    pass


def endless() -> Iterator[int]:
    while True:
        yield 0


def itself() -> list[object]:
    out: list[object] = []
    out.append(out)
    return out


def doubling() -> object:
    out: object = 0
    for _ in range(100):
        out = [out, out]
    return out


@pytest.mark.parametrize(
    ("value", "words", "where"),
    [
        ({"a": [1, Opaque()]}, "Opaque has no stored form", "at .a[1]"),
        ([Opaque], "a class (Opaque)", "at [0]"),
        ({1: "a", "1": "b"}, "two keys become the text '1'", None),
        ({"x": dict.fromkeys(("\ud800", "\ud801"))}, "two keys become the text", "at .x"),
        (itself(), f"deeper than {MAX_DEPTH} levels", "at [0][0][0][0][0][0][0][0]..."),
        (endless(), f"more than {MAX_ITEMS} items", None),
        (doubling(), f"more than {MAX_ITEMS} items", "at [1][1][0]"),
        ([Boom()], "reading it raised ZeroDivisionError: late", "at [0]"),
    ],
)
def test_d4_what_cannot_be_stored_says_what_and_where(value: object, words: str, where: str | None) -> None:
    with pytest.raises(ValueNotStorable) as caught:
        plain(value)
    assert isinstance(caught.value, UserError)
    assert words in caught.value.message
    if where is None or not words.startswith("more than"):
        assert caught.value.where == where
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("return text, numbers")


def test_d4_two_hundred_levels_are_stored() -> None:
    value: object = "deep"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert orjson.loads(orjson.dumps(plain(value))) == value
    assert to_text(value).count("[") == MAX_DEPTH
    with pytest.raises(ValueNotStorable):
        plain([value])


def test_s4_the_form_shares_nothing_with_the_value() -> None:
    inner = [1]
    form = plain({"a": inner})
    inner.append(2)
    assert form == {"a": [1]}


ANY_TEXT = st.text(st.characters(codec=None), max_size=8)
KEYS = st.one_of(ANY_TEXT, st.integers(), st.floats(), st.none(), st.booleans(), st.dates(), st.tuples(st.integers()))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(), ANY_TEXT, st.binary(max_size=8),
    st.datetimes(timezones=st.none() | st.just(UTC)), st.dates(), st.times(), st.timedeltas(), st.decimals(),
    st.fractions(), st.uuids(), st.sampled_from([Colour.RED, Level.HIGH]), st.builds(ValueError, ANY_TEXT),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.frozensets(st.one_of(st.integers(), ANY_TEXT, st.floats(), st.dates()), max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(Point, inner, inner),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_d4_every_form_is_json_idempotent_and_the_same_each_time(value: object) -> None:
    try:
        form = plain(value)
    except ValueNotStorable as error:
        assert "two keys become" in error.message  # noqa: PT017 - the only refusal these values allow
        return
    assert orjson.loads(orjson.dumps(form)) == form
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    assert plain(form) == form
    assert json.dumps(plain(value)) == json.dumps(form)
    assert to_text(form) == to_text(value)
    to_text(value).encode("utf-8")
