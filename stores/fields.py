"""Records of either kind, dataclasses and msgspec's structs, by their fields. Who has no records loads no msgspec."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, TypeGuard, TypeVar

R = TypeVar("R")

_STRUCT = "__struct_fields__"


def is_record(value: object) -> TypeGuard[Any]:
    """True for an instance of either kind."""
    kind = type(value)
    return hasattr(kind, _STRUCT) or dataclasses.is_dataclass(kind)


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """The names of its fields, in order."""
    names: tuple[str, ...] | None = getattr(kind, _STRUCT, None)
    return tuple(one.name for one in dataclasses.fields(kind)) if names is None else names


def items_of(record: Any) -> Iterator[tuple[str, Any]]:
    """Its fields by name, without those of a struct that are unset."""
    found = ((name, getattr(record, name)) for name in field_names(type(record)))
    if not hasattr(type(record), _STRUCT):
        return found
    from msgspec import UNSET

    return ((name, value) for name, value in found if value is not UNSET)


def changed(record: R, **fields: Any) -> R:
    """A copy of ``record`` in which these fields are others."""
    replace: Any = dataclasses.replace
    if hasattr(type(record), _STRUCT):
        import msgspec.structs

        replace = msgspec.structs.replace
    copy: R = replace(record, **fields)
    return copy
