"""What of a damaged chunk can be kept: the saves that stand whole in front of the damage.

The checksum covers the file, not its lines. Of a file that breaks off, or turns to junk, at some line those before it
are kept when each is a save and its number is the next, though nothing vouches for their text. Where every line reads
well and the checksum does not fit, the damage cannot be placed, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stores import codec
from stores.codec import Lines
from stores.errors import StoreError
from stores.file.chunks import read_chunk
from stores.file.names import chunk_name
from stores.file.root import Root

_OPEN = b'"records":['


@dataclass(frozen=True, slots=True)
class Salvage:
    """A chunk's file without its damage: saves ``first`` to ``last``."""

    n: int
    data: bytes
    first: int
    last: int


def salvage(root: Root, run_id: str, key: str, n: int) -> Salvage | None:
    """What can be kept of damaged chunk ``n``; None for nothing. The first one of a fork may begin with any save."""
    try:
        with root.open_folder("data", key) as folder:
            data = folder.read(chunk_name(n)) if folder else None
            before = read_chunk(folder, run_id, key, n - 1) if folder and n > 1 else None
    except StoreError:  # a folder or a link in its place
        return None
    if not data or (n > 1 and before is None):
        return None
    known = {"kind": "chunk", "id": run_id, "key": key, "n": n}
    if before:
        known |= {"prev": before.sum, "first": before.last + 1}
    return _lines_of(data, known)


def _lines_of(data: bytes, known: dict[str, Any]) -> Salvage | None:
    """The saves in front of the first line that is none."""
    head, *rows = data.split(b"\n")
    header = _object(head + b"]}") if head.endswith(_OPEN) else None
    first = (header or {}).get("first")
    if not header or type(first) is not int or not (known | {"v": codec.VERSION}).items() <= header.items():
        return None
    lines = Lines({name: value for name, value in header.items() if name not in ("v", "records")}, "records")
    for line in _saves(rows, first, known["id"]):
        lines.add(line)
    whole, end = lines.bytes(), rows[lines.count : lines.count + 1]
    is_placed = not end or not end[0].startswith(b'],"') or len(data) < len(whole)
    if not lines.count or not is_placed:
        return None
    return Salvage(known["n"], whole, first, first + lines.count - 1)


def _saves(rows: list[bytes], number: int, run_id: str) -> Iterator[bytes]:
    for row in rows:
        line = row.removesuffix(b",")
        save = _object(line)
        try:
            if save is None or codec.decode_save(save, where="", run_id=run_id).number != number:
                return
        except StoreError:
            return
        yield line
        number += 1


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        found = codec.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
