"""From the model's final text to the value that ``output_schema`` describes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from lovia_cli.errors import InvalidOutputError
from stores.entries import JSON

_FENCE = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_MOST = 5


def output_parser(schema: dict[str, JSON]) -> Callable[[str], JSON]:
    """A function from the text to the value, JSON that fits ``schema``; a fence around it is taken off.

    It raises `InvalidOutputError`, which names each place that does not fit, for the model to read.
    """

    def parse(text: str) -> JSON:
        fenced = _FENCE.match(text)
        try:
            value: JSON = json.loads(fenced[1] if fenced else text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise InvalidOutputError(f"the answer is not JSON: {error}") from error
        if faults := _faults(schema, value):
            raise InvalidOutputError("the answer does not fit the output schema: " + "; ".join(faults))
        return value

    return parse


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _faults(schema: dict[str, JSON], value: JSON) -> list[str]:
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path)))
    return [f"at {error.json_path}: {error.message}" for error in errors[:_MOST]]
