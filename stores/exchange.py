"""A run or a session as a file to hand on: one JSON object a line, or one JSON object.

    {"v":1,"kind":"run","run_id":"trip","head":{...},"entries":4,"saves":6}
    {"type":"input","text":"Plan a weekend"}
    ...
    {"kind":"save","save":1,"step":0,"at":...,"event":"started","head":{...},"entries":[0]}
    ...
    {"kind":"end","sum":"..."}

The saves are the run's history; each names the entries that came with it by their place in the transcript, from 0, and
has those in full that a fork's patch has taken out of it. An export without saves is whole, but has no history. A
session has a line ``{"kind":"segment","run_id":...,"meta":{...},"entries":N}`` before the entries of each segment.
The one object of the other form holds the same, with its entries and segments as lists. ``sum`` is the SHA-256 of
that object without it, as compact JSON with sorted keys: whoever changes a file on purpose leaves it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from stores.entries import JSON, Entry, entry_to_json
from stores.errors import StoreError, StoreVersionError, UserError
from stores.ids import check_id
from stores.records import RunSnapshot, Save, Segment, fold, head_to_json
from stores.shapes import check_depth, check_transcript, entry_of, head_of, refuse, save_of

VERSION = 1
MAX_BYTES = 256 * 1024 * 1024
"""The largest file that is read."""


@dataclass(slots=True, kw_only=True)
class SessionRecord:
    """A whole session: its finished runs, oldest first."""

    session_id: str
    segments: list[Segment]


@dataclass(slots=True, kw_only=True)
class RunRecord(RunSnapshot):
    """A run with its history: all its saves, which fold to what it is."""

    saves: list[Save]


Exported = RunSnapshot | SessionRecord

Places = dict[int, int]
"""The line at which each object of a file stood, by the object's `id`; that of its header by `_HEADER`."""

_HEADER = -1


def run_record(run_id: str, saves: list[Save]) -> RunRecord:
    """The run that these saves, of which there are some, come to."""
    run = fold(run_id, saves)
    assert run is not None
    return RunRecord(run_id=run_id, head=run.head, entries=run.entries, saves=saves)


def document_of(record: Exported) -> dict[str, JSON]:
    """The record as one JSON object, without its checksum. It shares its values with the record."""
    if isinstance(record, RunSnapshot):
        named: dict[str, JSON] = {"v": VERSION, "kind": "run", "run_id": record.run_id}
        document = {**named, "head": head_to_json(record.head), "entries": _rows(record.entries)}
        return {**document, "saves": list(_save_rows(record))} if isinstance(record, RunRecord) else document
    segments = [_segment_row(segment) for segment in record.segments]
    return {"v": VERSION, "kind": "session", "session_id": record.session_id, "segments": segments}


def _save_rows(record: RunRecord) -> Iterator[dict[str, JSON]]:
    places = {id(entry): place for place, entry in enumerate(record.entries)}
    for save in record.saves:
        row: dict[str, JSON] = {"save": save.number, "step": save.step, "at": save.at, "event": save.event}
        row |= {"head": save.head, "info": save.info, **save.extra}
        if save.keep is not None:
            row["keep"] = save.keep
        row["entries"] = [places[id(entry)] if id(entry) in places else entry_to_json(entry) for entry in save.entries]
        yield row


def _segment_row(segment: Segment) -> dict[str, JSON]:
    cut = {"truncated": True} if segment.truncated else {}
    return {"run_id": segment.run_id, "meta": segment.meta, **cut, "entries": _rows(segment.entries)}


def _rows(entries: list[Entry]) -> list[JSON]:
    return [entry_to_json(entry) for entry in entries]


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
        return isinstance(orjson.loads(line), dict)
    except ValueError:
        return False


def record_of(document: Any, name: str, places: Places | None = None) -> Exported:
    """The record that a JSON object is, without its checksum; raises as `read_export` does."""
    _check_version(document, name)
    places = places or {}
    return _run(document, name, places) if document["kind"] == "run" else _session(document, name, places)


def _check_version(document: Any, name: str) -> None:
    """Before anything else of it is looked at, which a newer version may have changed (D1)."""
    if not isinstance(document, dict) or "v" not in document or document.get("kind") not in ("run", "session"):
        raise refuse("it is no export of lovia", name)
    version = document["v"]
    if isinstance(version, int) and version > VERSION:
        raise StoreVersionError(f"a newer lovia wrote this export, in format {version}", where=name)
    if version != VERSION:
        raise refuse(f"it has an unknown format {version!r}", name)


def _run(document: dict[str, Any], name: str, places: Places) -> RunSnapshot:
    entries = _entries(document.get("entries"), name, places)
    head = head_of(document.get("head"), _at(name, places, _HEADER))
    if not entries:
        raise refuse("the run has no entries", name)
    if head.steps < entries[-1].step:
        raise refuse(f"its head tells of steps until {head.steps}, its entries until {entries[-1].step}", name)
    run = RunSnapshot(run_id=_id(document, "run_id", name), head=head, entries=entries)
    return run if document.get("saves") is None else _with_history(run, document["saves"], name, places)


def _with_history(run: RunSnapshot, rows: Any, name: str, places: Places) -> RunRecord:
    """The run with its saves, which must come to what it is."""
    if not isinstance(rows, list) or not rows:
        raise refuse("its saves are no list", name)
    saves = [save_of(row, n, run.entries, _at(name, places, id(row))) for n, row in enumerate(rows, 1)]
    record = run_record(run.run_id, saves)
    if (record.head, record.entries) != (run.head, run.entries):
        raise refuse("its saves do not come to what it holds", name)
    return record


def _session(document: dict[str, Any], name: str, places: Places) -> SessionRecord:
    rows, segments = document.get("segments"), []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise refuse("its segments are no list of objects", name)
    for row in rows:
        run_id, meta = _id(row, "run_id", name), row.get("meta", {})
        entries = _entries(row.get("entries"), name, places)
        if not isinstance(meta, dict) or not isinstance(row.get("truncated", False), bool):
            raise refuse(f"the segment of run {run_id!r} has a wrong meta or truncated", name)
        truncated = row.get("truncated", False)
        segments.append(Segment(run_id=run_id, entries=entries, meta=meta, truncated=truncated))
    if len({segment.run_id for segment in segments}) < len(segments):
        raise refuse("two of its segments are of one run", name)
    return SessionRecord(session_id=_id(document, "session_id", name), segments=segments)


def _entries(rows: Any, name: str, places: Places) -> list[Entry]:
    """The entries of a run, each checked by itself and all with each other."""
    if not isinstance(rows, list):
        raise refuse("its entries are no list", name)
    wheres = (_at(name, places, id(row)) if places else f"{name}, entry {n}" for n, row in enumerate(rows, 1))
    entries = [
        entry_of(dict(row) if isinstance(row, dict) else row, where) for row, where in zip(rows, wheres, strict=True)
    ]
    check_transcript(entries, name)
    return entries


def _at(name: str, places: Places, key: int) -> str:
    return f"{name}:{places[key]}" if key in places else name


def _id(row: dict[str, Any], key: str, name: str) -> str:
    try:
        return check_id(row.get(key, ""), key.replace("_", " "))
    except UserError as error:
        raise refuse(error.message, name) from error


def _read_document(data: bytes, name: str) -> Exported:
    """The form that is one object."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _no_json(error, f"{name}:{error.lineno}") from error
    check_depth(document, name)
    _check_version(document, name)
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
        self._places[_HEADER] = self._line
        _check_version(header, self._where())
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
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise _no_json(error, self._where()) from error
            check_depth(row, self._where())
            if not isinstance(row, dict):
                raise refuse("this line is no JSON object", self._where())
            return row
        raise refuse(f"it ends before {what}: it was cut off", self._where())

    def _where(self) -> str:
        return f"{self._name}:{self._line}"
