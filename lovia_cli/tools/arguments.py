"""From the text a model sent as a call's arguments to the object that a tool gets.

Models send no text at all, half an object, a list, the same key twice. What is not one clear JSON
object is never run: it becomes an error result that says what is wrong and where, so that the model
can send the call again.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from lovia_cli.tools.base import ToolArgumentsError
from stores.entries import JSON
from stores.values import clean_text

MAX_DEPTH = 200
"""How deep arguments may nest; every JSON writer they pass through later can still write this."""


def parse_arguments(text: str) -> dict[str, JSON]:
    """The object in ``text``; nothing but white space is an empty one.

    Integers keep all their digits; half characters (lone surrogates) become U+FFFD. Raises
    `ToolArgumentsError`, with the place of the fault, for text that is no JSON, no object, names a key
    twice, holds NaN or an infinity (which JSON has not), or nests deeper than `MAX_DEPTH`.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise _error(f"they nest deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} (character {error.pos} of {len(text)})"
        raise _error(f"not valid JSON: {error.msg}: {place}") from None
    except ValueError as error:
        raise _error(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise _error(f"a JSON object is needed, not {_kind(value)}")
    if _depth(value) > MAX_DEPTH:
        raise _error(f"they nest deeper than {MAX_DEPTH} levels")
    cleaned: dict[str, JSON] = clean_json(value)
    return cleaned


def clean_json(value: Any) -> Any:
    """``value`` with every text in it, keys too, passed through `clean_text`; lists and objects are new."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    return value


UNREADABLE = "the call's arguments could not be read"
"""How the message of every `ToolArgumentsError` of `parse_arguments` begins."""


def _error(reason: str) -> ToolArgumentsError:
    return ToolArgumentsError(f"{UNREADABLE}: {reason}", hint="send one JSON object")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = Counter(name for name, _ in pairs)
        twice = names.most_common(1)[0][0]
        raise ValueError(f"the key {clean_text(twice)!r} stands twice in one object")
    return out


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")


def _depth(value: Any) -> int:
    """Levels of nesting, without recursion: the value may be deeper than the stack."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth
