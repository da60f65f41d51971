"""What a scalar means in each kind of field (C39), and how problems are put together."""

import math
from inspect import get_annotations
from types import ModuleType
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from lovia_cli.agentfile import schema
from lovia_cli.errors import AgentFileError
from lovia_cli.models import script
from lovia_cli.yamlfile.fields import Boolean, Count, Json, JsonObject, Nullable, Seconds, Strict, Text
from lovia_cli.yamlfile.reader import parse_document
from lovia_cli.yamlfile.validate import validate


class Inner(Strict):
    noun: ClassVar[str] = "an inner"

    count: Count = 1


class Sheet(Strict):
    noun: ClassVar[str] = "the sheet"
    later: ClassVar[frozenset[str]] = frozenset({"colour"})

    text: Text = ""
    count: Count = 1
    seconds: Annotated[Seconds | None, Nullable] = 1.0
    flag: Boolean = False
    free: Json = None
    settings: JsonObject = Field(default_factory=dict)
    inner: Inner | None = None
    rows: list[Inner] = Field(default_factory=list)
    names: dict[Text, Inner] = Field(default_factory=dict)


def sheet(text: str) -> Sheet:
    return validate(Sheet, parse_document(text.encode(), file="f.yaml"))


def faults(text: str) -> list[str]:
    with pytest.raises(AgentFileError) as caught:
        sheet(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "written", ["no", "on", "true", "null", "~", "007", "012", "0x1F", "1e3", "3.10", "2026-01-01", "12:30", ".nan"]
)
def test_c39_text_is_what_was_written(written: str) -> None:
    assert sheet(f"text: {written}").text == written
    assert type(sheet(f"text: {written}").text) is str


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12", 12), ("-3", -3), ("3.10", 3.1), ("1e3", 1000.0), ("true", True), ("false", False), ("null", None),
        ("~", None), ("", None), ("'12'", "12"), ("'true'", "true"), ("no", "no"), ("012", "012"), ("0x1F", "0x1F"),
        ("2026-01-01", "2026-01-01"), ("12:30", "12:30"), (".nan", ".nan"), (".inf", ".inf"), ("1e400", "1e400"),
        ("True", "True"), ("18446744073709551616", 2**64), ("1_000", "1_000"), ("9" * 5000, "9" * 5000),
        ("[1, a, {b: 2}]", [1, "a", {"b": 2}]),
    ],
)  # fmt: skip
def test_c39_a_free_value_is_a_json_literal_or_text(written: str, value: Any) -> None:
    read = sheet(f"free: {written}").free
    assert read == value
    assert type(read) is type(value)
    assert sheet(f"settings: {{k: {written}}}").settings == {"k": value}


def test_numbers_and_booleans_where_the_field_is_one() -> None:
    read = sheet("count: 12\nseconds: 0.5\nflag: true\n")
    assert (read.count, read.seconds, read.flag) == (12, 0.5, True)
    assert sheet("seconds: 2").seconds == 2.0
    assert sheet("seconds: null").seconds is None
    assert sheet("seconds: ~").seconds is None


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("text: [a]", "f.yaml:1:7: 'text' needs text, got a list"),
        ("text: {a: b}", "f.yaml:1:7: 'text' needs text, got a mapping"),
        ("text:", "f.yaml:1:1: 'text' needs text, got nothing (for an empty text write \"\")"),
        ("count: 007", "f.yaml:1:8: 'count' needs a whole number, got 007"),
        ("count: 1.0", "f.yaml:1:8: 'count' needs a whole number, got 1.0"),
        ("count: '5'", "f.yaml:1:8: 'count' needs a whole number, got \"5\" (remove the quotes)"),
        ("count: true", "f.yaml:1:8: 'count' needs a whole number, got true"),
        ("count: null", "f.yaml:1:8: 'count' needs a whole number, got null"),
        ("count: 0", "f.yaml:1:8: 'count' must be 1 or more, got 0"),
        ("seconds: 12:30", "f.yaml:1:10: 'seconds' needs a number, got 12:30"),
        ("seconds: 30s", "f.yaml:1:10: 'seconds' needs a number, got 30s"),
        ("seconds: .inf", "f.yaml:1:10: 'seconds' needs a number, got .inf"),
        ("seconds: 1e400", "f.yaml:1:10: 'seconds' needs a number, got 1e400"),
        ("seconds: 0", "f.yaml:1:10: 'seconds' must be more than 0, got 0"),
        ("seconds:", "f.yaml:1:1: 'seconds' needs a number, got nothing"),
        ("flag: yes", "f.yaml:1:7: 'flag' needs true or false, got yes"),
        ("flag: 'true'", "f.yaml:1:7: 'flag' needs true or false, got \"true\""),
        ("flag: 1", "f.yaml:1:7: 'flag' needs true or false, got 1"),
        ("settings: 3", "f.yaml:1:11: 'settings' needs a mapping, got 3"),
        ("inner: x", "f.yaml:1:8: 'inner' needs a mapping, got x"),
        ("rows: {count: 1}", "f.yaml:1:7: 'rows' needs a list, got a mapping"),
        ("rows:", "f.yaml:1:1: 'rows' needs a list, got nothing"),
        ("rows: [{count: x}]", "f.yaml:1:16: 'count' needs a whole number, got x"),
        ("rows: [[]]", "f.yaml:1:8: an inner needs a mapping, got a list"),
        ("names: {a: {count: x}}", "f.yaml:1:20: 'count' needs a whole number, got x"),
        ("names: {a: {cont: 1}}", "f.yaml:1:13: unknown key 'cont' in an inner (did you mean 'count'?)"),
        ("inner: {cuont: 1}", "f.yaml:1:9: unknown key 'cuont' in an inner (did you mean 'count'?)"),
        ("inner: {flag: true}", "f.yaml:1:9: unknown key 'flag' in an inner "
         "('flag' belongs at the top level of the file; check the indentation)"),
        ("inner: {zzz: 1}", "f.yaml:1:9: unknown key 'zzz' in an inner (known: count)"),
        ("colour: red", "f.yaml:1:1: 'colour' is not there yet in this version of lovia "
         "(remove it, or use a newer lovia)"),
    ],
)  # fmt: skip
def test_c39_a_wrong_value_is_refused_at_its_place(line: str, fault: str) -> None:
    assert faults(line) == [fault]


def test_all_problems_of_a_file_come_at_once_in_its_order_with_the_readers() -> None:
    text = "flag: yes\ntxt: a\ncount: 0\ncount: 2\ninner: {count: x}\n"
    with pytest.raises(AgentFileError) as caught:
        sheet(text)
    error = caught.value
    assert [(problem.line, problem.column) for problem in error.problems] == [(1, 7), (2, 1), (3, 8), (4, 1), (5, 16)]
    assert error.where == "f.yaml"
    assert str(error) == (
        "5 errors in f.yaml:\n"
        "  f.yaml:1:7: 'flag' needs true or false, got yes\n"
        "  f.yaml:2:1: unknown key 'txt' in the sheet (did you mean 'text'?)\n"
        "  f.yaml:3:8: 'count' must be 1 or more, got 0\n"
        "  f.yaml:4:1: duplicate key 'count', first on line 3 (keep one of them)\n"
        "  f.yaml:5:16: 'count' needs a whole number, got x"
    )


def test_a_single_problem_is_the_error_itself() -> None:
    with pytest.raises(AgentFileError) as caught:
        sheet("\ntxt: a\n")
    error = caught.value
    assert (error.message, error.where, error.hint) == (
        "unknown key 'txt' in the sheet", "f.yaml:2:1", "did you mean 'text'?",
    )  # fmt: skip


def test_what_only_a_validator_can_refuse_does_not_hide_what_the_reader_did() -> None:
    with pytest.raises(AgentFileError) as caught:
        sheet("text: a\ntext: b\n")
    assert caught.value.where == "f.yaml:2:1"


def test_braces_in_a_value_are_text_in_its_error() -> None:
    assert faults("count: '{x}'") == ["f.yaml:1:8: 'count' needs a whole number, got \"{x}\""]


def test_python_values_pass_as_they_are() -> None:
    assert Sheet(text="\ud83d", count=2, seconds=3.0, flag=True, free=math.pi).text == "\ud83d"


@pytest.mark.parametrize("module", [schema, script], ids=lambda module: module.__name__)
def test_pydantic_compiles_nothing_for_a_model(module: ModuleType) -> None:
    """Annotations that are text, and factories whose signature Python has to parse, make every start slower."""
    models = [model for model in vars(module).values() if isinstance(model, type) and issubclass(model, Strict)]
    assert len(models) > 5
    assert [text for model in models for text in get_annotations(model).values() if isinstance(text, str)] == []
    factories = {field.default_factory for model in models for field in model.model_fields.values()}
    assert factories & {dict, list} == set()
