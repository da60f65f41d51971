"""What sessions and runs are, in plain dicts and lists: what a store is compared with, whatever is done to it.

It says in the shortest words what the contract says, and knows nothing of files, tables, locks or handles.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from stores.entries import Entry, ReasoningEntry, ToolCallEntry, ToolResultEntry
from stores.references import ResultRef
from stores.surgery import apply_cuts, trim_cuts

Segments = list[dict[str, Any]]


class Model:
    """``sessions`` and ``runs`` stand in order of activity, the last one active last."""

    def __init__(self) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.archive: dict[ResultRef, str] = {}

    # --- sessions ---

    def segments(self, session: str) -> Segments:
        found: Segments = self.sessions.get(session, {"segments": []})["segments"]
        return found

    def append(self, session: str, run: str, entries: list[Entry], meta: dict[str, Any]) -> bool:
        """False when other entries were appended under that run id (S3)."""
        told = self.sessions.get(session, {"segments": [], "appended": {}})
        if run in told["appended"]:
            return bool(told["appended"][run] == entries)
        told["appended"][run] = deepcopy(entries)
        told["segments"].append({"run": run, "entries": deepcopy(entries), "meta": meta, "truncated": False})
        self.sessions.pop(session, None)
        self.sessions[session] = told
        return True

    def clear(self, session: str) -> None:
        self.sessions.pop(session, None)

    def rewind(self, session: str, keep: int) -> int:
        """How many entries went (M3)."""
        before = self.segments(session)
        after = _kept(before, keep)
        if before:
            self.sessions[session]["segments"] = after
            left = {segment["run"] for segment in after}
            told = self.sessions[session]["appended"]
            self.sessions[session]["appended"] = {run: entries for run, entries in told.items() if run in left}
        return _count(before) - _count(after)

    def trim(self, session: str, keep_chars: int, keep_runs: int, archiving: bool) -> int:
        """How many outputs were cut (M1). Where and how one is cut is `stores.surgery`'s, tested by itself."""
        cut = 0
        segments = self.segments(session)
        for segment in segments[: max(len(segments) - keep_runs, 0)]:
            cuts = trim_cuts(segment["run"], segment["entries"], keep_chars, archived=archiving)
            if archiving:
                kept = [c for c in cuts if c.whole is None or self.archive.setdefault(c.reference, c.whole) == c.whole]
                cuts = kept
            segment["entries"] = apply_cuts(segment["entries"], cuts)
            cut += len(cuts)
        return cut

    # --- runs ---

    def save(self, run: str, number: int, entries: list[Entry], head: dict[str, Any]) -> None:
        log = [] if number == 1 else self.runs[run]["log"]
        settled = number > 1 and self.runs[run]["settled"]
        self.runs.pop(run, None)
        self.runs[run] = {"log": [*log, (entries, head)], "settled": settled, "deleted": False}

    def stored(self, run: str) -> dict[str, Any] | None:
        """The run as it is stored: its entries, and the head fields that any save has told (R2)."""
        found = self.runs.get(run)
        return None if found is None or found["deleted"] else folded(found["log"])

    def saves(self, run: str) -> int:
        return len(self.runs[run]["log"]) if self.stored(run) else 0

    def delete(self, run: str, keep_history: bool) -> bool:
        there = self.stored(run) is not None
        if keep_history and run in self.runs:
            self.runs[run]["deleted"] = True
        else:
            self.runs.pop(run, None)
        return there

    def settle(self, run: str) -> None:
        if run in self.runs:
            self.runs[run]["settled"] = True

    def listed(self) -> list[str]:
        return [run for run in reversed(self.runs) if self.stored(run)]

    def open_runs(self, session: str) -> list[str]:
        return [run for run in self.listed() if self._session(run) == session and not self.runs[run]["settled"]]

    def kept(self) -> list[str]:
        return [run for run in reversed(self.runs) if self.runs[run]["deleted"]]

    def _session(self, run: str) -> str | None:
        session: str | None = folded(self.runs[run]["log"])["head"].get("session_id")
        return session


def folded(log: list[tuple[list[Entry], dict[str, Any]]]) -> dict[str, Any]:
    """What a log of saves comes to."""
    head: dict[str, Any] = {}
    for _, changes in log:
        head |= changes
    return {"entries": [entry for entries, _ in log for entry in entries], "head": head}


def _count(segments: Segments) -> int:
    return sum(len(segment["entries"]) for segment in segments)


def _kept(segments: Segments, keep: int) -> Segments:
    if keep >= _count(segments) and keep:
        return segments
    out: Segments = []
    for segment in segments if keep else []:
        room = keep - sum(len(whole["entries"]) for whole in out)
        if len(segment["entries"]) <= room:
            out.append(segment)
            continue
        if left := _cut(segment["entries"], room):
            out.append({"run": segment["run"], "entries": left, "meta": {}, "truncated": True})
        break
    return out


def _cut(entries: list[Entry], keep: int) -> list[Entry]:
    """The first ``keep`` entries of a run, less calls without a result and reasoning at the end."""
    left = entries[:keep]
    answered = {(entry.step, entry.position) for entry in left if isinstance(entry, ToolResultEntry)}
    left = [e for e in left if not isinstance(e, ToolCallEntry) or (e.step, e.position) in answered]
    while left and isinstance(left[-1], ReasoningEntry):
        left.pop()
    return left
