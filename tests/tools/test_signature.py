"""The schema of a Python tool and the check of its arguments."""

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema
import pydantic
import pytest
from pydantic import Field
from typing_extensions import TypedDict

from lovia_cli.errors import AgentFileError
from lovia_cli.tools.base import ToolArgumentsError, ToolContext
from lovia_cli.tools.python import PythonTool, python_tool
from tests.tools.kit import make_context


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Address(pydantic.BaseModel):
    street: str
    number: int = 1


@dataclasses.dataclass
class Guest:
    name: str


class Extras(TypedDict):
    breakfast: bool


def google(city: str, days: int = 3) -> str:
    """Plan a trip
    to a city.

    It does not book anything.

    Args:
        city: Where to go,
            by name.
        days (int): How long.

    Returns:
        The plan.
    """
    return f"{city}/{days}"


def numpy_style(city: str, days: int = 3) -> None:
    """Plan a trip to a city.

    Parameters
    ----------
    city : str
        Where to go, by name.
    days : int
        How long.
    """


def sphinx(city: str, days: int = 3) -> None:
    """Plan a trip to a city.

    :param city: Where to go, by name.
    :param days: How long.
    """


@pytest.mark.parametrize("function", [google, numpy_style, sphinx])
def test_the_schema_is_of_signature_and_docstring(function: Callable[..., Any]) -> None:
    spec = python_tool(function).spec
    assert spec.name == function.__name__
    assert spec.description == "Plan a trip to a city."
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where to go, by name."},
            "days": {"type": "integer", "default": 3, "description": "How long."},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_function_without_arguments_or_docstring() -> None:
    def now() -> str:
        return "noon"

    spec = python_tool(now).spec
    assert spec.description == ""
    assert spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def everything(
    address: Address,
    guests: list[Guest],
    extras: Extras,
    size: Size = Size.SMALL,
    kind: Literal["room", "flat"] = "room",
    note: str | None = None,
    nights: Annotated[int, Field(ge=1, description="At least one.")] = 1,
    rate: float = Field(default=1.5, description="Of the day."),
    schema: str = "clashes with pydantic",
    model_dump: str = "",
    _hidden: bool = False,
) -> dict[str, Any]:
    """Book.

    Args:
        nights: The docstring's word, which gives way.
        schema: A name of pydantic's own.
    """
    return dict(locals())


def test_types_have_their_schema() -> None:
    schema = python_tool(everything).spec.parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    properties = schema["properties"]
    assert list(properties) == [
        "address", "guests", "extras", "size", "kind", "note", "nights", "rate", "schema", "model_dump", "_hidden",
    ]  # fmt: skip
    assert schema["required"] == ["address", "guests", "extras"]
    assert properties["kind"] == {"type": "string", "enum": ["room", "flat"], "default": "room"}
    assert properties["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert properties["nights"] == {"type": "integer", "minimum": 1, "default": 1, "description": "At least one."}
    assert properties["rate"] == {"type": "number", "default": 1.5, "description": "Of the day."}
    assert properties["schema"]["description"] == "A name of pydantic's own."
    assert set(schema["$defs"]) == {"Address", "Guest", "Extras", "Size"}


@pytest.mark.anyio
async def test_arguments_arrive_as_the_annotated_types() -> None:
    seen: dict[str, Any] = {}

    @functools.wraps(everything)
    def spy(**kwargs: Any) -> None:
        seen.update(kwargs)

    tool = python_tool(spy)
    arguments = {"address": {"street": "A"}, "guests": [{"name": "Bo"}], "extras": {"breakfast": True}, "size": "l"}
    await tool.call(arguments, make_context())
    assert seen == {
        "address": Address(street="A"),
        "guests": [Guest("Bo")],
        "extras": {"breakfast": True},
        "size": Size.LARGE,
        "rate": 1.5,
    }  # what Python supplies itself is left to Python


@pytest.mark.anyio
async def test_a_default_that_json_cannot_hold_stays_the_same_object() -> None:
    missing = object()

    def look(city: str = missing) -> bool:  # type: ignore[assignment]  # a sentinel
        return city is missing

    tool = python_tool(look)
    assert tool.spec.parameters["properties"] == {"city": {"type": "string"}}
    assert await tool.call({}, make_context()) is True


@pytest.mark.anyio
async def test_the_context_is_given_and_is_not_in_the_schema() -> None:
    def by_type(where: ToolContext, city: str) -> str:
        where.state["city"] = city
        return where.idempotency_key

    def by_name(ctx, city: str) -> str:  # type: ignore[no-untyped-def]  # as users write it
        return str(ctx.call_id)

    def optional(city: str, where: ToolContext | None = None) -> str:
        assert where is not None
        return where.run_id

    context = make_context()
    for function, result in ((by_type, "run-1/2.3"), (by_name, "call_a"), (optional, "run-1")):
        tool = python_tool(function)
        assert list(tool.spec.parameters["properties"]) == ["city"]
        assert await tool.call({"city": "Rome"}, context) == result
    assert context.state == {"city": "Rome"}


def test_bad_arguments_are_listed_one_line_each() -> None:
    tool = python_tool(everything)
    with pytest.raises(ToolArgumentsError) as caught:
        tool.check({"address": {"number": "many"}, "guests": [], "nights": 0, "colour": "x" * 200, "kind": ["a"]})
    assert caught.value.message.splitlines() == [
        "the arguments of everything do not fit:",
        "- address.street: is required",
        '- address.number: Input should be a valid integer, unable to parse string as an integer (got "many")',
        "- extras: is required",
        "- kind: Input should be 'room' or 'flat' (got [\"a\"])",
        "- nights: Input should be greater than or equal to 1 (got 0)",
        "- colour: unknown argument; the tool takes address, guests, extras, size, kind, note, nights, rate, schema, "
        "model_dump, _hidden",
    ]  # fmt: skip


def test_a_long_wrong_value_is_quoted_in_part() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        python_tool(google).check({"city": ["x" * 500]})
    assert len(caught.value.message.splitlines()[1]) < 160


def test_a_value_of_any_depth_is_an_arguments_error() -> None:
    value: object = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(ToolArgumentsError, match=r"- city: Input should be a valid string \(got a list\)"):
        python_tool(google).check({"city": value})


def test_z7_the_default_of_a_set_has_one_order() -> None:
    def pick(of: set[str] = frozenset("hgfedcba")) -> None: ...  # type: ignore[assignment]

    assert python_tool(pick).spec.parameters["properties"]["of"]["default"] == list("abcdefgh")


def test_a_validator_that_fails_is_an_arguments_error() -> None:
    def broken(value: str) -> str:
        raise KeyError(value)

    def look(city: Annotated[str, pydantic.AfterValidator(broken)]) -> None: ...

    with pytest.raises(ToolArgumentsError, match="KeyError: 'Rome'"):
        python_tool(look).check({"city": "Rome"})


def stars(*cities: str) -> None: ...


def double_stars(**cities: str) -> None: ...


def positional(city: str, /) -> None: ...


class Socket:
    pass


def opaque(city: str, link: Socket) -> None: ...


def callback(then: Callable[[], None]) -> None: ...


def unknown(city: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - it is the point


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (stars, "stars cannot be a tool: it takes *cities, which has no JSON Schema"),
        (double_stars, "double_stars cannot be a tool: it takes **cities, which has no JSON Schema"),
        (positional, "positional cannot be a tool: its argument city is positional-only"),
        (opaque, "opaque cannot be a tool: its argument link has a type without a JSON Schema"),
        (callback, "callback cannot be a tool: its argument then has a type without a JSON Schema"),
        (unknown, "unknown cannot be a tool: its signature cannot be read: name 'Nowhere' is not defined"),
    ],
)
def test_a_signature_that_json_cannot_call_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(AgentFileError) as caught:
        python_tool(function)
    assert caught.value.message.startswith(words)
    assert caught.value.where == f"{__file__}:{function.__code__.co_firstlineno}"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "two words"}, "'two words' cannot be a tool's name"),
        ({"name": "x" * 65}, "cannot be a tool's name"),
        ({"timeout": 0}, "the timeout of google is 0"),
        ({"timeout": float("nan")}, "the timeout of google is nan"),
        ({"on_resume": "never"}, "on_resume of google is 'never'"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentFileError) as caught:
        python_tool(google, **options)
    assert words in caught.value.message


class Counter:
    """Count things."""

    def __call__(self, up_to: int) -> list[int]:
        return list(range(up_to))


def test_callables_of_other_kinds_are_tools() -> None:
    counter = python_tool(Counter())
    assert (counter.spec.name, counter.spec.description) == ("Counter", "Count things.")
    short = python_tool(functools.partial(google, days=1))
    assert (short.spec.name, short.spec.description) == ("google", "Plan a trip to a city.")
    assert isinstance(short, PythonTool)
    assert short("Rome") == "Rome/1"
