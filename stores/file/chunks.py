"""A run's data: its saves, in chunks of which only the last is ever replaced.

A chunk holds a few saves, one a line, and is written anew with each of them until it is full; then it is
sealed and the next begins. So a save costs what is new plus at most one small file, however long the run.
Each chunk names the checksum of the one before, and says where the run stood when it began, so that a
step or save, and the head there, are found by opening few of them. A fork's first chunk begins with the saves
that stood in its source's chunk before the cut, and shares all chunks before that one: its ``base`` names the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from stores import codec
from stores.codec import Lined
from stores.entries import Entry
from stores.errors import StoreDamagedError
from stores.file.disk import Folder
from stores.file.names import chunk_name, is_key
from stores.file.root import Root

ChunkPlace = tuple[str, str, int]
"""Where a chunk is: run id, key and number."""

_NEEDED = frozenset(("id", "key", "n", "prev", "first", "status", "entries", "sum"))


class Chunk:
    """One chunk as it was read: saves ``first`` to ``last``. ``status`` and ``entries`` are those before them."""

    __slots__ = ("header", "lined", "where")

    def __init__(self, lined: Lined, where: str) -> None:
        self.header: dict[str, Any] = lined.header
        """All that the chunk says beside its saves."""
        self.lined = lined
        self.where = where
        if lacking := _NEEDED - self.header.keys():
            raise StoreDamagedError(f"the chunk has no {min(lacking)!r}", where=where)

    @property
    def n(self) -> int:
        return int(self.header["n"])

    @property
    def first(self) -> int:
        return int(self.header["first"])

    @property
    def status(self) -> str:
        return str(self.header["status"])

    @property
    def entries(self) -> int:
        return int(self.header["entries"])

    @property
    def prev(self) -> str | None:
        """The checksum of the chunk before."""
        found: str | None = self.header["prev"]
        return found

    @property
    def sum(self) -> str:
        return str(self.header["sum"])

    @property
    def base(self) -> dict[str, Any] | None:
        """In the first chunk of a fork: what it goes on from."""
        found: dict[str, Any] | None = self.header.get("base")
        return found

    @property
    def own(self) -> int:
        """In the first chunk of a fork: the first save that is the run's own."""
        return int(self.header.get("own", 1))

    @property
    def sets(self) -> dict[str, int] | None:
        """The chunk in which each head field was last set before this one; 0 is in what a fork shares with its source.

        None: an earlier version wrote the chunk, which did not say.
        """
        found: dict[str, int] | None = self.header.get("sets")
        if found is None and self.n == 1 and "own" not in self.header:
            return {}
        return found

    @property
    def last(self) -> int:
        return self.first + self.lined.count - 1

    @property
    def records(self) -> list[dict[str, Any]]:
        """The saves, parsed when they are first asked for."""
        return self.lined.records

    @property
    def first_record(self) -> dict[str, Any]:
        """The first save, without a look at the others."""
        if not self.lined.count:
            raise StoreDamagedError("the chunk holds no save", where=self.where)
        return self.lined.first_record


class Row(Struct, gc=False):
    """What a save does to the transcript."""

    entries: list[Entry] = []
    keep: int | None = None


class Sealed(Struct, gc=False):
    """A chunk that is read for its transcript alone: of its saves nothing else is made.

    That it is the run's says the next one, whose ``prev`` is its checksum.
    """

    prev: str | None
    sum: str
    records: list[Row]
    base: dict[str, Any] | None = None


_SEALED = msgspec.json.Decoder(Sealed)


def read_chunk(folder: Folder, run_id: str | None, key: str, n: int) -> Chunk | None:
    """Chunk ``n``, checked; None when there is none. Without ``run_id`` it may be any run's."""
    name = chunk_name(n)
    data = folder.read(name)
    if data is None:
        return None
    where = folder.where(name)
    lined = Lined(data, "chunk", "records", where=where)
    header = lined.header
    if run_id not in (None, header.get("id")) or (header.get("key"), header.get("n")) != (key, n):
        whose = "this data" if run_id is None else f"run {run_id!r}"
        raise StoreDamagedError(f"this is not chunk {n} of {whose}", where=where)
    return Chunk(lined, where)


def read_sealed(folder: Folder, n: int) -> Sealed | None:
    """Chunk ``n``, checked. None when there is none, or none that is just what this version writes."""
    name = chunk_name(n)
    data = folder.read(name)
    if data is None:
        return None
    codec.check(data, where=folder.where(name))
    try:
        return _SEALED.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def chunk_there(folder: Folder, run_id: str, key: str, n: int) -> Chunk:
    """Chunk ``n``, which must be there."""
    chunk = read_chunk(folder, run_id, key, n)
    if chunk is None:
        raise missing(run_id, n, folder.where(chunk_name(n)))
    return chunk


def read_from(folder: Folder, run_id: str, key: str, n: int, tail: int, *, beyond: bool = True) -> Iterator[Chunk]:
    """Chunks ``n`` to ``tail``, which must be there, and what a crash left ``beyond`` (rolled forward)."""
    before: Chunk | None = None
    while n <= tail or beyond:
        chunk = read_chunk(folder, run_id, key, n)
        if chunk is None:
            if n <= tail:
                raise missing(run_id, n, folder.where(chunk_name(n)))
            return
        if before is not None:
            check_follows(chunk, before)
        before = chunk
        yield chunk
        n += 1


def check_follows(chunk: Chunk, before: Chunk) -> None:
    """Raise unless ``chunk`` was written right after ``before``: it has its checksum."""
    if chunk.prev != before.sum:
        raise StoreDamagedError("the chunk does not follow the one before it", where=chunk.where)


def _check_base(chunk: Chunk, before: Chunk) -> None:
    """Raise unless a fork's first ``chunk`` goes on from ``before``: if not, that is not what it was."""
    if chunk.prev != before.sum:
        raise StoreDamagedError("the chunk is not as it was when it was forked", where=before.where)


def missing(run_id: str, n: int, where: str) -> StoreDamagedError:
    return StoreDamagedError(f"chunk {n} of run {run_id!r} is missing", where=where)


@contextmanager
def data_folder(root: Root, run_id: str, key: str, tail: int) -> Iterator[Folder]:
    """The folder of a run's data, which must be there."""
    with root.open_folder("data", key) as folder:
        if folder is None:
            raise missing(run_id, tail, root.part("data", key, chunk_name(tail)))
        yield folder


def read_all(root: Root, run_id: str, key: str, tail: int, *, beyond: bool = True) -> Iterator[Chunk]:
    """Every chunk of the run, those that a fork shares with its source first."""
    with data_folder(root, run_id, key, tail) as folder:
        for chunk in read_from(folder, run_id, key, 1, tail, beyond=beyond):
            if chunk.n == 1 and chunk.base:
                before: Chunk | None = None
                for before in read_all(root, *base_of(chunk), beyond=False):
                    yield before
                if before is not None:
                    _check_base(chunk, before)
            yield chunk


def read_backwards(root: Root, run_id: str, key: str, tail: int, *, beyond: bool = True) -> Iterator[Chunk]:
    """The same, newest first: whoever wants the last few saves opens few chunks."""
    with data_folder(root, run_id, key, tail) as folder:
        newest = list(read_from(folder, run_id, key, tail, tail, beyond=beyond))
        yield from reversed(newest)
        after = newest[0]
        for n in range(tail - 1, 0, -1):
            chunk = read_chunk(folder, run_id, key, n)
            if chunk is None:
                raise missing(run_id, n, folder.where(chunk_name(n)))
            check_follows(after, chunk)
            yield chunk
            after = chunk
    if after.base:
        shared = read_backwards(root, *base_of(after), beyond=False)
        last = next(shared)
        _check_base(after, last)
        yield last
        yield from shared


def base_of(chunk: Chunk) -> ChunkPlace:
    """Run id, key and last chunk of what a fork's first chunk goes on from."""
    return checked_place(chunk.base or {}, chunk.where)


def checked_place(place: dict[str, Any], where: str) -> ChunkPlace:
    """Run id, key and number of the chunk that a fork's first chunk names."""
    run_id, key, n = place.get("id"), place.get("key"), place.get("chunk")
    if not isinstance(run_id, str) or not is_key(key) or not isinstance(n, int):
        raise StoreDamagedError("the fork does not say what it goes on from", where=where)
    return run_id, str(key), n
