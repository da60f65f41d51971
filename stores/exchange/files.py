"""The two forms of the file that a document is handed on as, with its checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import orjson

from stores import codec
from stores.entries import JSON
from stores.errors import StoreError
from stores.exchange.documents import HEADER, Exported, Places, check_version, document_of, record_of
from stores.shapes import check_depth, refuse

MAX_BYTES = 256 * 1024 * 1024
"""The largest file that is read."""


def write_export(record: Exported, form: Literal["jsonl", "json"] = "jsonl") -> bytes:
    """The record as a file that `read_export` reads: an object a line, or one object."""
    document = document_of(record)
    if form == "json":
        return orjson.dumps(sealed(document), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines_of(document))


def sealed(document: dict[str, JSON]) -> dict[str, JSON]:
    """The object with its checksum."""
    return {**document, "sum": _sum(document)}


def lines_of(document: dict[str, JSON]) -> Iterator[dict[str, JSON]]:
    """The lines of a document."""
    lists = [name for name in ("entries", "segments", "saves") if name in document]
    yield {**document, **{name: len(document[name]) for name in lists}}
    for part in _parts(document):
        if document["kind"] == "run":
            yield part
        else:
            yield {"kind": "segment", **part, "entries": len(part["entries"])}
            yield from part["entries"]
    yield from ({"kind": "save", **row} for row in document.get("saves", ()))
    yield {"kind": "end", "sum": _sum(document)}


def _parts(document: dict[str, JSON]) -> list[Any]:
    parts: list[Any] = document["entries"] if document["kind"] == "run" else document["segments"]
    return parts


def _sum(document: dict[str, JSON]) -> str:
    return hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def read_export(data: bytes, name: str) -> Exported:
    """The record in ``data``, checked whole, in either form; ``name`` is the file's, for errors.

    Raises `StoreVersionError` for a newer format, and `StoreDamagedError` with the line for anything else that is not
    what was exported.
    """
    if len(data) > MAX_BYTES:
        raise refuse(f"it is larger than {MAX_BYTES // 1024**2} MB", name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise refuse("it is empty", name)
    head, _, rest = data.partition(b"\n")
    if not rest.strip() or not _is_object(head):
        return _read_document(data, name)
    return _Reader(data, name).read()


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(codec.loads(line), dict)
    except ValueError:
        return False


def _read_document(data: bytes, name: str) -> Exported:
    """The form that is one object."""
    try:
        document = codec.loads(data)
    except orjson.JSONDecodeError as error:
        raise _no_json(error, f"{name}:{error.lineno}") from error
    check_depth(document, name)
    check_version(document, name)
    told = document.pop("sum", None)
    if told is not None and told != _sum(document):
        raise refuse("its content does not match its checksum", name)
    if not isinstance(document.get("entries", document.get("segments")), list):
        raise refuse("it has no entries; is it the first line of an export alone?", name)
    return record_of(document, name)


def _no_json(error: orjson.JSONDecodeError, where: str) -> StoreError:
    return refuse(f"it is cut off or damaged here, and no JSON: {error.msg}", where)


class _Reader:
    """Reads the form with one object a line, and remembers where each object stood."""

    def __init__(self, data: bytes, name: str) -> None:
        self._lines = enumerate(data.split(b"\n"), 1)
        self._name = name
        self._places: Places = {}
        self._line = 0

    def read(self) -> Exported:
        header = self._next("the first line")
        self._places[HEADER] = self._line
        check_version(header, self._where())
        if header["kind"] == "run":
            header["entries"] = self._take(header.get("entries"))
            if "saves" in header:
                header["saves"] = [self._save() for _ in range(self._count(header["saves"]))]
        else:
            header["segments"] = [self._segment() for _ in range(self._count(header.get("segments")))]
        self._end(header)
        return record_of(header, self._name, self._places)

    def _segment(self) -> dict[str, Any]:
        row = self._next("a segment")
        if row.pop("kind", None) != "segment":
            raise refuse("a segment is missing here", self._where())
        return {**row, "entries": self._take(row.get("entries"))}

    def _save(self) -> dict[str, Any]:
        row = self._next("a save")
        if row.pop("kind", None) != "save":
            raise refuse("a save is missing here", self._where())
        self._places[id(row)] = self._line
        return row

    def _take(self, count: Any) -> list[dict[str, Any]]:
        rows = []
        for n in range(1, self._count(count) + 1):
            row = self._next(f"entry {n} of {count}")
            if "type" not in row:
                raise refuse(f"entry {n} of {count} is missing here", self._where())
            self._places[id(row)] = self._line
            rows.append(row)
        return rows

    def _count(self, count: Any) -> int:
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise refuse("it does not tell how many lines follow", self._where())
        return count

    def _end(self, header: dict[str, Any]) -> None:
        """The last line, with the checksum over all that was read."""
        end = self._next("the last line")
        if end.get("kind") != "end":
            raise refuse("there are more lines than were exported", self._where())
        if "sum" in end and end["sum"] != _sum(header):
            raise refuse("its content does not match its checksum", self._name)
        if any(line.strip() for _, line in self._lines):
            raise refuse("something stands behind its last line", self._where())

    def _next(self, what: str) -> dict[str, Any]:
        for number, line in self._lines:
            self._line = number
            if not line.strip():
                continue
            try:
                row = codec.loads(line)
            except orjson.JSONDecodeError as error:
                raise _no_json(error, self._where()) from error
            check_depth(row, self._where())
            if not isinstance(row, dict):
                raise refuse("this line is no JSON object", self._where())
            return row
        raise refuse(f"it ends before {what}: it was cut off", self._where())

    def _where(self) -> str:
        return f"{self._name}:{self._line}"
