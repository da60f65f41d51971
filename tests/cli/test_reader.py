"""The two readers of a command line: what `lovia_cli.cli.reader` takes is what typer would have made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from lovia_cli.cli.options import parameters
from lovia_cli.cli.parameters import Option
from lovia_cli.cli.parser import Verbs
from lovia_cli.cli.reader import NotPlain, read
from lovia_cli.cli.verbs import TOP, Verb
from tests.cli.lovia import Lovia
from tests.cli.verbs import all_verbs

VERBS = sorted(all_verbs())


def plainly(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The values of a verb as they are read without typer; None where it gives up."""
    verb = found(name)
    try:
        return read(parameters(verb.function), words).values
    except NotPlain:
        return None


def found(name: str) -> Verb:
    verb = TOP
    for word in name.split():
        verb = verb.below[word]()
    return verb


def by_typer(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The values as typer reads them; None where it refuses, or prints a help."""
    first, *inner = name.split()
    command = Verbs(name="lovia").get_command(None, first)
    for word in inner:
        command = command.commands[word]
    try:
        values = command.make_context(name, list(words)).params
    except (typer.TyperException, typer.Exit):
        return None
    # Lists are tuples there until the function is called, and an empty one stands for none.
    return {key: (list(value) or None) if isinstance(value, tuple) else value for key, value in values.items()}


WORDS = st.sampled_from(["1", "1=2", "r1", "", "-", "-1", "0.5", " 7 ", "1_0", "nan", "--", "é b"])


@st.composite
def lines(draw: st.DrawFn, name: str) -> list[str]:
    """A command line of a verb, most often a right one: a few of its options, again and again, and words in between."""
    options: list[Any] = [one for one in parameters(found(name).function) if isinstance(one.declared, Option)]
    chosen = draw(st.lists(st.sampled_from(options), min_size=1, max_size=2))
    line: list[str] = []
    for _ in range(draw(st.integers(0, 5))):
        one = draw(st.sampled_from(chosen))
        option, word = draw(st.sampled_from(one.declared.names)), draw(WORDS)
        parts = (
            [[option, word], [f"{option}={word}"], [f"{option}{word}"]] if one.takes_value else [[option], [option * 2]]
        )
        line += draw(st.sampled_from([*parts, *parts, [word], ["--nosuch"], [f"-x{option}"]]))
    return line


@pytest.mark.parametrize("name", VERBS)
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_what_is_read_plainly_is_read_to_the_same_by_typer(name: str, data: st.DataObject) -> None:
    words = data.draw(lines(name))
    plain = plainly(name, words)
    if plain is not None:
        known = by_typer(name, words)
        assert known is not None, words
        assert repr(sorted(known.items())) == repr(sorted(plain.items())), words  # as text: nan is not equal to itself


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("history", "-qv u1 -n5 --since=7d --json", {"name": "u1", "number": 5, "since": "7d", "verbose": 1}),
        ("history", "-ojson -vv -- -x", {"name": "-x", "output": "json", "verbose": 2}),
        ("show", "r1 --step 1 --step 2 --raw", {"name": "r1", "step": 2, "raw": True}),
        ("run", "a.yaml -p a=b --var c=d --max-cost .5", {"var": ["a=b", "c=d"], "max_cost": 0.5}),
        ("run", "--session --last -", {"session": "--last", "first": "-"}),
        ("validate", "a.yaml -o github b.yaml", {"files": ["a.yaml", "b.yaml"], "output": "github"}),
    ],
)
def test_ordinary_lines_are_plain(name: str, line: str, expected: dict[str, Any]) -> None:
    values = plainly(name, line.split())
    assert values is not None
    assert {key: values[key] for key in expected} == expected


@pytest.mark.parametrize(
    "line",
    ["--help", "u1 -h", "--nosuch", "u1 u2", "-n x", "-n", "--json=1", "--jso", "-qx", "--since"],
)
def test_what_is_not_plain_is_left_to_typer(line: str) -> None:
    assert plainly("history", line.split()) is None


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["--store", "run", "validate", "agent.yaml", "-o", "github"], 0, ""),
        (["--store", "validate", "history", "-o", "github"], 2, "unknown output 'github'"),
        (["--store", "run", "history", "nosuch"], 5, "no run or session 'nosuch'"),
        (["--json"], 2, "missing command"),
        (["--"], 2, "missing command"),
    ],
)
def test_the_verb_is_the_one_that_is_read_and_not_a_value_of_that_name(
    lovia: Lovia, line: list[str], code: int, said: str
) -> None:
    lovia.agent([{"text": "hi"}])
    ran = lovia(*line)
    assert (ran.code, said in ran.err) == (code, True), ran
