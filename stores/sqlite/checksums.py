"""What tells that a row still is what was written: SQLite keeps pages, but does not know their content."""

from __future__ import annotations

import hashlib

Value = str | bytes | int | float | None


def checksum(*values: Value) -> str:
    """64 hexadecimal digits over values and their SQLite types; lists of values that differ have different ones."""
    digest = hashlib.sha256()
    for value in values:
        kind, data = _bytes(value)
        digest.update(f"{kind}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def _bytes(value: Value) -> tuple[str, bytes]:
    match value:
        case str():
            return "text", value.encode("utf-8", "surrogatepass")
        case bytes():
            return "blob", value
        case float():
            return "real", repr(value).encode()
        case int():
            return "integer", str(int(value)).encode()
        case _:
            return "null", b""
