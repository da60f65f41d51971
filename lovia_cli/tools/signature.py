"""A function's arguments as a JSON Schema, and a call's JSON as the function's arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from lovia_cli.errors import AgentFileError
from lovia_cli.tools.base import ToolArgumentsError, ToolContext
from stores.entries import JSON
from stores.values import ValueNotStorable, exception_text, plain, to_text

if TYPE_CHECKING:
    import pydantic

CONTEXT_NAME = "ctx"
_SHOWN = 80  # characters of a wrong value that its error message quotes
_LINE = 500  # and of a whole line of it


@dataclass(slots=True, frozen=True)
class Doc:
    """What a docstring says: its first paragraph, and a line for each argument."""

    description: str
    arguments: dict[str, str]


def read_doc(function: Callable[..., Any]) -> Doc:
    """The docstring in Google, NumPy, Sphinx or Epydoc style; an empty `Doc` where there is none."""
    import docstring_parser

    text = inspect.getdoc(undecorated(function)) or ""
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:  # a docstring of no known style is its description
        return Doc(_one_line(text.partition("\n\n")[0]), {})
    arguments = {
        name.strip().lstrip("*"): _one_line(row.description)
        for row in parsed.params
        if row.description
        for name in row.arg_name.split(",")
    }
    return Doc(_one_line((parsed.description or "").partition("\n\n")[0]), arguments)


class Arguments:
    """The arguments that a function takes.

    ``schema`` is a JSON Schema of an object. Arguments annotated with `ToolContext`, or named ``ctx``,
    are not in it: they receive the call's context. Raises `AgentFileError` for a signature that JSON
    cannot call, naming the argument.
    """

    def __init__(self, function: Callable[..., Any], *, name: str, where: str, described: dict[str, str]) -> None:
        self._tool = name
        self._where = where
        parameters = self._parameters(function)
        self._context = [p.name for p in parameters if _takes_context(p)]
        self._taken = [p for p in parameters if not _takes_context(p)]
        self._model = self._build(self._taken, described)
        self.schema: dict[str, JSON] = self._json_schema(self._model)

    def bind(self, arguments: dict[str, JSON], context: ToolContext | None = None) -> dict[str, Any]:
        """The keyword arguments of the call, converted to the annotated types.

        Raises `ToolArgumentsError` with one line for each argument that does not fit.
        """
        import pydantic

        try:
            bound = self._model.model_validate(arguments)
        except pydantic.ValidationError as error:
            problems = [self._problem(row) for row in error.errors(include_url=False, include_context=False)]
            raise self._misfit(problems) from error
        except Exception as error:  # a validator of the user's own that failed
            raise self._misfit([exception_text(error)]) from error
        values = {
            p.name: getattr(bound, _field(index))
            for index, p in enumerate(self._taken)
            if _field(index) in bound.model_fields_set or not _has_own_default(p)
        }
        return values | dict.fromkeys(self._context, context)

    def _parameters(self, function: Callable[..., Any]) -> list[inspect.Parameter]:
        try:
            parameters = list(inspect.signature(function, eval_str=True).parameters.values())
        except (ValueError, TypeError, NameError, AttributeError, SyntaxError) as error:
            raise self._unfit(f"its signature cannot be read: {error}") from error
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
                raise self._unfit(f"it takes {stars}{p.name}, which has no JSON Schema", "name each argument")
            if p.kind is p.POSITIONAL_ONLY:
                raise self._unfit(f"its argument {p.name} is positional-only", "remove the / from its signature")
        return parameters

    def _build(self, taken: list[inspect.Parameter], described: dict[str, str]) -> type[pydantic.BaseModel]:
        import pydantic

        model: type[pydantic.BaseModel]
        fields: dict[str, Any] = {}
        for index, p in enumerate(taken):
            annotation = _annotation(p, described.get(p.name))
            fields[_field(index)] = (annotation, p.default) if _has_own_default(p) else annotation
        try:
            model = pydantic.create_model(self._tool, __config__=pydantic.ConfigDict(extra="forbid"), **fields)
            self._json_schema(model)
        except Exception as error:  # pydantic refuses a type in many ways, and imports the user's own code for it
            raise self._no_schema(error, taken, described) from error
        return model

    def _no_schema(self, error: Exception, taken: list[inspect.Parameter], described: dict[str, str]) -> AgentFileError:
        """The error for the first argument that has no schema by itself."""
        if len(taken) > 1:
            for p in taken:
                self._build([p], described)
            return self._unfit(f"its arguments have no JSON Schema: {plain(error)}")
        kind = inspect.formatannotation(taken[0].annotation)
        hint = "use types that JSON can hold: text, numbers, lists, dicts, dataclasses, pydantic models"
        if getattr(error, "code", None) == "typed-dict-version":
            hint = "import TypedDict from typing_extensions; before Python 3.12 that of typing lacks what is needed"
        return self._unfit(f"its argument {taken[0].name} has a type without a JSON Schema: {kind}", hint)

    @staticmethod
    def _json_schema(model: type[pydantic.BaseModel]) -> dict[str, JSON]:
        from pydantic.json_schema import GenerateJsonSchema

        class Quiet(GenerateJsonSchema):
            """Without a title for each argument, and without a warning for a default that JSON cannot hold."""

            ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's

            def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's name
                return False

            def encode_default(self, dft: Any) -> Any:
                """A set has no order of its own; the fingerprint of the schema needs one (Z7)."""
                return plain(dft) if isinstance(dft, (set, frozenset)) else super().encode_default(dft)

        schema = model.model_json_schema(schema_generator=Quiet)
        schema.pop("title", None)
        schema.setdefault("properties", {})
        return schema

    def _problem(self, row: Any) -> str:
        """One line of an error report: which argument, and what is wrong with it."""
        place = ".".join(str(part) for part in row["loc"]) or "arguments"
        if row["type"] == "missing":
            return f"{place}: is required"
        if row["type"] == "extra_forbidden" and len(row["loc"]) == 1:
            return f"{place}: unknown argument; {takes(p.name for p in self._taken)}"
        return f"{place}: {_one_line(row['msg'])} (got {_quote(row['input'])})"

    def _misfit(self, problems: list[str]) -> ToolArgumentsError:
        return misfit(self._tool, problems)

    def _unfit(self, why: str, hint: str | None = None) -> AgentFileError:
        return AgentFileError(f"{self._tool} cannot be a tool: {why}", where=self._where, hint=hint)


def undecorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind ``functools.partial`` and ``functools.wraps``, which has the name and the docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    inner: Callable[..., Any] = inspect.unwrap(function)
    return inner


def misfit(tool: str, problems: list[str]) -> ToolArgumentsError:
    """The error for a call whose arguments do not fit; ``problems`` has a line for each."""
    lines = "\n".join(f"- {_short(line, _LINE)}" for line in problems)
    return ToolArgumentsError(f"the arguments of {tool} do not fit:\n{lines}")


def takes(names: Iterable[str]) -> str:
    """What an error about an unknown argument adds."""
    known = ", ".join(names)
    return f"the tool takes {known}" if known else "the tool takes none"


def _field(index: int) -> str:
    """The model's own name for an argument: no name a function uses can clash with pydantic's."""
    return f"argument_{index}"


def _annotation(p: inspect.Parameter, description: str | None) -> Any:
    """The argument's type for pydantic, its own `Field` metadata winning over the docstring."""
    import pydantic

    base: Any = Any if p.annotation is p.empty else p.annotation
    before = [pydantic.Field(description=description)] if description else []
    own: list[Any] = []
    if get_origin(base) is Annotated:
        base, own = base.__origin__, list(base.__metadata__)
    if p.default is not p.empty and not _has_own_default(p):
        own.append(p.default)
    return Annotated[(base, *before, *own, pydantic.Field(alias=p.name, validation_alias=p.name))]


def _has_own_default(p: inspect.Parameter) -> bool:
    """True when Python supplies the default; one that stands in pydantic's ``Field(...)`` it cannot."""
    from pydantic.fields import FieldInfo

    return p.default is not p.empty and not isinstance(p.default, FieldInfo)


def _takes_context(p: inspect.Parameter) -> bool:
    return p.name == CONTEXT_NAME or ToolContext in (p.annotation, *get_args(p.annotation))


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _quote(value: Any) -> str:
    try:
        text = _one_line(_json_text(value))
    except ValueNotStorable:  # deeper than what is ever shown
        return f"a {type(value).__name__}"
    return _short(text, _SHOWN)


def _short(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."


def _json_text(value: Any) -> str:
    """JSON, so that the text "3" and the number are told apart."""
    return to_text([value])[1:-1]
