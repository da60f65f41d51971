"""What `lovia history` and `lovia show` return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia_cli import exits
from lovia_cli.cli.answers import Row

if TYPE_CHECKING:
    from stores.entries import Entry
    from stores.lines import RunInfo, SaveInfo, SessionInfo
    from stores.records import Segment


@dataclass(slots=True, kw_only=True)
class Overview:
    """The runs and sessions of the store, newest activity first; ``filtered`` when not all were asked for."""

    store: str
    runs: list[RunInfo]
    sessions: list[SessionInfo]
    filtered: bool = False
    exit_code: int = exits.Exit.OK

    def keep(self, number: int) -> None:
        """Only the newest ``number`` of all."""
        newest = {(row["kind"], row.get("run_id"), row["session_id"]) for row in list(self.rows())[:number]}
        self.runs = [run for run in self.runs if ("run", run.run_id, run.session_id) in newest]
        self.sessions = [session for session in self.sessions if ("session", None, session.session_id) in newest]

    def as_json(self) -> Row:
        return {
            "v": 1,
            "store": self.store,
            "runs": [run_row(run) for run in self.runs],
            "sessions": [session_row(session) for session in self.sessions],
        }

    def rows(self) -> Iterable[Row]:
        rows = [{"v": 1, "kind": "run", **run_row(run)} for run in self.runs]
        rows += [{"v": 1, "kind": "session", **session_row(session)} for session in self.sessions]
        return sorted(rows, key=lambda row: -(row["updated_at"] or 0))


@dataclass(slots=True, kw_only=True)
class RunHistory:
    """The saves of one run, newest first (H1)."""

    store: str
    run: RunInfo
    saves: list[SaveInfo]
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        return {"v": 1, "store": self.store, "kind": "run", **run_row(self.run), "saves": list(self._saves())}

    def rows(self) -> Iterable[Row]:
        return [{"v": 1, "kind": "save", "run_id": self.run.run_id, **save} for save in self._saves()]

    def _saves(self) -> Iterable[Row]:
        for save in self.saves:
            yield {
                "save": save.number,
                "step": save.step,
                "at": save.at,
                "status": save.status,
                "event": save.event,
                "entries": save.entries,
                "info": save.info,
            }


@dataclass(slots=True, kw_only=True)
class SessionHistory:
    """The segments of one session, oldest first, and its unfinished runs. ``first`` is the number of the first.

    ``outside`` are completed runs of it that it does not hold: a crash or damage has kept them from it (R7).
    """

    store: str
    session_id: str
    segments: list[Segment]
    unfinished: list[RunInfo]
    first: int = 1
    outside: list[RunInfo] = field(default_factory=list)
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        return {
            "v": 1,
            "store": self.store,
            "kind": "session",
            "session_id": self.session_id,
            "segments": [self._row(number, segment) for number, segment in enumerate(self.segments, self.first)],
            "unfinished": [run_row(run) for run in self.unfinished],
            "outside": [run_row(run) for run in self.outside],
        }

    def rows(self) -> Iterable[Row]:
        common = {"v": 1, "session_id": self.session_id}
        for number, segment in enumerate(self.segments, self.first):
            yield {**common, "kind": "segment", **self._row(number, segment)}
        for run in self.unfinished:
            yield {**common, "kind": "unfinished", **run_row(run)}
        for run in self.outside:
            yield {**common, "kind": "outside", **run_row(run)}

    def _row(self, number: int, segment: Segment) -> Row:
        row: Row = {"n": number, "run_id": segment.run_id, "entries": len(segment.entries), "meta": segment.meta}
        return row | {"truncated": segment.truncated}


@dataclass(slots=True, kw_only=True)
class Item:
    """One entry of a transcript: ``n`` counts from 1 in the flat view, ``run_id`` is the run it belongs to."""

    n: int
    run_id: str
    entry: Entry

    def as_json(self) -> Row:
        from stores.entries import entry_to_json

        return {"n": self.n, "run_id": self.run_id, **entry_to_json(self.entry)}


@dataclass(slots=True, kw_only=True)
class Transcript:
    """What `lovia show` found: a run's entries by step, or a session's, numbered flat (M3).

    ``whole`` is False when only a part was asked for. ``raw`` asks for the stored form of each entry. ``queued`` are
    the inputs that the run has accepted, and takes into its transcript when it goes on (K2).
    """

    store: str
    items: list[Item]
    queued: list[Entry] = field(default_factory=list)
    run: RunInfo | None = None
    session_id: str | None = None
    output: Any = None
    error: Row | None = None
    whole: bool = True
    raw: bool = False
    exit_code: int = exits.Exit.OK

    def as_json(self) -> Row:
        of = run_row(self.run) if self.run else {"session_id": self.session_id}
        kind = "run" if self.run else "session"
        entries = [item.as_json() for item in self.items]
        out = {"v": 1, "store": self.store, "kind": kind, **of, "entries": entries}
        if self.run is None:
            return out
        from stores.entries import entry_to_json

        queued = [entry_to_json(entry) for entry in self.queued]
        return {**out, "queued_input": queued, "output": self.output, "error": self.error}

    def rows(self) -> Iterable[Row]:
        from stores.entries import entry_to_json

        yield from ({"v": 1, "kind": "entry", **item.as_json()} for item in self.items)
        yield from ({"v": 1, "kind": "queued_input", **entry_to_json(entry)} for entry in self.queued)


def run_row(run: RunInfo) -> Row:
    """A run's line of a listing. ``owner`` is there only while the run is being executed."""
    owner = run.owner
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "status": run.status,
        "agent": run.agent,
        "steps": run.steps,
        "save": run.save,
        "started_at": run.started_at,
        "updated_at": run.updated_at,
        "stop": run.stop,
        "error": run.error,
        "forked_from": run.parent,
        "approvals": run.open_approvals,
        "owner": {"pid": owner.pid, "host": owner.host, "since": owner.since} if owner else None,
        "damage": str(run.damage) if run.damage else None,
    }


def session_row(session: SessionInfo) -> Row:
    """A session's line of a listing."""
    return {
        "session_id": session.session_id,
        "segments": session.segments,
        "entries": session.entries,
        "updated_at": session.updated_at,
        "damage": str(session.damage) if session.damage else None,
    }
