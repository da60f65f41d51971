"""A run's ref: the small file that makes a run exist, names its data, and holds what a listing shows.

Its status is exact, but for ``running``: that means that the newest save tells, which is in the data. So the
ref goes to ``running`` before the data moves on, and to any other status after it. A ref holds nothing that
grows with the run: what is larger than it should be is named in ``elsewhere`` and read from the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stores import codec
from stores.entries import JSON
from stores.errors import StoreDamagedError, StoreError
from stores.file.chunks import Chunk
from stores.file.disk import Folder
from stores.file.names import is_key, name_of, readable_id
from stores.lines import Damage, Owner, RunInfo, open_approvals
from stores.records import Save, Status

DELETED = "deleted"
"""The status of a run that is gone, all but its history (``keep``), or whose data is still to be removed."""

LARGE = 4096
"""Bytes that one field of a ref may take."""

_SHOWN = {
    "status": "status",
    "agent": "agent",
    "session_id": "session",
    "started_at": "started_at",
    "parent": "parent",
    "history_limit": "history_limit",
    "config": "config",
    "stop": "stop",
    "error": "error",
}
_MESSAGE = 500


@dataclass(slots=True)
class Ref:
    """A ref as it was read, or as it will be written: ``fields`` is the document, unknown fields included (D1)."""

    run_id: str
    fields: dict[str, Any]

    @staticmethod
    def new(run_id: str, key: str) -> Ref:
        fields = {"kind": "run", "id": run_id, "key": key, "status": Status.RUNNING.value, "tail": 1, "save": 0}
        return Ref(run_id, fields)

    @property
    def key(self) -> str:
        """The name of its data folder. It becomes part of a path, so it is checked."""
        key = self.fields.get("key")
        if not is_key(key):
            raise StoreDamagedError(
                f"the ref of run {self.run_id!r} names no data", where=f"{name_of(self.run_id)}.json"
            )
        return str(key)

    @property
    def drop(self) -> str | None:
        """The data folder of before the restart, which is to go. Checked like `key`, and never that of this run."""
        dropped = self.fields.get("drop")
        if dropped is None:
            return None
        if not is_key(dropped) or dropped == self.key:
            raise StoreDamagedError(
                f"the ref of run {self.run_id!r} drops what is no old data", where=f"{name_of(self.run_id)}.json"
            )
        return str(dropped)

    @property
    def status(self) -> str:
        return str(self.fields["status"])

    @property
    def tail(self) -> int:
        return int(self.fields["tail"])

    @property
    def save(self) -> int:
        return int(self.fields["save"])

    @property
    def session_id(self) -> str | None:
        found = self.fields.get("session")
        return found if isinstance(found, str) else None

    @property
    def history_limit(self) -> int | None:
        found = self.fields.get("history_limit")
        return found if isinstance(found, int) else None

    @property
    def is_deleted(self) -> bool:
        return self.status == DELETED

    def copy(self) -> Ref:
        return Ref(self.run_id, dict(self.fields))

    def advance(self, number: int, step: int, at: float, head: dict[str, JSON]) -> None:
        """Bring it from the save before to this one. Going over a save twice does no harm."""
        fields = self.fields
        fields["save"], fields["steps"], fields["updated_at"] = number, step, at
        for name, value in head.items():
            if shown := _SHOWN.get(name):
                self._show(shown, value)
            elif name == "approvals":
                self._show("approvals", open_approvals(value))

    def _show(self, name: str, value: JSON) -> None:
        elsewhere = [other for other in self.fields.get("elsewhere", ()) if other != name]
        if name == "error" and isinstance(value, dict) and len(str(value.get("message", ""))) > _MESSAGE:
            value = value | {"message": str(value["message"])[:_MESSAGE] + "…"}
        if name != "status" and len(codec.dumps(value)) > LARGE:
            value, elsewhere = None, [*elsewhere, name]
        self.fields[name] = value
        if elsewhere:
            self.fields["elsewhere"] = elsewhere
        else:
            self.fields.pop("elsewhere", None)

    def advance_by(self, save: Save) -> None:
        self.advance(save.number, save.step, save.at, save.head)

    def advance_by_record(self, record: dict[str, Any]) -> None:
        self.advance(record["save"], record["step"], record["at"], record.get("head") or {})

    def point_at(self, tail: int, checksum: str) -> None:
        """Name the newest chunk. An exact ref also names its checksum: an older copy of it is then noticed."""
        self.fields["tail"] = tail
        if self.status == Status.RUNNING:
            self.fields.pop("tail_sum", None)
        else:
            self.fields["tail_sum"] = checksum

    def bring_up(self, chunks: Iterable[Chunk]) -> Ref:
        """The ref as it would read if it were written now. ``chunks`` are those from its tail on, newest last."""
        fresh, last = self.copy(), None
        for chunk in chunks:
            if last is None:
                fresh.fields["status"] = chunk.status
            for record in chunk.records:
                fresh.advance_by_record(record)
            last = chunk
        if last is None:
            raise StoreDamagedError(f"run {self.run_id!r} has no data", where=self.key)
        self.check_newest(last)
        fresh.point_at(last.n, last.sum)
        return fresh

    def check_newest(self, last: Chunk) -> None:
        """Raise if the newest chunk is older than this ref knows it to be."""
        exact = self.status != Status.RUNNING
        if last.last < self.save or (exact and last.sum != self.fields.get("tail_sum", last.sum)):
            raise StoreDamagedError(f"this is not the newest data of run {self.run_id!r}", where=last.where)

    def write(self, runs: Folder, *, by: Folder | None = None) -> None:
        """Place it durably. The unfinished file stands in ``by``, where the run's next owner sweeps it."""
        runs.write(f"{name_of(self.run_id)}.json", codec.encode(self.fields), by=by)

    def info(self, status: str, owner: Owner | None) -> RunInfo:
        """Its line of the listing, its fields set one by one: that takes half the time, and a listing has many."""
        get = self.fields.get
        info = RunInfo.__new__(RunInfo)
        info.run_id = self.run_id
        info.status = status
        info.agent = get("agent") or ""
        info.session_id = get("session")
        info.started_at = get("started_at")
        info.updated_at = get("updated_at")
        info.steps = get("steps") or 0
        info.save = self.fields["save"]
        info.stop = get("stop")
        info.error = get("error")
        info.config = get("config") or {}
        info.parent = get("parent")
        info.open_approvals = get("approvals") or []
        info.owner = owner
        info.damage = None
        return info


def read_ref(runs: Folder | None, name: str) -> Ref | None:
    """The ref in the file of that name, checked both ways: file name and id; None when there is none."""
    data = runs.read(f"{name}.json") if runs else None
    if runs is None or data is None:
        return None
    return parse_ref(data, name, runs.where(f"{name}.json"))


def parse_ref(data: bytes, name: str, where: str) -> Ref:
    fields = codec.decode(data, "run", where=where)
    run_id = fields.get("id")
    if not isinstance(run_id, str) or name_of(run_id) != name:
        raise StoreDamagedError("the file holds another run than its name says", where=where)
    whole = isinstance(fields.get("status"), str) and type(fields.get("tail")) is type(fields.get("save")) is int
    if not whole:
        raise StoreDamagedError("the ref lacks a field", where=where)
    del fields["v"], fields["sum"]
    return Ref(run_id, fields)


def damaged(data: bytes | None, name: str, error: StoreError) -> RunInfo:
    """The line of a run whose ref cannot be read."""
    return RunInfo(run_id=readable_id(data, name), status="", damage=Damage.told_by(error))
