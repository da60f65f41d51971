"""JSON for scripts: exact, complete, and never a crash on a value that JSON cannot hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lovia_cli.render.terminal import UNSAFE

if TYPE_CHECKING:
    from lovia_cli.cli.answers import Answer
    from lovia_cli.engine.events import Event
    from lovia_cli.render.streams import Out


_UNSAFE = re.compile(f"[{UNSAFE}]")


def dumps(value: Any) -> bytes:
    """One line of JSON in UTF-8, without its newline.

    Exact, and yet safe to show: what could move a terminal's cursor is written as JSON's own ``\\u009b``.
    """
    import orjson

    try:
        data = orjson.dumps(value, default=_unknown, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        data = _dumps_odd(value)
    if data.isascii() and b"\x7f" not in data:
        return data
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", data.decode("utf-8")).encode("utf-8")


def pretty(value: Any) -> str:
    """JSON to be read and edited, over several lines; as exact and as safe to show as `dumps`."""
    import json

    text = json.dumps(_plain(value, 0), ensure_ascii=False, allow_nan=False, indent=2)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _unknown(value: Any) -> Any:
    """What orjson asks for a type that it does not know."""
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def _dumps_odd(value: Any) -> bytes:
    """Half a surrogate pair, or an integer of more than 64 bits: valid JSON, but not for orjson."""
    import json

    return json.dumps(_plain(value, 0), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _plain(value: Any, depth: int) -> Any:
    """The value in types that JSON has; what is nested deeper than anything we store becomes its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if depth > 250:
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth + 1) for item in value]
    return str(value)


class JsonView:
    """``-o json``: nothing until the end, then one object."""

    def __init__(self, out: Out) -> None:
        self._out = out

    def event(self, event: Event) -> None:
        """The object tells it all at the end."""

    def finish(self, answer: Answer) -> None:
        self._out.bytes(dumps(answer.as_json()) + b"\n")
