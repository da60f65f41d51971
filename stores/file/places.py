"""A session's segment files: which there are, what is in one, and which of those that stand in one place counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stores import codec
from stores.errors import StoreDamagedError, StoreError
from stores.file.disk import Folder
from stores.file.names import digest, name_of, parse_segment_name
from stores.file.root import Root


@dataclass(slots=True, frozen=True, order=True)
class Place:
    """One segment file: its number in the session, the epoch it was written in, the hash of its run id."""

    n: int
    epoch: int
    digest: str
    folder: str

    @property
    def file(self) -> str:
        return f"{self.n:06d}.{self.epoch}-{self.digest}.json"

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file}"


def session_folder(session_id: str) -> tuple[str, str]:
    return "sessions", name_of(session_id)


def places_of(root: Root, name: str) -> list[Place]:
    """Every segment file in the session folder of that name, live or not."""
    with root.open_folder("sessions", name) as folder:
        return sorted(places_in(folder)) if folder else []


def places_in(folder: Folder) -> list[Place]:
    return [Place(*found, folder.path) for name in folder.names() if (found := parse_segment_name(name))]


def newest_places(places: Iterable[Place], fields: dict[str, Any], *, chained: bool = False) -> dict[int, Place]:
    """Of each number the segment that counts, if any.

    session.json names the run of the last one, and each segment that of the one before: another's, put there, does not
    count. To see it of all of them each is read, if they are to be ``chained``, else only where two stand in one place.
    """
    epoch, limit = fields["epoch"], fields["limit"]
    found: dict[int, list[Place]] = {}
    for place in sorted(places):
        if place.epoch == epoch or (place.epoch < epoch and place.n <= limit):
            rivals = [one for one in found.get(place.n, ()) if one.epoch == place.epoch]
            found[place.n] = [*rivals, place]  # an older one of that number was dead before this one was written
    newest: dict[int, Place] = {}
    for n in sorted(found, reverse=True):
        is_told = chained or len(found[n]) > 1 or (n == fields.get("count") and fields.get("last"))
        run_digest = _digest_told(n, fields, newest.get(n + 1)) if is_told else None
        if one := next((one for one in found[n] if run_digest in (None, one.digest)), None):
            newest[n] = one
    return newest


def _digest_told(n: int, fields: dict[str, Any], behind: Place | None) -> str | None:
    """The hash of the run whose segment ``n`` is, as session.json or the segment behind tells; None where neither does.

    Of what a fork shares it says which ``run`` is the last one.
    """
    if n == fields.get("count") and fields.get("last"):
        return digest_in(fields["last"])
    if n == fields["limit"] and "run" in fields:
        return digest(str(fields["run"]))
    try:
        return digest_in(read_segment(behind, None).get("after")) if behind else None
    except StoreError:
        return None


def digest_in(file: str | None) -> str | None:
    found = parse_segment_name(file) if file else None
    return found[2] if found else None


def is_later(before: Place, after: str | None) -> bool:
    """True when the place is of a later epoch than the file that one was appended ``after`` which stands behind it."""
    found = parse_segment_name(after or "")
    return found is not None and found[1] < before.epoch


def as_forked(part: dict[str, Any]) -> dict[str, Any]:
    """What session.json said when that part of it was forked, as far as `newest_places` looks at it."""
    return {"epoch": part["epoch"], "limit": part["count"], **({"run": part["run"]} if "run" in part else {})}


def read_segment(place: Place, session_id: str | None) -> dict[str, Any]:
    """One segment's document, checked against its name. ``session_id`` is None for a fork's shared ones."""
    where = f"{place.folder}/{place.file}"
    folder = Folder.open(place.folder)
    if folder is None:
        raise StoreDamagedError("the session's folder is missing", where=where)
    with folder:
        data = folder.read(place.file)
    if data is None:
        raise StoreDamagedError(f"segment {place.n} is missing", where=where)
    return check_segment(codec.decode(data, "segment", where=where), place, session_id, where)


def check_segment(document: dict[str, Any], place: Place, session_id: str | None, where: str) -> dict[str, Any]:
    """``document``, if it is what its file name says."""
    if (
        (document.get("n"), document.get("epoch")) != (place.n, place.epoch)
        or not isinstance(document.get("run"), str)
        or digest(document["run"]) != place.digest
        or (session_id is not None and document.get("id") != session_id)
        or not isinstance(document.get("entries"), list)
    ):
        raise StoreDamagedError("the file holds another segment than its name says", where=where)
    return document
