"""`parse_arguments`: one clear JSON object, or an error that says what is wrong and where (C07)."""

import pytest

from lovia_cli.tools.arguments import MAX_DEPTH, parse_arguments
from lovia_cli.tools.base import ToolArgumentsError


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "{}"])
def test_c07_no_text_is_an_empty_object(text: str) -> None:
    assert parse_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (' {"a": [1, {"b": null}]} \n', {"a": [1, {"b": None}]}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ('{"e": "\\ud83d\\ude00"}', {"e": "\U0001f600"}),
        ('{"e": "a\\ud83d"}', {"e": "a\ufffd"}),
    ],
)
def test_d4_values_are_exact(text: str, value: dict[str, object]) -> None:
    assert parse_arguments(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cmd": "ls', "Unterminated string starting at: line 1, column 9 (character 8 of 11)"),
        ('{"a": 1}\n{"b": 2}', "Extra data: line 2, column 1 (character 9 of 17)"),
        ("[1]", "a JSON object is needed, not a list"),
        ("null", "a JSON object is needed, not null"),
        ('"x"', "a JSON object is needed, not a text"),
        ("true", "a JSON object is needed, not a truth value"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('{"a": -Infinity}', "-Infinity is no JSON value"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        ('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", "nest deeper than 200 levels"),
        ('{"a":' + "[" * 100_000, "nest deeper than 200 levels"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_c07_what_is_no_object_is_an_error_that_names_the_fault(text: str, said: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        parse_arguments(text)
    assert said in caught.value.message
