"""A record as one JSON object without its checksum, and an object, whoever wrote it, as the record that it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stores.entries import JSON, Entry, entry_to_json
from stores.errors import StoreVersionError, UserError
from stores.ids import check_id
from stores.records import RunSnapshot, Save, Segment, fold, head_to_json
from stores.shapes import check_transcript, entry_of, head_of, refuse, save_of

VERSION = 1


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
"""The line at which each object of a file stood, by the object's `id`; that of its header by `HEADER`."""

HEADER = -1


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


def record_of(document: Any, name: str, places: Places | None = None) -> Exported:
    """The record that a JSON object is, without its checksum; raises as `read_export` does."""
    check_version(document, name)
    places = places or {}
    return _run(document, name, places) if document["kind"] == "run" else _session(document, name, places)


def check_version(document: Any, name: str) -> None:
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
    head = head_of(document.get("head"), _at(name, places, HEADER))
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
