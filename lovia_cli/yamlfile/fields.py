"""The types of fields in a file that people write: each says what a scalar means there (C39).

Text is what was written, quotes or not. Numbers and booleans must be written without quotes and in full:
``on``, ``012`` and ``12:30`` are neither. Values that came from Python rather than from a file pass as they are.
Importing this module loads pydantic.
"""

import math
import re
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, PlainValidator
from pydantic_core import PydanticCustomError

from lovia_cli.yamlfile.plugins import without_plugins
from lovia_cli.yamlfile.reader import Plain

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NULL = frozenset({"", "~", "null"})
_BOOLEAN = {"true": True, "false": False}


class Strict(BaseModel):
    """A mapping in a file: exact types and no unknown keys.

    ``later`` names keys that lovia will have and this version has not; ``noun`` is what errors call the mapping.
    """

    # Each validator is built when it is first used; docstrings are read when somebody asks for the schema.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)
    later: ClassVar[frozenset[str]] = frozenset()
    noun: ClassVar[str] = "this"

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:
        """Build the validator, as pydantic does; it has none of the plugins that may be installed."""
        with without_plugins():
            return super().model_rebuild(**options)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema, with what the docstring below a field says."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        for name, text in field_docstrings(cls).items():
            schema["properties"][name].setdefault("description", text)
        return schema


def field_docstrings(model: type[Strict]) -> dict[str, str]:
    """The texts that stand below fields of a model, by field; those of the models it is made of, too."""
    import ast
    import inspect
    from itertools import pairwise
    from textwrap import dedent

    found: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, Strict) and part is not Strict:
            [definition] = ast.parse(dedent(inspect.getsource(part))).body
            for statement, after in pairwise(getattr(definition, "body", ())):
                match statement, after:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[name] = inspect.cleandoc(text)
    return {name: text for name, text in found.items() if name in model.model_fields}


def empty_list() -> list[Any]:
    """A default. pydantic asks for its factory's signature, and to tell that of ``list`` Python needs its tokenizer."""
    return []


def empty_dict() -> dict[str, Any]:
    """See `empty_list`."""
    return {}


def describe(value: object) -> str:
    """What stands there, for an error: short, and in the words of the file."""
    if value is None or (isinstance(value, Plain) and value == ""):
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        shown = value if len(value) <= 40 else value[:40] + "…"
        return shown if isinstance(value, Plain) else f'"{shown}"'
    return repr(value)


def wrong(needed: str, value: object, hint: str = "", *, at: str = "") -> PydanticCustomError:
    """The error of a field that ``needed`` something else than ``value``."""
    return bad(f"needs {needed}, got {describe(value)}", hint, at=at)


def bad(text: str, hint: str = "", *, at: str = "") -> PydanticCustomError:
    """The error of a field whose value has the right type and is wrong all the same; of its key ``at``, if given."""
    return PydanticCustomError("field", "{text}", {"text": text, "hint": hint, "at": at})


def to_json(value: Any) -> Any:
    """A free value: unquoted JSON numbers, ``true``, ``false`` and ``null`` are that, all else is text.

    So a date stays text (C17), and ``012`` too, which is no JSON number.
    """
    if isinstance(value, dict):
        return {str(key): to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if not isinstance(value, Plain):
        return value
    if value in _NULL:
        return None
    if value in _BOOLEAN:
        return _BOOLEAN[value]
    return _number(value) if _NUMBER.fullmatch(value) else str(value)


def _number(text: str) -> int | float | str:
    """The number of a JSON number's text; the text itself where Python has no such number."""
    try:
        number = int(text) if _INTEGER.fullmatch(text) else float(text)
    except ValueError:  # more digits than Python converts
        return str(text)
    return number if math.isfinite(number) else str(text)


def _text(value: Any) -> str:
    if not isinstance(value, str) or (isinstance(value, Plain) and value == ""):
        raise wrong("text", value, 'for an empty text write ""' if isinstance(value, Plain) else "")
    return str(value)


def _integer(value: Any) -> Any:
    number = _number(value) if isinstance(value, Plain) and _INTEGER.fullmatch(value) else value
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    raise wrong("a whole number", value, _unquote(value, _INTEGER))


def _float(value: Any) -> Any:
    number = _number(value) if isinstance(value, Plain) and _NUMBER.fullmatch(value) else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        return number
    raise wrong("a number", value, _unquote(value, _NUMBER))


def _boolean(value: Any) -> Any:
    if isinstance(value, Plain):
        value = _BOOLEAN.get(value, value)
    if isinstance(value, bool):
        return value
    raise wrong("true or false", value)


def _unquote(value: Any, pattern: re.Pattern[str]) -> str:
    quoted = isinstance(value, str) and not isinstance(value, Plain)
    return "remove the quotes" if quoted and pattern.fullmatch(value) else ""


def _null(value: Any) -> Any:
    """``null`` and ``~`` say "none"; a key with nothing behind it is more likely a mistake and stays one."""
    return None if isinstance(value, Plain) and value in ("null", "~") else value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong("a mapping", value)
    result: dict[str, Any] = to_json(value)
    return result


Text = Annotated[str, PlainValidator(_text, json_schema_input_type=str)]
# A plain validator rather than pydantic's own: that one refuses text with lone surrogates, which a
# scripted model built in Python must be able to say (C15).

Boolean = Annotated[bool, BeforeValidator(_boolean)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_integer)]
CountOrZero = Annotated[int, Field(ge=0), BeforeValidator(_integer)]
Seconds = Annotated[float, Field(gt=0), BeforeValidator(_float)]
SecondsOrZero = Annotated[float, Field(ge=0), BeforeValidator(_float)]
Nullable = BeforeValidator(_null)
Json = Annotated[Any, PlainValidator(to_json, json_schema_input_type=Any)]
JsonObject = Annotated[dict[str, Any], PlainValidator(_object, json_schema_input_type=dict[str, Any])]
