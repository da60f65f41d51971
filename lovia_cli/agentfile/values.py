"""The checks of single values in an agent file, for the fields of `lovia_cli.agentfile.schema`."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationInfo

from lovia_cli.agentfile import later
from lovia_cli.yamlfile.fields import bad, describe, to_json, wrong
from lovia_cli.yamlfile.reader import Plain
from lovia_cli.yamlfile.validate import near

PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_DOTTED = re.compile(r"(?<!\\)\$\{([A-Za-z_][A-Za-z0-9_]*\.[^}]*)(\}?)")
"""What looks like one of ours. No shell has a dot there, so that its own ``${x}`` is none."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOOL_TYPES = ("python", "shell")
_KINDS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "string": ("text", str),
    "integer": ("a whole number", int),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", bool),
}


def visible(value: str) -> str:
    """Not blank, and nothing that a terminal would obey."""
    if not value.strip() or not value.isprintable():
        raise bad("must not be blank or hold control characters")
    return value


def tool_name(value: str) -> str:
    """What every provider accepts as a tool's name."""
    if not _TOOL_NAME.fullmatch(value):
        raise bad("must be 1 to 64 letters, digits, _ or -")
    return value


def identifier(value: str) -> str:
    """A name that ``{{ name }}``, ``${args.name}`` and a shell's variable can hold."""
    if not _IDENTIFIER.fullmatch(value):
        raise bad("cannot be a name here", "start with a letter, then letters, digits or _")
    return value


def environment_value(value: str) -> str:
    """Text with ``${env.NAME}`` in it; any other ``${...}`` is a slip that no shell would ever see."""
    for inner in PLACEHOLDER.findall(value):
        name = inner.removeprefix("env.")
        if not inner.startswith("env.") or not _IDENTIFIER.fullmatch(name):
            hint = "${args.NAME} belongs in 'command'" if inner.startswith("args.") else "write ${env.NAME}"
            raise bad(f"cannot hold ${{{inner}}}", hint)
    if "${" in PLACEHOLDER.sub("", value):
        raise bad("has a ${ that is never closed", "write ${env.NAME}")
    return value


def command_text(value: str) -> str:
    """Text with ``${args.NAME}`` in it; another ``${x.y}`` would reach the command as it stands."""
    for inner, closed in _DOTTED.findall(value):
        if not closed:
            raise bad("has a ${ that is never closed", "write ${args.NAME}")
        if not inner.startswith("args."):
            hint = "${env.NAME} belongs in 'env'" if inner.startswith("env.") else "write ${args.NAME}"
            raise bad(f"cannot hold ${{{inner}}}", hint)
    return value


def version_number(value: Any) -> Any:
    """Version 1 is all there is."""
    number = to_json(value)
    if number == 1 and isinstance(number, int) and not isinstance(number, bool):
        return 1
    raise wrong("1", value, "a newer file needs a newer lovia")


def model_reference(value: Any) -> Any:
    """``provider:name`` as the mapping that it is short for; the name may hold more colons."""
    if isinstance(value, dict):
        return value
    provider, colon, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not colon or not provider.strip() or not name.strip():
        raise wrong("provider:name or a mapping", value, "such as scripted:script.yaml")
    return {"provider": provider, "name": name}


def resume_policy(value: Any) -> Any:
    """``ask`` is known and not there yet; anything else is the field's to judge."""
    if isinstance(value, str) and value in later.ON_RESUME:
        raise bad(f"{value} is not there yet in this version of lovia", "use rerun or fail")
    return value


def function_reference(value: str) -> str:
    """``module:function``."""
    module, colon, name = value.rpartition(":")
    if not colon or not module.strip() or not name.isidentifier():
        raise wrong("module:function or ./file.py:function", Plain(value))
    return value


def tool_mapping(value: Any) -> Any:
    """A tool is a text, or a mapping with a type that we know."""
    if isinstance(value, str) and value != "":
        return value
    if not isinstance(value, dict):
        raise wrong("module:function or a mapping with a 'type'", value)
    kind = value.get("type")
    if isinstance(kind, str) and kind in _TOOL_TYPES:
        return value
    if isinstance(kind, str) and kind in later.TOOL_TYPES:
        raise bad(f"{kind} is not there yet in this version of lovia", f"known: {', '.join(_TOOL_TYPES)}", at="type")
    if isinstance(kind, str) and kind != "":
        raise bad(f"{describe(kind)} is not a type of tool", near(kind, _TOOL_TYPES) or "", at="type")
    if "type" in value:
        raise wrong("the name of a type", kind, f"known: {', '.join(_TOOL_TYPES)}", at="type")
    raise bad("needs a 'type'", f"add 'type: {'shell' if 'command' in value else 'python'}'")


def argv_or_line(value: list[str] | str, info: ValidationInfo) -> list[str] | str:
    """A list, or one line where ``shell: true`` asks for it."""
    shell = info.data.get("shell")  # missing when it is wrong itself
    if isinstance(value, str) and shell is False:
        raise bad("needs a list, one entry an argument", "or add 'shell: true' to run one line")
    if isinstance(value, list) and shell is True:
        raise bad("needs one line of text with 'shell: true'", "or remove 'shell: true'")
    return value


def parameter_value(kind: str, value: Any) -> Any:
    """``value`` as the parameter's type has it: text as written, a number as a number."""
    needed, types = _KINDS[kind]
    result = value if kind == "string" else to_json(value)
    nothing = isinstance(value, Plain) and value == ""
    if nothing or not isinstance(result, types) or (kind != "boolean" and isinstance(result, bool)):
        raise wrong(needed, value, f"the parameter's type is {kind}")
    return str(result) if isinstance(result, str) else result


def parameter_enum(value: Any, info: ValidationInfo) -> list[Any]:
    """The values to choose from, each of the parameter's type."""
    if not isinstance(value, list) or not value:
        raise wrong("a list of values", value)
    return [parameter_value(info.data.get("type", "string"), choice) for choice in value]


def parameter_default(value: Any, info: ValidationInfo) -> Any:
    """A default that the caller could have given."""
    default, choices = parameter_value(info.data.get("type", "string"), value), info.data.get("enum")
    if choices is not None and default not in choices:
        raise bad(f"is not in 'enum': {describe(value)}", f"known: {', '.join(map(str, choices))}")
    return default


def argument_schema(value: Any) -> dict[str, Any]:
    """The JSON Schema of one argument of a command."""
    from jsonschema import Draft202012Validator, SchemaError

    if not isinstance(value, dict):
        raise wrong("a JSON Schema such as {type: string}", value)
    schema: dict[str, Any] = _schema(value)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "".join(f"{part}: " for part in error.absolute_path)
        raise bad(f"is not a JSON Schema: {place}{error.message}") from error
    return schema


def _schema(value: Any) -> Any:
    """Free JSON, but where it says ``type: string`` the values it lists are text as written (C39)."""
    if isinstance(value, list):
        return [_schema(inner) for inner in value]
    if not isinstance(value, dict):
        return to_json(value)
    texts = ("enum", "const", "default", "examples") if value.get("type") == "string" else ()
    return {key: _as_written(inner) if key in texts else _schema(inner) for key, inner in value.items()}


def _as_written(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_written(inner) for inner in value]
    return str(value) if isinstance(value, str) else to_json(value)
