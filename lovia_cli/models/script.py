"""The script of a scripted model, as a file or Python data states it. Importing this loads pydantic.

Its annotations are no text (``from __future__ import annotations``): pydantic would have to compile each of them.
"""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, ValidationError, model_validator
from pydantic.json_schema import WithJsonSchema

from lovia_cli.errors import AgentFileError, ScriptError
from lovia_cli.yamlfile.fields import (
    Boolean,
    Count,
    CountOrZero,
    Nullable,
    SecondsOrZero,
    Strict,
    Text,
    bad,
    empty_list,
    to_json,
    wrong,
)
from lovia_cli.yamlfile.reader import MAX_BYTES, Document, Plain, read_document, unplaced
from lovia_cli.yamlfile.validate import found, validate

_MOST_JSON = 64 * 1024 * 1024

Outage = Literal["timeout", "disconnect"]


def _arguments(value: Any) -> str:
    """Text is sent exactly as it is, however broken; a mapping as compact JSON."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        from json import dumps

        return dumps(to_json(value), ensure_ascii=False, separators=(",", ":"))
    raise wrong("a mapping or text", value)


def _reasoning(value: Any) -> str | dict[str, Any]:
    if isinstance(value, dict):
        block: dict[str, Any] = to_json(value)
        if isinstance(value.get("text", ""), str):
            return block | ({"text": str(value["text"])} if "text" in value else {})
        raise bad("has a 'text' that is no text")
    if isinstance(value, str) and not (isinstance(value, Plain) and value == ""):
        return str(value)
    raise wrong("text or a mapping", value)


def _status(value: Any) -> int | Outage:
    if value == "timeout":
        return "timeout"
    if value == "disconnect":
        return "disconnect"
    number = to_json(value)
    if isinstance(number, int) and not isinstance(number, bool) and 400 <= number <= 599:
        return number
    raise wrong("an HTTP status from 400 to 599, timeout or disconnect", value)


def _failure(value: Any) -> Any:
    """``fail: timeout`` is short for ``fail: {status: timeout}``."""
    return {"status": value} if isinstance(value, str) and value != "" else value


def _entry(value: Any) -> dict[str, Any]:
    """One entry of a response as a store keeps it, checked."""
    from stores.errors import StoreError
    from stores.shapes import entry_of

    row: dict[str, Any] = to_json(value) if isinstance(value, dict) else {}
    if row.get("type") not in ("assistant_text", "reasoning", "tool_call"):
        raise wrong("a mapping whose type is assistant_text, reasoning or tool_call", value)
    try:
        entry_of(dict(row), "")
    except StoreError as error:
        raise bad(f"is no entry: {error.message}") from error
    return row


def _pattern(value: Any) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise wrong("a regular expression", value)
    try:
        return re.compile(value)
    except re.error as error:
        raise bad(f"is not a regular expression: {error}") from error


class TokenCounts(Strict):
    """The usage of a turn."""

    noun: ClassVar[str] = "usage"

    input_tokens: Annotated[CountOrZero | None, Nullable] = None
    output_tokens: Annotated[CountOrZero | None, Nullable] = None
    cache_read_tokens: Annotated[CountOrZero | None, Nullable] = None
    cache_write_tokens: Annotated[CountOrZero | None, Nullable] = None


class Call(Strict):
    """A tool call. Ids may repeat; without one the call gets ``call_<response>_<position>``."""

    noun: ClassVar[str] = "a tool call"

    name: Text
    id: Text | None = None
    arguments: Annotated[str, PlainValidator(_arguments, json_schema_input_type=dict[str, Any] | str)] = "{}"


class Failure(Strict):
    """An error instead of an answer, the first ``times`` times in a process."""

    noun: ClassVar[str] = "fail"

    status: Annotated[int | Outage, PlainValidator(_status, json_schema_input_type=int | Outage)]
    times: Count = 1
    code: Text = ""
    message: Text = ""


class Turn(Strict):
    """One response."""

    noun: ClassVar[str] = "a turn"

    reasoning: Annotated[
        str | dict[str, Any] | None, PlainValidator(_reasoning, json_schema_input_type=str | dict[str, Any])
    ] = None
    text: Text | None = None
    tool_calls: list[Call] = Field(default_factory=empty_list)
    entries: list[Annotated[dict[str, Any], PlainValidator(_entry, json_schema_input_type=dict[str, Any])]] = Field(
        default_factory=empty_list
    )
    """The whole response as a store keeps it, in place of reasoning, text and tool_calls."""
    usage: Annotated[TokenCounts | None, Nullable] = None
    finish_reason: Text | None = None
    delay: SecondsOrZero = 0.0
    """Seconds until the last piece, spread evenly over the pieces."""
    chunks: Count = 1
    cut_after: CountOrZero | None = None
    fail: Annotated[Failure | None, BeforeValidator(_failure, json_schema_input_type=Failure | Outage)] = None

    @model_validator(mode="after")
    def _cut_is_within(self) -> Self:
        if self.cut_after is not None and self.cut_after > self.chunks:
            raise bad(f"is cut after {self.cut_after} of {self.chunks} pieces", "raise 'chunks'")
        return self

    @model_validator(mode="after")
    def _says_it_once(self) -> Self:
        if self.entries and (self.reasoning is not None or self.text is not None or self.tool_calls):
            raise bad("has 'entries' and says the same in other fields too", "keep one of them")
        return self


class Case(Turn):
    """A turn for when the messages since the last response match; without ``when`` it always does."""

    noun: ClassVar[str] = "a case"

    when: Annotated[
        re.Pattern[str] | None, PlainValidator(_pattern), WithJsonSchema({"type": "string", "format": "regex"})
    ] = None


class Cases(Strict):
    """A turn that depends on what was said."""

    noun: ClassVar[str] = "a turn with cases"

    cases: Annotated[list[Case], Field(min_length=1)]


def _turn_tag(value: Any) -> str:
    return "(cases)" if isinstance(value, Cases) or (isinstance(value, dict) and "cases" in value) else "(turn)"


class Script(Strict):
    """The whole script; the N-th turn answers an agent's N-th response in the run."""

    noun: ClassVar[str] = "the script"
    later: ClassVar[frozenset[str]] = frozenset({"summary"})

    log: Annotated[Text | None, Nullable] = None
    turns: Annotated[
        list[Annotated[Annotated[Turn, Tag("(turn)")] | Annotated[Cases, Tag("(cases)")], Discriminator(_turn_tag)]],
        Field(min_length=1),
    ]
    loop: Boolean = False


def load_script(path: Path, *, shown_as: str | None = None) -> Script:
    """The script in a file. Raises `AgentFileError` with places; ``shown_as`` is the name used in them.

    A file that is JSON, as `lovia export` writes it, may be long; what is wrong in it is placed as in YAML.
    """
    data, size = _json_in(path)
    if data is not None:
        try:
            return Script.model_validate(data)
        except ValidationError as error:
            if size > MAX_BYTES:
                problem = _problem(data, error)
                raise AgentFileError(problem.message, where=shown_as or str(path), hint=problem.hint) from error
    return validate(Script, read_document(path, shown_as=shown_as))


def _json_in(path: Path) -> tuple[Any, int]:
    """The object in a file that is JSON through and through, and the file's size; None for any other."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_JSON:
            return None, 0
        text = path.read_bytes()
        if not text.lstrip().startswith(b"{"):
            return None, 0
        from json import loads

        return loads(text, object_pairs_hook=_once, parse_constant=_no_constant), len(text)
    except (OSError, ValueError, RecursionError):
        return None, 0


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def script_from(turns: list[Any], *, loop: bool, log: str | None) -> Script:
    """The script that Python data states; a text is a turn that says it. Raises `ScriptError`."""
    data: dict[str, Any] = {"turns": [{"text": turn} if isinstance(turn, str) else turn for turn in turns]}
    data |= {"loop": loop, "log": log}
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        raise _problem(data, error) from error


def _problem(data: dict[str, Any], error: ValidationError) -> ScriptError:
    """The first thing that is wrong in data that has no lines."""
    problem = found(Script, Document("script", unplaced(data)), error)[0]
    place = ".".join(str(part) for part in error.errors()[0]["loc"] if not str(part).startswith("("))
    return ScriptError(f"{problem.message} (at {place}, from 0)", hint=problem.hint)
