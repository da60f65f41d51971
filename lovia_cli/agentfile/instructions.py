"""Instructions with ``{{ name }}`` in them, and the parameters that fill them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lovia_cli.errors import AgentFileError, Problem
from lovia_cli.yamlfile.reader import Document, Plain
from lovia_cli.yamlfile.validate import near

if TYPE_CHECKING:
    from lovia_cli.agentfile.schema import AgentFile, Parameter
    from stores.entries import JSON

_VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")
"""Braces around anything else are text, such as JSON in an example."""


@dataclass(slots=True, frozen=True)
class Instructions:
    """The text as written and the parameters it may name; ``document`` has their places."""

    text: str
    parameters: Mapping[str, Parameter]
    document: Document

    def resolve(self, given: Mapping[str, Any]) -> dict[str, JSON]:
        """A typed value for every parameter: the one ``given``, as text or typed, else its default.

        Raises `AgentFileError` for every value that is unknown, missing, of a wrong type or not in ``enum``.
        """
        problems = [self._unknown(name) for name in given if name not in self.parameters]
        values: dict[str, JSON] = {}
        for name, parameter in self.parameters.items():
            if name in given:
                try:
                    values[name] = _typed(name, parameter, given[name])
                except AgentFileError as error:
                    problems.append(self._wanting(name, error.message, error.hint))
            elif parameter.required:
                message = f"the parameter '{name}' has no value and no default"
                problems.append(self._wanting(name, message, f"give one: --var {name}=VALUE"))
            else:
                values[name] = parameter.default
        if problems:
            raise AgentFileError.of(problems)
        return values

    def render(self, given: Mapping[str, Any]) -> str:
        """The text with every variable filled in; what values contain is not looked at again."""
        values = self.resolve(given)
        return _VARIABLE.sub(lambda match: _shown(values[match[1]]), self.text)

    def _unknown(self, name: str) -> Problem:
        hint = near(name, self.parameters) or "the agent file has no 'parameters'"
        return Problem(f"unknown variable '{name}'", self.document.file, hint=hint, is_given=True)

    def _wanting(self, name: str, message: str, hint: str | None) -> Problem:
        """A value that the caller has not given, or not as the parameter wants it."""
        return replace(self.document.problem(["parameters", name], message, hint=hint), is_given=True)


def read_instructions(file: AgentFile, document: Document, folder: Path) -> Instructions:
    """The instructions of an agent file, read from their own file where they have one."""
    if isinstance(file.instructions, str):
        text, source = file.instructions, None
    else:
        source = folder / file.instructions.file
        text = _read(source, document)
    problems = []
    for match in _VARIABLE.finditer(text):
        if match[1] not in file.parameters:
            message = f"unknown variable '{match[1]}' in the instructions"
            hint = near(match[1], file.parameters) or f"declare it: parameters: {{{match[1]}: {{type: string}}}}"
            place = document.problem(["instructions"], message, hint=hint)
            problems.append(_in_file(source, text, match.start(), place) if source else place)
    if problems:
        raise AgentFileError.of(problems)
    return Instructions(text, file.parameters, document)


def _read(source: Path, document: Document) -> str:
    path = ["instructions", "file"]
    try:
        return source.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "the path starts at the agent file"
        raise document.error(path, f"cannot read {source}: {reason}", hint=hint) from error
    except (UnicodeDecodeError, ValueError) as error:
        raise document.error(path, f"cannot read {source}: not valid UTF-8", hint="save it as UTF-8") from error


def _in_file(source: Path, text: str, at: int, problem: Problem) -> Problem:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Problem(problem.message, str(source), line, column, problem.hint)


def _typed(name: str, parameter: Parameter, value: Any) -> JSON:
    from pydantic_core import PydanticCustomError

    from lovia_cli.agentfile.values import parameter_value
    from lovia_cli.yamlfile.fields import describe

    written = Plain(value) if isinstance(value, str) and parameter.type != "string" else value
    try:
        result = parameter_value(parameter.type, written)
    except PydanticCustomError as error:
        text, hint = (error.context or {})["text"], f"give another: --var {name}=VALUE"
        raise AgentFileError(f"the parameter '{name}' {text}", hint=hint) from error
    if parameter.enum is not None and result not in parameter.enum:
        choices = list(map(str, parameter.enum))
        hint = near(str(value), choices, otherwise=False) or f"known: {', '.join(choices)}"
        raise AgentFileError(f"the parameter '{name}' cannot be {describe(value)}", hint=hint)
    return result


def _shown(value: JSON) -> str:
    from json import dumps

    return value if isinstance(value, str) else dumps(value)
