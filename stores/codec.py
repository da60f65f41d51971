"""Records as bytes: JSON, the document that every file of a store is, and the entries and saves in it.

A document is one JSON object in one file. It begins with its format version and ends with a checksum:

    {"v":1,"kind":"chunk","id":"job-1", ... ,"sum":"<sha256 of all bytes before this comma>"}

so that a reader knows, before it believes a word of it, whether it understands the format and whether
the bytes are those that were written. Records in it stand one a line, for people, ``jq`` and ``diff``.
"""

from __future__ import annotations

import hashlib
import operator
import re
from collections.abc import Iterable
from typing import Any

import orjson

from stores.entries import JSON, Entry, UnknownEntryError, entries_from_json, entry_to_json
from stores.errors import StoreDamagedError, StoreError, StoreVersionError
from stores.records import Save

VERSION = 1
"""The format this code writes. It reads this one; older ones are migrated when a store is opened (D1)."""

_MARK = b',"sum":"'
_CLOSE = b'"}\n'
_TAIL = len(_MARK) + 64 + len(_CLOSE)
_VERSION = re.compile(rb'\s*\{\s*"v"\s*:\s*(\d{1,18})\b')
_OURS = b'{"v":%d,' % VERSION
_BETWEEN = b",\n"
_END_OF_LIST = b"\n]"


def dumps(value: JSON) -> bytes:
    """``value`` as compact JSON. What JSON cannot hold is a `StoreError`; callers store plain values (D4)."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise StoreError(
            f"a value cannot be stored as JSON: {error}", hint="pass it through stores.values.plain first"
        ) from error


def encode(document: dict[str, JSON]) -> bytes:
    """The bytes of a small document, with version and checksum. ``document`` starts with ``kind``."""
    body = dumps({"v": VERSION, **document})[:-1]
    return body + _MARK + hashlib.sha256(body).hexdigest().encode() + _CLOSE


def loads(data: bytes | str) -> JSON:
    """The value that ``data`` is in JSON. Raises `ValueError` where it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith("Not enough memory"):  # which is nothing to say of the data: a repair would drop it
            raise MemoryError(error.msg) from error
        raise


class Lines:
    """A document whose last field is a list of records, as bytes that grow by one line at a time.

    The checksum is carried along: adding a record hashes that record only, however long the document.
    """

    __slots__ = ("_body", "_hash", "_parts", "count", "size", "sum")

    def __init__(self, header: dict[str, JSON], name: str) -> None:
        self._start(dumps({"v": VERSION, **header})[:-1] + b',"' + name.encode() + b'":[\n', 0)

    def _start(self, body: bytes, count: int) -> None:
        self._parts = [body]
        self._hash = hashlib.sha256(body)
        self.size = len(body)
        self.count = count
        self.sum = ""

    @staticmethod
    def resume(data: bytes, document: dict[str, Any], name: str) -> Lines:
        """The document that was read from ``data``, ready to grow. Its lines are kept byte for byte (D1).

        Another writer may have set it out differently: then it is set out anew, with all that is in it.
        """
        rows = document[name]
        if list(document)[-2] == name and data[:-_TAIL].endswith(_END_OF_LIST):
            lines = Lines.__new__(Lines)
            lines._start(data[: -_TAIL - len(_END_OF_LIST)], len(rows))
        else:
            lines = Lines({key: value for key, value in document.items() if key not in ("v", name, "sum")}, name)
            for row in rows:
                lines.add(dumps(row))
        lines.sum = document["sum"]
        return lines

    def add(self, line: bytes) -> None:
        """Append one record, already encoded."""
        part = _BETWEEN + line if self.count else line
        self._parts.append(part)
        self._hash.update(part)
        self.size += len(part)
        self.count += 1

    def bytes(self) -> bytes:
        """The whole file; afterwards `sum` is its checksum."""
        digest = self._hash.copy()
        digest.update(_END_OF_LIST)
        self.sum = digest.hexdigest()
        return b"".join((*self._parts, _END_OF_LIST, _MARK, self.sum.encode(), _CLOSE))


class Lined:
    """A document of lines as it was read and checked: its header is parsed, its records when somebody asks.

    Another writer may have set it out differently: then all of it is parsed at once.
    """

    __slots__ = ("_document", "_is_ours", "_kind", "_name", "data", "header", "where")

    def __init__(self, data: bytes, kind: str, name: str, *, where: str) -> None:
        check(data, where=where)
        self.data, self.where, self._kind, self._name = data, where, kind, name
        self._document: dict[str, Any] | None = None
        end = data.find(b"\n")
        opening = b'"' + name.encode() + b'":['
        self._is_ours = data.endswith(opening, 0, end) and data.endswith(_END_OF_LIST, 0, -_TAIL)
        if self._is_ours:
            self.header: dict[str, Any] = _parsed(data[:end] + b"]}", kind, where=where)
            self.header["sum"] = data[-_TAIL + len(_MARK) : -len(_CLOSE)].decode()
        else:
            self.header = self.document

    @property
    def count(self) -> int:
        """How many records there are."""
        if not self._is_ours:
            return len(self.records)
        is_empty = self.data.startswith(_END_OF_LIST, self.data.index(b"\n") + 1)
        return 0 if is_empty else self.data.count(b"\n") - 2  # of the header, and of the closing line

    @property
    def document(self) -> dict[str, Any]:
        """All of it."""
        if self._document is None:
            self._document = _parsed(self.data, self._kind, where=self.where)
        return self._document

    @property
    def records(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.document[self._name]
        return found

    @property
    def first_record(self) -> dict[str, Any]:
        """The first of the records, without a look at the others."""
        if not self._is_ours or self._document is not None:
            return self.records[0]
        begin = self.data.index(b"\n") + 1
        found: dict[str, Any] = loads(self.data[begin : self.data.index(b"\n", begin)].removesuffix(b","))
        return found


def decode(data: bytes, kind: str, *, where: str) -> dict[str, Any]:
    """The document in ``data``, checked: version first, then ending, checksum, JSON and kind.

    Raises `StoreVersionError` when a newer lovia wrote it, even if nothing else of it can be read, and
    `StoreDamagedError` when these are not the bytes that were written. ``where`` names the file.
    """
    check(data, where=where)
    return _parsed(data, kind, where=where)


def check(data: bytes, *, where: str) -> str:
    """The checksum of what a lovia of this format wrote. Anything else raises as `decode` does."""
    if not data.startswith(_OURS) and (found := _VERSION.match(data)) and int(found[1]) > VERSION:
        raise StoreVersionError(f"a newer lovia wrote this file, in format {int(found[1])}", where=where)
    digest = hashlib.sha256(memoryview(data)[:-_TAIL]).hexdigest()
    if data[-_TAIL:] != _MARK + digest.encode() + _CLOSE:
        raise StoreDamagedError(_what_is_wrong(data), where=where)
    return digest


def _parsed(data: bytes, kind: str, *, where: str) -> dict[str, Any]:
    try:
        document = loads(data)
    except ValueError as error:
        raise StoreDamagedError(f"the file is not JSON: {error}", where=where) from error
    if not isinstance(document, dict) or document.get("v") != VERSION or document.get("kind") != kind:
        raise StoreDamagedError(f"the file is not a {kind} of this format", where=where)
    return document


def whole_within(data: bytes) -> bytes | None:
    """The whole document that ``data`` is when nothing but its end is damaged: cut off, changed, or run over by junk.

    What stands in front of its checksum proves itself by half of that. None when nothing does.
    """
    digest, done, at = hashlib.sha256(), 0, data.find(_MARK)
    while at >= 0:
        digest.update(data[done:at])
        done, sum_ = at, digest.hexdigest().encode()
        there = data[at + len(_MARK) : at + len(_MARK) + 64]
        if sum(map(operator.eq, there, sum_)) >= 32:
            return data[:at] + _MARK + sum_ + _CLOSE
        at = data.find(_MARK, at + 1)
    return None


def _what_is_wrong(data: bytes) -> str:
    """Why ``data``, which does not end with its checksum, does not."""
    if not data:
        return "the file is empty"
    if data[-_TAIL : -_TAIL + len(_MARK)] != _MARK or not data.endswith(_CLOSE):
        return "the file does not end as it was written"
    return "the file's content does not match its checksum"


def encode_entry(entry: Entry) -> bytes:
    """One entry as a line."""
    return dumps(entry_to_json(entry))


def decode_entries(rows: Iterable[dict[str, JSON]], *, where: str, run_id: str) -> list[Entry]:
    """The entries of ``rows``. An unknown type names run and file (D1)."""
    try:
        return entries_from_json(rows)
    except UnknownEntryError as error:
        raise UnknownEntryError(f"run {run_id!r} has an {error.message}", where=where, hint=error.hint) from error
    except (StoreError, TypeError, AttributeError, KeyError) as error:
        raise StoreDamagedError(f"run {run_id!r} has an entry that cannot be read: {error}", where=where) from error


def encode_save(save: Save) -> bytes:
    """One save as a line: ``{save, step, at, event, head, info, keep, entries}``, empty parts left out."""
    row: dict[str, JSON] = {"save": save.number, "step": save.step, "at": save.at, "event": save.event}
    if save.head:
        row["head"] = save.head
    if save.info:
        row["info"] = save.info
    row.update(save.extra)
    if save.keep is not None:
        row["keep"] = save.keep
    if save.entries:
        row["entries"] = [entry_to_json(entry) for entry in save.entries]
    return dumps(row)


def decode_save(row: dict[str, Any], *, where: str, run_id: str) -> Save:
    """The save of one record, which is used up; fields we do not know go to ``extra`` (D1)."""
    try:
        return Save(
            number=row.pop("save"),
            step=row.pop("step"),
            at=row.pop("at"),
            event=row.pop("event"),
            entries=decode_entries(row.pop("entries", ()), where=where, run_id=run_id),
            head=row.pop("head", None) or {},
            info=row.pop("info", None) or {},
            keep=row.pop("keep", None),
            extra=row,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreDamagedError(f"run {run_id!r} has a save without {error}", where=where) from error
