"""``${args.name}`` in a command: where arguments stand, and how they get there without being parsed again."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lovia_cli.errors import AgentFileError
from stores.entries import JSON
from stores.values import to_text

_PLACE = re.compile(r"\$\{args\.([^}]*)\}")
_COMMENT = re.compile(r"(?<![^\s;&|()])#[^\n]*")

VARIABLE_PREFIX = "LOVIA_ARG_"


def check_places(text: str, declared: Mapping[str, JSON], *, where: str | None = None) -> None:
    """Raise `AgentFileError` when ``text`` uses an argument that is not declared."""
    for message, hint in undeclared(text, declared):
        raise AgentFileError(message, where=where, hint=hint)


def undeclared(text: str, declared: Mapping[str, JSON]) -> list[tuple[str, str]]:
    """What to say of each argument in ``text`` that is not declared, and what to do about it."""
    hint = f"add it under args; declared: {', '.join(declared) or 'none'}"
    names = dict.fromkeys(_PLACE.findall(text))
    return [(f"${{args.{name}}} is not declared", hint) for name in names if name not in declared]


def fill(command: list[str], arguments: Mapping[str, JSON]) -> list[str]:
    """The argv: each ``${args.x}`` replaced within its element, which stays one element whatever it holds.

    Text stands as it is, null is nothing, everything else is JSON (`to_text`): ``true``, ``3``, ``["a"]``.
    An element that is nothing but the place of an argument which is null is left out.
    """
    out = []
    for element in command:
        alone = _PLACE.fullmatch(element)
        if alone and arguments[alone[1]] is None:
            continue
        out.append(_PLACE.sub(lambda place: to_text(arguments[place[1]]), element))
    return out


def variables(arguments: Mapping[str, JSON]) -> dict[str, str]:
    """The arguments as the environment of a shell script that `as_script` has made."""
    return {VARIABLE_PREFIX + name: to_text(value) for name, value in arguments.items()}


def as_script(command: str, *, where: str | None = None) -> str:
    """A shell command with each ``${args.x}`` as a quoted variable, ``"${LOVIA_ARG_x}"``.

    The values never stand in the script, so the shell parses none of them, and the quotes keep it from
    splitting them. A script that has its own words parsed again (``eval``, ``sh -c``, arithmetic) undoes that.
    Within single quotes the shell would not look at a variable: `AgentFileError`.
    """
    out: list[str] = []
    contexts = ["code"]  # "code", or "text" within double quotes; $( ) within them is code again
    position = 0
    while position < len(command):
        place = _PLACE.match(command, position)
        if place:
            name = f"${{{VARIABLE_PREFIX}{place[1]}}}"
            out.append(name if contexts[-1] == "text" else f'"{name}"')
            position = place.end()
            continue
        length = _token(command, position, contexts)
        token = command[position : position + length]
        if token.startswith("'") and _PLACE.search(token):
            raise AgentFileError(
                f"{token} has an argument within single quotes, where the shell replaces nothing",
                where=where,
                hint="use double quotes, or none: the argument is quoted by itself",
            )
        out.append(token)
        position += length
    return "".join(out)


def _token(command: str, position: int, contexts: list[str]) -> int:
    """The length of the next piece that the shell's quoting takes as one; keeps ``contexts`` up to date."""
    character = command[position]
    if character == "\\":
        return 2
    if command.startswith("$(", position):
        contexts.append("code")
        return 2
    if character == '"':
        if contexts[-1] == "text":
            contexts.pop()
        else:
            contexts.append("text")
    elif contexts[-1] == "code":
        if comment := _COMMENT.match(command, position):
            return len(comment[0])
        if character == "'":
            end = command.find("'", position + 1)
            return (end if end >= 0 else len(command)) - position + 1
        if character == "(":
            contexts.append("code")
        elif character == ")" and len(contexts) > 1:
            contexts.pop()
    return 1
