"""The one stored form of each value (D4): what a tool returns, as JSON and as the text the model sees.

    value                                   stored form
    None, True, False                       the same
    int                                     the same from -2^63 to 2^64-1, else its decimal digits as text
    float                                   the same; NaN, Infinity and -Infinity as those words
    str                                     text, cleaned (`clean_text`)
    bytes, bytearray, memoryview            data:application/octet-stream;base64,...
    datetime, date, time                    ISO 8601, as ``isoformat`` writes it
    timedelta                               ISO 8601 duration: P1DT2H, PT0.5S, -PT3M
    Decimal, Fraction, UUID, path, zone,    its text
    IP address or network
    Enum                                    the form of its value
    list, tuple, range, deque, dict views   list, in order
    generator and any other iterator        list; it is used up
    set, frozenset                          list, sorted by the JSON text of the elements
    dict and any other mapping              object; a key that is no text becomes the text of its form
    dataclass, msgspec struct               object of its fields
    pydantic model                          the form of its ``model_dump()``
    pydantic URL or secret                  its text; a secret's text hides it
    exception                               Type: message; Type alone where it says nothing, or its own code fails
    a number of another library             as int or float (those that register with ``numbers``)

Everything else has no stored form: `ValueNotStorable`. So do values nested deeper than 200 levels or within
themselves, values of more than a million items, and mappings two of whose keys become the same text.
"""

from __future__ import annotations

import base64
import datetime
import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

from stores.errors import UserError
from stores.fields import is_record, items_of

if TYPE_CHECKING:
    from stores.entries import JSON

MAX_DEPTH = 200
MAX_ITEMS = 1_000_000

_TEXT_MODULES = frozenset({"decimal", "fractions", "uuid", "ipaddress", "zoneinfo", "pydantic", "pydantic_core"})
_SURROGATE = re.compile("[\ud800-\udfff]")


class ValueNotStorable(UserError):  # noqa: N818 - it reads as what is said of the value
    """A value without a stored form; ``where`` is its place within the whole."""

    code = "value_not_storable"

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(
            message,
            where=where,
            hint="return text, numbers, dates, bytes, or lists, dicts, dataclasses and pydantic models of these",
        )


def clean_text(text: str) -> str:
    """``text`` as clean Unicode: each lone surrogate becomes U+FFFD (D4).

    The two halves of a pair that were joined as text become their character. All else stays, NUL and
    other control characters too: making text safe to show is the renderer's part.
    """
    if text.isascii() and type(text) is str:
        return text
    text = str.__str__(text)
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def plain(value: object) -> JSON:
    """The stored form of ``value``, as the table above has it (D4).

    The result shares nothing mutable with ``value``, and ``plain(plain(x)) == plain(x)``. Raises
    `ValueNotStorable`, also for whatever the value's own code raises while it is read.
    """
    converter = _Converter()
    try:
        return converter.convert(value)
    except ValueNotStorable:
        raise
    except Exception as error:
        raise converter.refuse(f"reading it raised {exception_text(error)}") from error


def to_text(value: object) -> str:
    """A tool's result as the text that the model gets and the store keeps, the same after a resume (D4).

    None is the empty text; what has text as its stored form (text, a date, a path) is that text;
    everything else is the compact JSON of its stored form. ``to_text(plain(x)) == to_text(x)``.
    """
    if value is None:
        return ""
    form = plain(value)
    return form if isinstance(form, str) else _json(form)


def exception_text(error: BaseException) -> str:
    """The stored form of an exception. Never raises."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def message_of(error: BaseException) -> str:
    """What the exception says, cleaned; nothing where its own code fails. Never raises."""
    try:
        return clean_text(str(error))
    except Exception:
        return ""


class _Converter:
    """One conversion: where it is, and how much it has seen."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.items = 0

    def refuse(self, why: str) -> ValueNotStorable:
        where = "".join(self.path[:8]) + ("..." if len(self.path) > 8 else "")
        return ValueNotStorable(f"the value cannot be stored: {why}", where=f"at {where}" if where else None)

    def convert(self, value: object) -> JSON:
        if type(value) not in (dict, list):
            scalar = _scalar(value)
            if scalar is not _NO_SCALAR:
                return scalar
        if len(self.path) >= MAX_DEPTH:
            raise self.refuse(f"it is nested deeper than {MAX_DEPTH} levels, or contains itself")
        if isinstance(value, dict):
            return self.object(value.items())
        if isinstance(value, (list, tuple)):
            return self.list(value)
        return self.other(value)

    def other(self, value: object) -> JSON:
        """A value that is neither scalar, nor one of the containers that come a thousand times a call."""
        if isinstance(value, Enum):
            return self.convert(value.value)
        if isinstance(value, type):
            raise self.refuse(f"a class ({value.__name__})")
        if isinstance(value, Mapping):
            return self.object(value.items())
        if isinstance(value, Set) and not isinstance(value, MappingView):
            return sorted(self.list(value), key=_json)
        if isinstance(value, (Sequence, MappingView, Iterator)):
            return self.list(value)  # type: ignore[arg-type]  # MappingView lacks __iter__; each of its kinds has it
        if is_record(value):
            return self.object(items_of(value))
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            return self.convert(dump())
        raise self.refuse(f"a value of type {type(value).__qualname__} has no stored form")

    def list(self, values: Iterable[object]) -> list[JSON]:
        out = []
        for index, value in enumerate(values):
            self.enter(f"[{index}]")
            out.append(self.convert(value))
            self.path.pop()
        return out

    def object(self, items: Iterable[tuple[object, object]]) -> dict[str, JSON]:
        out: dict[str, JSON] = {}
        for key, value in items:
            form = self.convert(key)
            name = form if isinstance(form, str) else _json(form)
            if name in out:
                raise self.refuse(f"two keys become the text {name!r}")
            self.enter(f".{name}")
            out[name] = self.convert(value)
            self.path.pop()
        return out

    def enter(self, name: str) -> None:
        self.items += 1
        if self.items > MAX_ITEMS:
            raise self.refuse(f"it has more than {MAX_ITEMS} items")
        self.path.append(name)


_NO_SCALAR = object()


def _scalar(value: object) -> JSON:
    """The form of a value without parts, or `_NO_SCALAR`; the commonest types first."""
    if isinstance(value, Enum):
        return _NO_SCALAR
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _float(value)
    return _rare_scalar(value)


def _rare_scalar(value: object) -> JSON:
    if isinstance(value, type):
        return _NO_SCALAR
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "data:application/octet-stream;base64," + base64.b64encode(value).decode("ascii")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, BaseException):
        return exception_text(value)
    if isinstance(value, PurePath) or _is_text_module(type(value)):
        return clean_text(str(value))
    if isinstance(value, numbers.Integral):
        return _integer(int(value))
    if isinstance(value, numbers.Real):
        return _float(float(value))
    return _NO_SCALAR


def _is_text_module(cls: type) -> bool:
    """True for the value types of these modules, told by name so that none is imported; models are no values."""
    if hasattr(cls, "model_dump"):
        return False
    return any(base.__module__.partition(".")[0] in _TEXT_MODULES for base in cls.__mro__)


def _integer(number: int) -> int | str:
    if -(2**63) <= number < 2**64:
        return int(number)
    from decimal import Decimal

    return format(Decimal(number), "f")  # str() refuses more than 4300 digits


def _float(number: float) -> float | str:
    if math.isfinite(number):
        return float(number)
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _duration(delta: datetime.timedelta) -> str:
    sign, rest = ("-", -delta) if delta.days < 0 else ("", delta)
    hours, seconds = divmod(rest.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    fraction = f".{rest.microseconds:06d}".rstrip("0") if rest.microseconds else ""
    days = f"{rest.days}D" if rest.days else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not (days or clock):
        clock += f"{seconds}{fraction}S"
    return f"{sign}P{days}" + (f"T{clock}" if clock else "")


def _json(form: JSON) -> str:
    from json import dumps

    return dumps(form, ensure_ascii=False, separators=(",", ":"))
