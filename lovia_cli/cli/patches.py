"""The options of ``lovia fork`` that change something, as the patch they make (H2)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lovia_cli.errors import UserError

if TYPE_CHECKING:
    from lovia_cli.engine.patching import Patch

MOST_BYTES = 256 * 1024 * 1024
_NOT_JSON = object()


def patch_given(
    messages: str | None, state: str | None, tool_results: list[str] | None, append_input: str | None
) -> Patch:
    """The four options, read: ``JSON`` or ``@FILE``. Raises `UserError` with the option that is wrong."""
    from lovia_cli.engine.patching import Patch

    return Patch(
        messages=None if messages is None else _messages(messages),
        state=None if state is None else _state(state),
        tool_results=[_tool_result(one) for one in tool_results or ()],
        append_input=append_input if append_input and not append_input.isspace() else "",
    )


def _state(given: str) -> dict[str, Any]:
    value = _value(given, "--state")
    if not isinstance(value, dict):
        raise UserError("--state takes a JSON object", where="--state", hint="""write: --state '{"budget": 100}'""")
    return value


def _tool_result(given: str) -> tuple[str, Any]:
    """``CALL=JSON``: split at the first ``=`` after which JSON or ``@FILE`` follows, for an id may hold one too."""
    for index, character in enumerate(given):
        if character != "=":
            continue
        name, text = given[:index], given[index + 1 :]
        value = _value(text, "--tool-result") if name and text.startswith("@") else _json_or_not(text)
        if value is not _NOT_JSON:
            if not name:
                break
            return name, value
    raise UserError(
        f"--tool-result takes CALL=JSON or CALL=@FILE, not {given!r:.200}",
        where="--tool-result",
        hint="""text is JSON too, in quotes: --tool-result call_1='"rain"'""",
    )


def _messages(given: str) -> list[Any]:
    """A list of entries or messages, the same one a line, or what ``lovia show -o json`` prints."""
    if not given.startswith("@"):
        raise UserError("--messages takes a file", where="--messages", hint="write: --messages @FILE")
    text = _text(given[1:], "--messages")
    value = _json_or_not(text)
    if value is _NOT_JSON:
        value = [_json_or_not(line) for line in text.splitlines() if line.strip()]
        bad = next((number for number, one in enumerate(value, 1) if one is _NOT_JSON), None)
        if bad is not None:
            hint = "write a JSON list of entries, or one a line, as `lovia show RUN --raw` prints them"
            raise UserError(f"line {bad} is not JSON", where=given[1:], hint=hint)
    if isinstance(value, dict):
        value = value.get("entries", [value])
    if not isinstance(value, list):
        raise UserError("the file holds no list of messages", where=given[1:], hint="write a JSON list of entries")
    return value


def _value(given: str, option: str) -> Any:
    text = _text(given[1:], option) if given.startswith("@") else given
    try:
        return _json(text)
    except ValueError as error:
        where = given[1:] if given.startswith("@") else option
        raise UserError(f"not JSON: {error}", where=where, hint="""text is JSON too, in quotes: '"rain"'""") from error


def _text(file: str, option: str) -> str:
    try:
        with open(file, "rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"the file cannot be read: {reason}", where=file or option, hint="check the path") from error
    if len(data) > MOST_BYTES:
        raise UserError("the file is larger than 256 MB", where=file, hint="take a smaller one")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("the file is not UTF-8", where=file, hint="write it as UTF-8") from error


def _json_or_not(text: str) -> Any:
    """The value, or `_NOT_JSON`."""
    try:
        return _json(text)
    except ValueError:
        return _NOT_JSON


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")
